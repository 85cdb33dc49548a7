"""What goes wrong with Spark programs: one message or event with the cause and the end of the right log."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from stream2gym import run
from stream2gym.errors import BadInput
from stream2gym.execution.drive_load import Load
from stream2gym.wait import wait_until
from tests.support.play import Played, play, star
from tests.support.sparkjobs import UPPER, between_topics

ENOUGH_S = 240.0  # for a wait that ends as soon as what it waits for is there


def part(load: Load, name: str) -> Any:
    return next(part for part in load.components.all() if part.name == name)


def until_over(*names: str) -> Callable[[Load], None]:
    """At t0: wait until these components have ended."""

    def wait(load: Load) -> None:
        parts = [part(load, name) for name in names]
        wait_until(lambda: all(one.over for one in parts), timeout_s=ENOUGH_S, reason="their ends")

    return wait


def test_a_program_that_is_missing_is_told_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"nowhere\.py"):
        play(between_topics("nowhere.py"), tmp_path)


def test_a_program_that_raises_is_told_with_its_own_words(tmp_path: Path) -> None:
    run = play(between_topics(), tmp_path, {"job.py": "raise RuntimeError('no such harbour')\n"})
    assert run.outcome.state == "failed"
    assert "no such harbour" in str(run.outcome.error)
    (died,) = run.events("died", component="job")
    assert died["cause"] == "RuntimeError: no such harbour"
    assert "no such harbour" in died["end_of_log"]


def test_a_program_that_never_starts_a_query_is_not_waited_for_without_end(tmp_path: Path) -> None:
    keys = between_topics(ready_timeout="9 s")
    run = play(keys, tmp_path, {"job.py": "import time\nprint('asleep', flush=True)\ntime.sleep(600)\n"})
    assert run.outcome.state == "failed"
    assert "has not started a streaming query" in str(run.outcome.error)
    assert "h3.job.log" in str(run.outcome.error)


OLD_CHECKPOINT = {  # of a query over a topic with more in it than this experiment will ever have
    "metadata": '{"id":"c5f2d8de-4f0c-4a7b-9d53-8d7b0a3c9f11"}',
    "sources/0/0": 'v1\n{"in":{"0":0}}',
    "offsets/0": 'v1\n{"batchWatermarkMs":0,"batchTimestampMs":1700000000000,"conf":{}}\n{"in":{"0":5000}}',
    "commits/0": 'v1\n{"nextBatchWatermarkMs":0}',
}
GREEDY = """
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
print(len(spark.range(4).selectExpr("repeat('x', 400000000) as v").collect()))
"""
LATER = """
import os
from pyspark.sql import SparkSession
def refuse(rows, number):
    raise ValueError("batch %d is rotten" % number)
spark = SparkSession.builder.getOrCreate()
query = spark.readStream.format("rate").load().writeStream.queryName("fruit").foreachBatch(refuse).start()
query.awaitTermination()
"""


@pytest.mark.long
def test_each_program_that_cannot_work_is_explained(tmp_path: Path) -> None:
    earliest = UPPER.replace("START", "earliest")
    old = tmp_path / "old"
    for name, text in OLD_CHECKPOINT.items():
        (old / name).parent.mkdir(parents=True, exist_ok=True)
        (old / name).write_text(text)
    programs = {
        "syntax": "this is no Python\n",
        "topic": earliest.replace('"in"', '"nowhere"'),
        "foreign": earliest.replace('os.environ["S2G_CHECKPOINT"] + "/upper"', json.dumps(str(old))),
        "greedy": GREEDY,
        "later": LATER,
        "brief": "print('nothing to do')\n",
    }
    keys = between_topics() | {"time": "1 s", "drain": "1 s", "consumers": []}
    keys["topology"] = star(8)
    keys["engines"] = [
        {"name": name, "on": f"h{number}", "app": f"{name}.py", "ready": "start"}
        for number, name in enumerate(programs, 3)
    ]
    files = {f"{name}.py": text for name, text in programs.items()}
    run = play(keys, tmp_path, files, at_t0=until_over(*programs))
    assert run.outcome.error is None
    died = {event["component"]: event for event in run.events("died")}
    assert sorted(died) == sorted(set(programs) - {"brief"})
    words = {
        "syntax": ("SyntaxError",),
        "topic": ("a topic that nobody made; there are: in, out",),
        "foreign": ("from another experiment", "S2G_CHECKPOINT"),
        "greedy": ("out of memory", "512 MiB", "memory: 1 GiB"),
        "later": ("batch 0 is rotten",),
    }
    for name, expected in words.items():
        assert all(word in died[name]["cause"] for word in expected), died[name]["cause"]
        assert died[name]["log"].endswith(f"{name}.log")
        assert died[name]["end_of_log"]
    (failed,) = run.events("query-failed", component="later")
    assert failed["query"] == "fruit"
    assert run.events("finished", component="brief"), "to end by itself with 0 is fine"
    assert "nothing to do" in run.log("h8.brief.log")


STUBBORN = """
import time
from pyspark.sql import SparkSession
def refuse(rows, number):
    if number > 0:
        raise ValueError("batch %d is rotten" % number)
