"""SIGKILL of the command in every phase of a run leaves nothing but its folder, which can be judged afterwards."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from stream2gym.record.folder import RunFolder
from stream2gym.wait import wait_until
from tests.support.leaks import left_behind, snapshot
from tests.support.users import myself
from tests.system.conftest import Running, Starter

PHASES = (
    "software", "network", "brokers", "topics", "consumers", "engines", "warmup", "load", "drain", "stop", "seal",
    "analysis", "report",
)  # fmt: skip

SMALL = """\
s2g: 1
name: small
topology: {kind: star, hosts: 3, latency: 1 ms}
brokers: [{on: h1}]
topics: [t, u]
producers: [{name: gen, on: h2, topic: t, rate: 100/s, size: 20 B}]
consumers: [{name: see, on: h2, topics: [t]}]
checks: [{name: right, app: check.py, topics: [t], args: ["CHECK_S"]}]
warmup: 1 s
time: 3 s
drain: 5 s
expect: [lost == 0, received == 0]
"""
WITH_SPARK = SMALL + "engines: [{name: job, on: h3, type: spark, app: job.py}]\n"
# A check that starts a process of its own, says so, and goes on for a while in the run that is killed meanwhile.
CHECK = """\
import pathlib, subprocess, sys
child = subprocess.Popen(["sleep", sys.argv[1]])
pathlib.Path("checking").touch()
child.wait()
print('S2G {"mismatches": 0}')
"""
JOB = """\
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
kafka = {"kafka.bootstrap.servers": "10.0.0.1:9092"}
rows = spark.readStream.format("kafka").options(subscribe="t", startingOffsets="earliest", **kafka).load()
writing = rows.select("value").writeStream.format("kafka").options(topic="u", **kafka)
writing.option("checkpointLocation", "checkpoints").start().awaitTermination()
"""


def kill_in(folder: Path, experiment: str, phase: str, delay_s: float) -> Running:
    """Run the experiment in a folder of its own and kill the command some time after the phase began."""
    folder.mkdir()
    (folder / "tmp").mkdir()
    (folder / "check.py").write_text(CHECK)
    (folder / "job.py").write_text(JOB)
    starter = Starter(folder, myself(), env={"TMPDIR": str(folder / "tmp")})
    running = starter.start(starter.write(experiment.replace("CHECK_S", "100" if phase == "stop" else "0")))
    running.wait_for(f"] {phase}", within_s=300)
    if phase == "stop":
        wait_until((folder / "checking").exists, timeout_s=120, reason="the check to begin")
    time.sleep(delay_s)
    os.kill(running.process.pid, signal.SIGKILL)
    running.process.wait()
    return running


def kill_in_phases(
    folder: Path, experiment: str, phases: tuple[str, ...], *, seed: int, at_once: int
) -> list[Running]:
    dice = random.Random(seed)
    before = snapshot()
    orders = [
        (folder / f"{number}-{phase}", phase, 1.0 if phase == "load" else dice.uniform(0.0, 1.0))
        for number, phase in enumerate(phases)
    ]
    with ThreadPoolExecutor(at_once) as pool:
        killed = list(pool.map(lambda order: kill_in(order[0], experiment, *order[1:]), orders))
    left = left_behind(before)
    left.pop("/tmp", None)  # each had a temporary folder of its own
    assert left == {}
    assert [name for running in killed for name in os.listdir(running.path.parent / "tmp")] == []
    return killed


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Running]:
    """Runs that were killed, by their phase."""
    phases = ("brokers", "warmup", "load", "stop", "analysis")
    return dict(
        zip(
            phases,
            kill_in_phases(tmp_path_factory.mktemp("killed"), SMALL, phases, seed=1, at_once=4),
            strict=True,
        )
    )


def test_a_run_killed_in_any_phase_leaves_only_its_folder(killed: dict[str, Running]) -> None:
    assert {RunFolder.open(running.path).state for running in killed.values()} == {"crashed"}


def test_the_folder_of_a_run_killed_during_its_load_can_be_judged(killed: dict[str, Running]) -> None:
    path = killed["load"].path
    done = myself().run("report", str(path), "--again", timeout=200)
    assert done.returncode == 0, done.stderr
    assert (path / "report.html").is_file()
    verdict = json.loads((path / "verdict.json").read_text())
    outcomes = {one["text"]: one["outcome"] for one in verdict["judgements"]}
    assert outcomes["received == 0"] == "fail"
    assert verdict["outcome"] == "fail"
    assert "the run did not go through: stream2gym was killed in the phase 'load'" in verdict["doubts"]
    folder = RunFolder.open(path)
    assert folder.info["sealed"]
    assert folder.state == "crashed"


@pytest.mark.parametrize("phase", ["brokers", "warmup"])
def test_a_run_killed_before_its_load_says_that_there_is_nothing_to_judge(
    killed: dict[str, Running], phase: str
) -> None:
    done = myself().run("report", str(killed[phase].path), "--again")
    assert done.returncode == 2
    assert "before its load began" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_a_run_with_spark_killed_in_any_phase_leaves_nothing_behind(tmp_path: Path) -> None:
    kill_in_phases(tmp_path, WITH_SPARK, PHASES, seed=2, at_once=2)
