"""Real runs with a warm-up: Kafka alone, a Spark job whose first batch is not measured, and a cluster."""

from __future__ import annotations

import json
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from stream2gym.analysis.message_totals import count_totals
from stream2gym.execution import phases
from stream2gym.execution.run_components import RunComponents
from stream2gym.execution.run_control import RunControl
from stream2gym.execution.warm_up import warm_up
from tests.support.play import Played, play, star
from tests.system.conftest import Starter
from tests.system.small import SMALL

COPY = """
import os
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
brokers = os.environ["S2G_BOOTSTRAP"]
lines = (spark.readStream.format("kafka").option("kafka.bootstrap.servers", brokers)
         .option("subscribe", "in").option("startingOffsets", "latest").load())
query = (lines.selectExpr("value").writeStream.queryName("copy")
         .format("kafka").option("kafka.bootstrap.servers", brokers).option("topic", "out")
         .option("checkpointLocation", os.environ["S2G_CHECKPOINT"] + "/copy").start())
query.awaitTermination()
"""
MESSAGES = 100


def kafka(**keys: Any) -> dict[str, Any]:
    producer = {"name": "gen", "on": "h1", "topic": "in", "rate": "50/s", "messages": MESSAGES, "acks": "all"}
    return {
        "topology": star(3),
        "brokers": [{"on": "h2"}],
        "topics": ["in", "out"],
        "producers": [producer],
        "consumers": [{"name": "see", "on": "h1", "topics": ["in"]}, {"name": "end", "on": "h1", "topics": ["out"]}],
        "time": "20 s",
        "drain": "60 s",
        **keys,
    }


def rows(run: Played, table: str, **wanted: Any) -> list[dict[str, Any]]:
    every = pq.read_table(run.folder.data / f"{table}.parquet").to_pylist()
    return [row for row in every if all(row[key] == value for key, value in wanted.items())]


def test_warm_up_messages_are_sent_before_t0_and_the_load_is_whole(tmp_path: Path) -> None:
    lines = {"name": "lines", "on": "h3", "type": "ELTT", "file": "lines.txt", "topic": "in", "rate": "20/s"}
    batches = {"name": "txn", "on": "h3", "topic": "in", "rate": "50/s", "messages": 30, "acks": "all"}
    experiment = kafka(warmup="2 s")
    experiment["producers"] += [lines, {**batches, "transactions": 20}]
    run = play(experiment, tmp_path, {"lines.txt": "a\nb\nc\nd\ne\n"})
    assert run.outcome.error is None
    sent = rows(run, "sent")
    load = [row for row in sent if row["due_ns"] >= 0]
    warm = [row for row in sent if row["due_ns"] < 0]
    by_producer = {name: sum(row["producer"] == name for row in load) for name in ("gen", "lines", "txn")}
    assert by_producer == {"gen": MESSAGES, "lines": 5, "txn": 30}, "limits are those of the load"
    assert 90 <= sum(row["producer"] == "gen" for row in warm) <= 140
    assert sum(row["producer"] == "lines" for row in warm) > 30
    assert {row["status"] for row in sent} == {"acked"}
    assert max(row["done_ns"] for row in warm) < 0, "every warm-up message is answered before t0"
    places = {(row["producer"], row["seq"]) for row in sent}
    assert len(places) == len(sent)
    received = rows(run, "received", consumer="see")
    assert {(row["producer"], row["seq"]) for row in received} == places
    early = {(row["producer"], row["seq"]) for row in warm}
    assert max(row["at_ns"] for row in received if (row["producer"], row["seq"]) in early) < 0
    names = [event["phase"] for event in run.events("phase")]
    assert names.index("warmup") == names.index("load") - 1
    (done,) = run.events("warmed-up")
    assert (done["sent"], done["behind"]) == (len(warm), 0)
    assert not run.events("warning")


