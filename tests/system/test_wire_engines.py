"""Engines that are observed from their packets: the record of a Spark job says what Kafka says."""

from __future__ import annotations

import json
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml

from stream2gym.execution.drive_load import Load
from tests.support.play import play, star
from tests.support.sparkjobs import UPPER, between_topics
from tests.support.users import myself
from tests.system.conftest import Running, Starter

pytestmark = pytest.mark.long
Row = dict[str, Any]
Place = tuple[str, int, int]
TOPICS = [{"name": "in", "partitions": 2}, {"name": "out", "partitions": 2}]
MESSAGES = 150
EXPECTED = [
    "lost(topic=out) == 0", "duplicated == 0", "delivered == 100 %", "out_of_order(topic=out) == 0",
    f"sent(producer=job) == {MESSAGES}", f"acknowledged(producer=job) == {MESSAGES}", "failed == 0",
    f"received == {MESSAGES}", f"received(consumer=job) >= {MESSAGES}", "received(consumer=job, topic=out) == 0",
    "unknown_received == 0", "offset_gaps == 0",
]  # fmt: skip


def table(run: Path, name: str, **wanted: Any) -> list[Row]:
    rows: list[Row] = pq.read_table(run / "data" / f"{name}.parquet").to_pylist()
    return [row for row in rows if all(row[key] == value for key, value in wanted.items())]


def place(row: Row) -> Place:
    return row["topic"], row["partition"], row["offset"]


def log_of(run: Path, topic: str) -> set[Place]:
    """The places that Kafka holds."""
    return {
        (topic, row["partition"], offset)
        for row in table(run, "offsets", topic=topic)
        for offset in range(row["start"], row["end"])
    }


def check_record(run: Path) -> None:
    """What the job sent stands in the log place by place, and it fetched the whole input."""
    sent = table(run, "sent", producer="job")
    assert {row["status"] for row in sent} == {"acked"}
    assert Counter(map(place, sent)) == Counter(log_of(run, "out"))
    assert len(sent) == MESSAGES
    fetched = table(run, "received", consumer="job")
    assert {place(row) for row in fetched} == log_of(run, "in")
    assert {row["group"] for row in fetched} == {""}
    # Whose messages the job fetched, and whose the consumer received, is known.
    by_place = {place(row): (row["producer"], row["seq"], row["value_hash"]) for row in table(run, "sent")}
    for row in table(run, "received"):
        assert by_place[place(row)] == (row["producer"], row["seq"], row["value_hash"])


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """The whole command, with analysis, verdict and report."""
    starter = Starter(tmp_path_factory.mktemp("local"), myself())
    (starter.folder / "job.py").write_text(UPPER.replace("START", "earliest"))
    keys = between_topics(observe="wire", master="local[2]") | {"topics": TOPICS, "expect": EXPECTED}
    running = starter.start(starter.write(yaml.safe_dump({"s2g": 1, "name": "observed", **keys})))
    assert running.end(240) in (0, 1), running.output
    yield running
    starter.close()


def test_what_a_job_sent_and_fetched_is_on_record_place_by_place(local: Running) -> None:
    check_record(local.path)
    (told,) = local.events("observed")
    assert (told["component"], told["role"], told["host"]) == ("job", "engine", "h3")
    assert local.events("unobserved") == []


def test_the_messages_of_a_job_are_judged_like_those_of_a_producer(local: Running) -> None:
    verdict = json.loads((local.path / "verdict.json").read_text())
    assert {row["text"]: row["outcome"] for row in verdict["judgements"]} == dict.fromkeys(EXPECTED, "pass")
    assert "not observed" not in local.output


def test_what_a_job_fetched_is_told_and_makes_it_no_subscriber(local: Running) -> None:
    analysis = json.loads((local.path / "analysis.json").read_text())
    assert {(row["topic"], row["producer"]) for row in analysis["audit"]} == {("out", "job")}
    assert {row["topic"] for row in analysis["positions"]} == {"out"}
    report = (local.path / "report.html").read_text()
    assert f"job fetched {MESSAGES} of {MESSAGES} messages of in" in report
    assert "job: observed from packets" in report


def test_what_executors_send_and_fetch_on_other_hosts_is_the_jobs(tmp_path: Path) -> None:
    worker = {"type": "spark-worker", "master": "master", "memory": "700 MiB"}
    keys = between_topics(observe="wire", master="master", on="h1") | {"topology": star(4), "topics": TOPICS}
    keys["engines"] = [
        {"name": "master", "on": "h1", "type": "spark-master"},
        {"name": "w3", "on": "h3", **worker},
        {"name": "w4", "on": "h4", **worker},
        *keys["engines"],
    ]
    played = play(keys, tmp_path, {"job.py": UPPER.replace("START", "earliest")})
    assert played.outcome.error is None
    assert played.events("unobserved") == []
    check_record(played.folder.path)
    hosts = {told["instance"]: told["host"] for told in played.events("observed", component="job")}
    assert hosts == {1: "h1", 2: "h3", 3: "h4"}
    # The driver sends nothing; both executors do.
    assert {hosts[row["instance"]] for row in table(played.folder.path, "sent", producer="job")} == {"h3", "h4"}


def test_a_job_that_is_killed_and_begins_again_is_observed_up_to_its_last_packet(tmp_path: Path) -> None:
    """It fetches again what it had fetched, and may send again what it had sent: other messages of its own."""

    def kill_soon(load: Load) -> None:
        (job,) = load.components.engines
        process = job.processes[0].handle
        assert process is not None
        threading.Timer(4.0, lambda: process.signal(signal.SIGKILL)).start()

    keys = between_topics(observe="wire", restart={"times": 1, "delay": "0 s"}) | {"time": "40 s", "drain": "120 s"}
    keys["producers"][0] |= {"rate": "20/s", "messages": 400}
    played = play(keys, tmp_path, {"job.py": UPPER.replace("START", "earliest")}, at_t0=kill_soon)
    run = played.folder.path
    assert played.outcome.error is None
    assert len(played.events("restarted", component="job")) == 1
    assert played.events("unobserved") == []
    # All that stands in the log was seen to leave, whether or not the broker's word still reached the job.
    received = table(run, "received", consumer="see")
    assert {place(row) for row in received} == log_of(run, "out")
    assert {row["producer"] for row in received} == {"job"}
    sent = table(run, "sent", producer="job")
    assert {row["seq"] for row in received} <= {row["seq"] for row in sent}
    acknowledged = [row for row in sent if row["status"] == "acked"]
    assert {place(row) for row in acknowledged} <= log_of(run, "out")
    assert len({place(row) for row in acknowledged}) == len(acknowledged)
    assert {place(row) for row in table(run, "received", consumer="job")} == log_of(run, "in")
