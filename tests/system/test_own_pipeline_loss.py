"""A pipeline of the user's own programs loses messages with the leader of a partition: found, counted, attributed.

The shop (confluent-kafka, acks=1) places orders, a PySpark job bills them, the office (kafka-python) files the bills.
Followers are cut off before the leader is killed, so that what it acknowledged in between has no copy.
"""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
import yaml

from stream2gym.record.schemas import read_table
from tests.support.users import myself

pytestmark = pytest.mark.long

SHOP = """
import os, time
from confluent_kafka import Producer

def answered(error, message):
    said.write(f"{message.key().decode()},{'gave up' if error else 'acknowledged'},{message.offset()}\\n")

said = open("logs/output/shop.csv", "w", buffering=1)
producer = Producer({"bootstrap.servers": os.environ["S2G_BOOTSTRAP"], "acks": 1})
number, end_ns = 0, int(os.environ["S2G_STOP_NS"])
while time.monotonic_ns() < end_ns:
    number += 1
    producer.produce("orders", '{"id": %d}' % number, key=str(number), on_delivery=answered)
    producer.poll(0.005)
producer.flush(30)
"""
JOB = """
import os
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
brokers = os.environ["S2G_BOOTSTRAP"]
orders = (spark.readStream.format("kafka").option("kafka.bootstrap.servers", brokers)
          .option("subscribe", "orders").option("startingOffsets", "earliest").load())
bill = "concat('{\\"total\\": 7, \\"id\\": ', get_json_object(cast(value as string), '$.id'), '}')"
query = (orders.selectExpr(f"{bill} as value").writeStream.queryName("bills").format("kafka")
         .option("kafka.bootstrap.servers", brokers).option("topic", "bills")
         .option("checkpointLocation", os.environ["S2G_CHECKPOINT"] + "/bills").start())
query.awaitTermination()
"""
OFFICE = """
import json, os, signal, sys
from kafka import KafkaConsumer
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
consumer = KafkaConsumer("bills", bootstrap_servers=os.environ["S2G_BOOTSTRAP"], group_id="office",
                         auto_offset_reset="earliest")
with open("logs/output/office.csv", "w", buffering=1) as filed:
    for record in consumer:
        filed.write(f"{json.loads(record.value)['id']}\\n")
"""
EXPERIMENT = {
    "s2g": 1,
    "name": "acks-1",
    "topology": {"kind": "star", "hosts": 5, "latency": "1 ms"},
    "kafka": {
        "config": {
            "broker.session.timeout.ms": 3000,
            "broker.heartbeat.interval.ms": 500,
            "replica.lag.time.max.ms": 4000,
        }
    },
    "brokers": [{"on": "h1"}, {"on": "h2"}, {"on": "h3"}],
    "topics": [
        {"name": "orders", "replicas": 3, "leader": "h1"},
        {"name": "bills", "replicas": 3, "leader": "h2"},
    ],
    "producers": [{"name": "shop", "on": "h4", "type": "CUSTOM", "app": "shop.py", "topic": "orders"}],
    "engines": [{"name": "job", "on": "h5", "app": "job.py", "master": "local[1]", "memory": "600 MiB"}],
    "consumers": [
        {"name": "office", "on": "h5", "type": "CUSTOM", "app": "office.py", "topics": ["bills"], "grace": "5 s"}
    ],
    "trace": [{"from": "orders", "to": "bills", "by": "json:$.id"}],
    "faults": [
        {"name": "cut", "do": "partition", "at": "4 s", "groups": [["h1"], ["h2", "h3"]]},
        {"name": "dead", "do": "kill", "at": "6 s", "on": "broker-h1"},
    ],
    "time": "14 s",
    "drain": "90 s",
    "expect": [
        "lost(topic=orders) == 0", "results_missing(from=orders, to=bills) == 0", "lost(fault=dead) == 0",
        "failed == 0", "duplicated(topic=bills) == 0",
    ],
}  # fmt: skip


