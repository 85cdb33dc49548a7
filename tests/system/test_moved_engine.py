"""A job joins a run that goes on and is moved to another host: it goes on there from its checkpoint."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from stream2gym.record.folder import RunFolder
from stream2gym.record.journal import Reader
from stream2gym.wait import wait_until
from tests.support.examples import EXAMPLES
from tests.support.flinkjobs import COPY
from tests.support.users import myself

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]
EXPERIMENT = """\
s2g: 1
name: engine
topology: {kind: star, hosts: 4, latency: 2 ms}
brokers: [{on: h1}]
topics: [in, batched]
producers: [{name: gen, on: h2, topic: in, rate: 20/s, acks: all}]
consumers: [{name: see, on: h2, topics: [batched], group: seen}]
trace: [{from: in, to: batched, by: value}]
time: 600 s
drain: 120 s
expect: ["results_missing(from=in, to=batched) == 0", lost == 0]
"""
JOBS = {
    "spark": "{name: copy, on: h3, type: spark, app: copy_topic.py, args: [batched, batches]}",
    "flink": "{name: copy, on: h3, type: flink, app: copy.sql}",
}


@pytest.mark.parametrize("engine", JOBS)
def test_a_submitted_engine_that_is_moved_loses_nothing(tmp_path: Path, engine: str) -> None:
    (tmp_path / "engine.yaml").write_text(EXPERIMENT)
    (tmp_path / "job.yaml").write_text(f"s2g: 1\nengines: [{JOBS[engine]}]\n")
    (tmp_path / "copy.sql").write_text(COPY.replace("'topic' = 'out'", "'topic' = 'batched'"))
    program = (EXAMPLES / "real-time" / "copy_topic.py").read_text("utf-8")
    (tmp_path / "copy_topic.py").write_text(program.replace('"latest"', '"earliest"'))
    path = tmp_path / "run"
    user = myself()

    def job(*words: str) -> subprocess.CompletedProcess[str]:
        done = user.run("job", str(path), *words, timeout=300, cwd=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
        return done

    def state_of_copy() -> str:
        return str(next(one["state"] for one in json.loads(job("list", "--json").stdout) if one["name"] == "copy"))

    def received() -> int:
        journals = RunFolder.open(path).journals_of("received", "see").values()
        return sum(len(block) for journal in journals for block in Reader(journal).blocks())

    words = ("run", "engine.yaml", "--no-report", "--out", str(path))
    with (
        (tmp_path / "output.txt").open("w") as output,
        user.popen(*words, stdout=output, stderr=output, cwd=tmp_path) as run,
    ):
        try:
            wait_until(
                lambda: (path / "jobs.sock").exists() or run.poll() is not None, timeout_s=200, reason="the load"
            )
            assert run.poll() is None, Path(output.name).read_text()
            job("submit", "job.yaml", "--wait", "200")
            wait_until(lambda: received() > 0, timeout_s=60, reason="results")
            job("move", "copy", "h4")
            wait_until(
                lambda: state_of_copy() == "ready",
                timeout_s=200,
                every_s=2.0,
                reason="the query to run again",
            )
            job("stop", "gen")
            code = run.wait(400)
        finally:
            run.kill()
    verdict = json.loads((path / "verdict.json").read_text())
    assert {one["text"]: one["outcome"] for one in verdict["judgements"]} == {
        "results_missing(from=in, to=batched) == 0": "pass",
        "lost == 0": "pass",
    }, Path(output.name).read_text()
    assert code == 0
    assert {file.name for file in (path / "logs").glob("*.copy.log")} == {"h3.copy.log", "h4.copy.log"}