spark = SparkSession.builder.getOrCreate()
query = spark.readStream.format("rate").load().writeStream.queryName("fruit").foreachBatch(refuse).start()
try:
    query.awaitTermination()
except Exception as error:
    print("never mind:", error, flush=True)
time.sleep(600)
"""


@pytest.mark.long
def test_a_query_that_failed_while_its_program_lives_on_fails_the_verdict(tmp_path: Path) -> None:
    keys = {"s2g": 1} | between_topics() | {"name": "stubborn", "time": "12 s", "drain": "1 s", "consumers": []}
    (tmp_path / "job.py").write_text(STUBBORN, "utf-8")
    (tmp_path / "stubborn.yaml").write_text(yaml.safe_dump(keys), "utf-8")
    result = run(tmp_path / "stubborn.yaml", out=tmp_path / "run", report=False)
    events = [json.loads(line) for line in (tmp_path / "run" / "events.jsonl").read_text("utf-8").splitlines()]
    assert [event["query"] for event in events if event["event"] == "query-failed"] == ["fruit"]
    assert not [event for event in events if event["event"] == "died"]
    assert (result.passed, result.exit_code) == (False, 1)


def test_a_program_that_ends_at_once_is_ready_and_the_run_goes_on(tmp_path: Path) -> None:
    run = play(between_topics(), tmp_path, {"job.py": "print('nothing to do')\n"})
    assert run.outcome.error is None
    assert run.events("finished", component="job")
    assert run.outcome.counts["sent"] == 150


@pytest.mark.long
def test_a_socket_that_closes_is_told_and_the_run_comes_to_its_end(tmp_path: Path) -> None:
    program = """
import os
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
lines = spark.readStream.format("socket").option("host", "10.0.0.1").option("port", 9999).load()
lines.writeStream.format("console").queryName("lines").start().awaitTermination()
"""

    def close_the_socket(load: Load) -> None:
        job, talk = part(load, "job"), part(load, "talk")
        seen: Callable[[], bool] = lambda: any(query.idle for query in job.queries.now)  # noqa: E731
        wait_until(seen, timeout_s=ENOUGH_S, reason="the query to run")
        talk.processes[0].handle.signal(signal.SIGKILL)
        told = lambda: "Stream closed by" in job.log.read_text()  # noqa: E731
        wait_until(told, timeout_s=ENOUGH_S, reason="Spark to notice")

    run = play(
        {
            "topology": star(2),
            "sources": [{"name": "talk", "on": "h1", "lines": 100000, "rate": "20/s"}],
            "engines": [{"name": "job", "on": "h2", "app": "job.py"}],
            "time": "1 s",
            "drain": "30 s",
        },
        tmp_path,
        {"job.py": program},
        at_t0=close_the_socket,
    )
    assert run.outcome.error is None
    (died,) = run.events("died", component="talk")
    assert died["how"] == "killed by SIGKILL"
    (closed,) = run.events("source-closed", component="job")
    assert closed["source"] == "10.0.0.1:9999"


@pytest.mark.long
def test_a_killed_job_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    def kill_soon(load: Any) -> None:
        process = part(load, "job").processes[0].handle
        threading.Timer(2.0, lambda: process.signal(signal.SIGKILL)).start()

    keys = between_topics(restart={"times": 1, "delay": "0 s"}) | {"time": "40 s", "drain": "120 s"}
    run = play(keys, tmp_path, {"job.py": UPPER.replace("START", "earliest")}, at_t0=kill_soon)
    assert run.outcome.error is None
    assert run.events("restarted", component="job")
    (drained,) = run.events("drained")
    assert drained["complete"], "the query that died with its process is not waited for"
    assert rows(run) >= 150
    assert run.outcome.counts["received"] >= 150


def rows(run: Played) -> float:
    return sum(run.samples("spark", "job.upper", "rows"))