@dataclass(frozen=True)
class Shown:
    """The run, as its programs, Kafka and the analysis tell it."""

    code: int
    text: str
    path: Path

    @cached_property
    def acknowledged(self) -> dict[int, int]:
        """What the shop itself wrote down: the offset of every order that Kafka acknowledged."""
        with (self.path / "work/logs/output/shop.csv").open() as file:
            rows = list(csv.reader(file))
        assert {row[1] for row in rows} == {"acknowledged"}
        return {int(row[0]): int(row[2]) for row in rows}

    @cached_property
    def filed(self) -> list[int]:
        """What the office itself wrote down: the order of every bill."""
        return [int(line) for line in (self.path / "work/logs/output/office.csv").read_text().split()]

    @cached_property
    def analysis(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.path / "analysis.json").read_text())
        return found

    @cached_property
    def verdict(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.path / "verdict.json").read_text())
        return found

    def judgement(self, text: str) -> dict[str, Any]:
        return next(one for one in self.verdict["judgements"] if one["text"].startswith(text))


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    folder = tmp_path_factory.mktemp("shown")
    for name, text in (("shop", SHOP), ("job", JOB), ("office", OFFICE)):
        (folder / f"{name}.py").write_text(text)
    (folder / "experiment.yaml").write_text(yaml.safe_dump(EXPERIMENT))
    done = myself().run("run", str(folder / "experiment.yaml"), "--out", str(folder / "run"), timeout=400)
    return Shown(done.returncode, done.stdout + done.stderr, folder / "run")


def test_what_is_lost_is_what_the_programs_themselves_and_kafkas_offsets_say(shown: Shown) -> None:
    assert shown.code == 1, shown.text
    lost = shown.acknowledged.keys() - set(shown.filed)
    assert lost, "the fault did not hurt"
    assert len(shown.filed) == len(set(shown.filed))
    held = {row["topic"]: row["end"] for row in read_table(shown.path / "data", "offsets").to_pylist()}
    assert held["orders"] == held["bills"] == len(shown.acknowledged) - len(lost)
    for text in ("lost(topic=orders)", "results_missing(from=orders", "lost(fault=dead)"):
        one = shown.judgement(text)
        assert (one["outcome"], one["measured"]) == ("fail", len(lost)), one
    for text in ("failed", "duplicated"):
        assert shown.judgement(text)["outcome"] == "pass"


def test_the_place_of_the_loss_is_the_leader_that_died_with_what_it_alone_had(shown: Shown) -> None:
    lost = shown.acknowledged.keys() - set(shown.filed)
    (row,) = shown.analysis["cut_off"]
    assert (row["topic"], row["producer"], row["leader"]) == ("orders", "shop", "broker-h1")
    assert row["successor"] in ("broker-h2", "broker-h3")
    assert row["messages"] == len(lost)
    offsets = sorted(shown.acknowledged[order] for order in lost)
    assert offsets == list(range(row["first_offset"], row["last_offset"] + 1))
    # Between the cut and the death.
    assert 4 <= row["first_s"] <= row["last_s"] <= row["led_from_s"]


def test_verdict_and_report_name_the_leader_and_the_first_messages(shown: Shown) -> None:
    lost = shown.acknowledged.keys() - set(shown.filed)
    words = f"{len(lost)} acknowledged messages were lost in orders/0 with its leader broker-h1"
    assert words in shown.text
    first = shown.judgement("lost(topic=orders)")["evidence"][0]
    assert first.startswith(f"shop #{min(lost) - 1} in orders/0 offset {min(lost) - 1}: acknowledged at ")
    assert "gave its offset to another message" in first
    page = (shown.path / "report.html").read_text()
    assert words in page
    assert "Lost with a leader" in page


def test_the_faults_answer_for_the_loss_in_the_topic_that_only_the_engine_reads(shown: Shown) -> None:
    lost = shown.acknowledged.keys() - set(shown.filed)
    costs = {(row["fault"], row["topic"]): row["lost"] for row in shown.analysis["recovery"]}
    assert costs["dead", "orders"] == costs["cut", "orders"] == len(lost)
