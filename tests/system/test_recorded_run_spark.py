"""The tables of a recorded run as Spark DataFrames: in a session of ours, and in one that is there already."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from stream2gym.analysis.fake_run import rehearsal

PROGRAM = """
import sys
from pathlib import Path
import stream2gym
from stream2gym.analysis.analyse import analyse
from stream2gym.recorded_run import find_session

analyse(Path(sys.argv[1]), session=find_session())
run = stream2gym.load_run(sys.argv[1])
print("sent", run.spark("sent").count())
print("lost", run.spark("audit").groupBy().sum("lost").first()[0])
print("same", run.spark("sent").sparkSession is find_session())
rows = {name: run.arrow(name).num_rows for name in run.tables}
counts = {name: run.spark(name).count() == rows[name] for name in rows if rows[name]}
print("tables", len(counts) > 10, all(counts.values()))
"""


@pytest.mark.long
def test_tables_are_spark_data_frames_of_the_same_rows(tmp_path: Path) -> None:
    """In a process of its own, because the session stays open until its end."""
    folder = rehearsal().write(tmp_path / "fake")
    argv = [sys.executable, "-I", "-c", PROGRAM, str(folder)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=240, check=False, cwd=tmp_path)
    assert done.stdout.splitlines() == ["sent 1000", "lost 1", "same True", "tables True True"], done.stderr[-3000:]