def play_with_a_death_in_the_warm_up(tmp_path: Path, restart: int) -> Played:
    """A run whose producer is killed in its warm-up, by nobody that the run knows."""

    def meddle(run: RunControl, components: RunComponents) -> None:
        handle = components.producers[0].processes[0].handle
        assert handle is not None
        threading.Timer(1.0, handle.signal, [signal.SIGKILL]).start()
        warm_up(run, components)

    experiment = kafka(warmup="3 s")
    experiment["producers"][0]["restart"] = {"times": restart, "delay": "100 ms"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(phases, "warm_up", meddle)
        return play(experiment, tmp_path)


@pytest.mark.long
def test_a_producer_that_is_started_again_in_the_warm_up_goes_on_with_it(tmp_path: Path) -> None:
    run = play_with_a_death_in_the_warm_up(tmp_path, restart=1)
    assert run.outcome.error is None
    sent = rows(run, "sent")
    assert len({row["seq"] for row in sent}) == len(sent)
    assert sum(row["due_ns"] >= 0 for row in sent) == MESSAGES
    (again,) = run.events("restarted", component="gen")
    assert any(row["due_ns"] / 1e9 > again["t_s"] for row in sent if row["due_ns"] < 0)


def test_a_producer_that_dies_in_the_warm_up_fails_the_start(tmp_path: Path) -> None:
    run = play_with_a_death_in_the_warm_up(tmp_path, restart=0)
    assert "gen on h1 died in the warm-up" in str(run.outcome.error)
    assert run.folder.info["t0_ns"] is None
    totals = count_totals(run.folder.path)
    assert totals.sent == totals.warmup > 0


def test_ctrl_c_in_the_warm_up_ends_the_run_and_there_is_nothing_to_judge(starter: Starter) -> None:
    running = starter.start(starter.write(SMALL + "warmup: 30 s\nexpect: [lost == 0]\n"))
    running.wait_for("] warmup")
    time.sleep(1.0)
    running.interrupt()
    assert running.end() == 130
    assert running.info["state"] == "interrupted"
    assert running.info["t0_ns"] is None
    verdict = json.loads((running.path / "verdict.json").read_text())
    assert verdict["outcome"] == "unknown"
    assert not running.events("warmed-up")


def first_latency_s(run: Played) -> float:
    """How long the first message of the load took to its result behind the job."""
    first = min((row for row in rows(run, "sent") if row["due_ns"] >= 0), key=lambda row: row["due_ns"])
    results = [row["at_ns"] for row in rows(run, "received", topic="out", value_hash=first["value_hash"])]
    return float(min(results) - first["due_ns"]) / 1e9


def batches_s(run: Played, engine: str = "job") -> list[tuple[float, float]]:
    """When each batch with data began and ended, from t0."""
    found = rows(run, "samples", object=f"{engine}.copy", metric="batch_ms")
    return sorted((row["at_ns"] / 1e9 - row["value"] / 1e3, row["at_ns"] / 1e9) for row in found)


def check_first_batch(with_batch: Played, without: Played) -> None:
    """The first batch is before t0 in one run and in the load of the other; so are the latencies."""
    for run in (with_batch, without):
        assert run.outcome.error is None
        load = [row for row in rows(run, "sent") if row["due_ns"] >= 0]
        assert len(load) == MESSAGES
        results = {row["value_hash"] for row in rows(run, "received", topic="out")}
        assert {row["value_hash"] for row in rows(run, "sent")} <= results, "no result is missing, warm-up included"
    assert not without.events("phase", phase="warmup")
    began_s, ended_s = batches_s(with_batch)[0]
    assert ended_s < 0
    slow_s = ended_s - began_s
    # Spark says that its first batch began when it first looked for data, which may be a little before t0.
    assert batches_s(without)[0][1] > 0
    assert first_latency_s(with_batch) < first_latency_s(without)
    assert first_latency_s(with_batch) < slow_s + 0.5, (first_latency_s(with_batch), slow_s)


@pytest.mark.long
def test_the_first_batch_of_a_job_is_not_measured_when_the_load_waits_for_it(tmp_path: Path) -> None:
    engine = {"name": "job", "on": "h3", "type": "spark", "app": "job.py"}
    runs = [
        play(kafka(engines=[{**engine, "ready": ready}]), tmp_path / ready, {"job.py": COPY})
        for ready in ("batch", "query")
    ]
    check_first_batch(*runs)


@pytest.mark.long
def test_on_a_cluster_executors_have_registered_and_the_first_batch_is_not_measured(tmp_path: Path) -> None:
    worker = {"type": "spark-worker", "master": "master", "memory": "700 MiB"}
    engines: list[dict[str, Any]] = [
        {"name": "master", "on": "h1", "type": "spark-master"},
        {"name": "w2", "on": "h2", **worker},
        {"name": "w3", "on": "h3", **worker},
    ]
    runs = []
    for ready in ("batch", "query"):
        job = {"name": "job", "on": "h1", "app": "job.py", "master": "master", "ready": ready}
        runs.append(play(kafka(engines=[*engines, job]), tmp_path / ready, {"job.py": COPY}))
    check_first_batch(*runs)


@pytest.mark.long
def test_a_first_batch_that_never_comes_fails_the_start_and_names_the_query(tmp_path: Path) -> None:
    job = COPY.replace('"subscribe", "in"', '"subscribe", "quiet"')
    engine = {"name": "job", "on": "h3", "app": "job.py", "ready": "batch", "ready_timeout": "40 s"}
    run = play(kafka(topics=["in", "out", "quiet"], engines=[engine]), tmp_path, {"job.py": job})
    assert "copy had no batch with data" in str(run.outcome.error)
    assert run.folder.info["t0_ns"] is None
    assert not run.events("phase", phase="load")
