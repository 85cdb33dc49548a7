"""The wall clock of the machine steps during a run: it is told, and no measurement is touched.

The clock of this machine stays as it is. A small library (``tests/support/wallclock.c``) is loaded into every process
of the run, the JVM of the broker and librdkafka included, and makes all of them read a wall clock that the test sets.
What the kernel does to waits when its own clock is set is not shown by it.
"""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from stream2gym.record.folder import RunFolder
from stream2gym.record.schemas import read_table

SOURCE = Path(__file__).parents[1] / "support" / "wallclock.c"
HOUR_S = 3600
STEPS_S = (HOUR_S, -2 * HOUR_S)  # by which it is set, one after the other
RATE, TIME_S = 100, 10
EXPERIMENT: dict[str, Any] = {
    "s2g": 1,
    "name": "steps",
    "topology": {"kind": "star", "hosts": 2, "latency": "1 ms"},
    "brokers": [{"on": "h1"}],
    "topics": ["t"],
    "producers": [{"on": "h2", "topic": "t", "rate": f"{RATE}/s", "size": "50 B", "acks": "all"}],
    "consumers": [{"on": "h2", "topics": ["t"], "group": "g"}],
    "time": f"{TIME_S} s",
    "drain": "60 s",
    "expect": ["lost == 0", "duplicated == 0", "delivered == 100 %"],
}


class WallClock:
    """The wall clock of the processes that are started with its environment."""

    def __init__(self, folder: Path) -> None:
        compiler = shutil.which("cc")
        if compiler is None:
            pytest.skip("needs a C compiler (cc) for a wall clock of its own")
        library, self._file = folder / "wallclock.so", folder / "ahead"
        subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, SOURCE, "-ldl"], check=True)
        self._ahead_ns = 0
        self._file.write_bytes(struct.pack("q", 0))
        # The name is one that programs on hosts inherit.
        self.environment = {"LD_PRELOAD": str(library), "LC_WALLCLOCK": str(self._file)}

    def step(self, by_s: float) -> None:
        self._ahead_ns += int(by_s * 1e9)
        with self._file.open("r+b") as file:
            file.write(struct.pack("q", self._ahead_ns))


@pytest.mark.long
def test_steps_of_the_wall_clock_are_told_and_change_no_measurement(tmp_path: Path) -> None:
    clock = WallClock(tmp_path)
    (tmp_path / "experiment.yaml").write_text(json.dumps(EXPERIMENT))
    argv = [
        sys.executable,
        "-m",
        "stream2gym",
        "run",
        "experiment.yaml",
        "--json",
        "--no-report",
        "--out",
        "run",
    ]
    process = subprocess.Popen(
        argv, cwd=tmp_path, env=os.environ | clock.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stderr is not None
    waiting, said = list(STEPS_S), []
    for line in process.stderr:
        said.append(line.decode())
        word = json.loads(line) if line.startswith(b"{") else {}
        flows = len(waiting) == len(STEPS_S) and word.get("numbers", {}).get("received")
        if waiting and (flows or word.get("event") == "clock-stepped"):
            clock.step(waiting.pop(0))
    assert process.stdout is not None
    result = json.loads(process.stdout.read() or b"{}")
    assert process.wait(60) == 0, "".join(said[-10:]) + str(result.get("reasons"))

    folder = RunFolder.open(tmp_path / "run")
    steps = [event["by_s"] for event in folder.read_events() if event["event"] == "clock-stepped"]
    assert [round(by_s / HOUR_S) for by_s in steps] == [1, -2]
    sent, received = (read_table(folder.data, name).to_pylist() for name in ("sent", "received"))
    assert [row["due_ns"] for row in sent] == [n * 1_000_000_000 // RATE for n in range(RATE * TIME_S)]
    at = [row["at_ns"] for row in received]
    assert at == sorted(at)
    assert 0 < min(at) < max(at) < 300e9, "no time of the record may hold a step of an hour"
    stamps = [row["broker_ms"] for row in received]
    assert max(stamps) - min(stamps) > 0.9 * HOUR_S * 1000, "the steps did not reach the clients of Kafka"
    assert result["verdict"] == "pass"
