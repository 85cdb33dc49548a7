"""Groups of the user's programs in a run: readers of what is new, a reader of transactions, a group shared with us.

Three programs read ``news`` from its end, one with each library; a hundred messages are there before they come. A
program reads ``ledger``, at whose end stand an aborted transaction and its marker. A consumer of ours and a program
share the group ``team``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
import yaml

from stream2gym.record.events import read_events
from stream2gym.record.schemas import read_table
from tests.support.users import myself

READERS = ("by_confluent", "by_plain", "by_aio")
# Sends a hundred messages, waits until the readers know where they begin, and sends a hundred more.
NEWS = """
import os, time
from confluent_kafka import Producer
producer = Producer({"bootstrap.servers": os.environ["S2G_BOOTSTRAP"], "acks": "all"})
def send(numbers):
    for number in numbers:
        producer.produce("news", b"%d" % number)
    assert producer.flush(60) == 0
send(range(100))
open("logs/output/old", "w").close()
while not all(os.path.exists(f"logs/output/{name}") for name in ("by_confluent", "by_plain", "by_aio")):
    time.sleep(0.05)
send(range(100, 200))
"""
WAIT = """
import os, time
while not os.path.exists("logs/output/old"):
    time.sleep(0.05)
address = os.environ["S2G_BOOTSTRAP"]
def ready(name):
    open(f"logs/output/{name}", "w").close()
"""
CONFLUENT = f"""{WAIT}
from confluent_kafka import Consumer, TopicPartition
consumer = Consumer({{"bootstrap.servers": address, "group.id": "by_confluent"}})
consumer.subscribe(["news"])
is_ready = False
while True:
    message = consumer.poll(0.2)
    assert message is None or message.error() is None
    # The first answer to a fetch was there at the poll before.
    if not is_ready and consumer.assignment() and consumer.get_watermark_offsets(
            TopicPartition("news", 0), cached=True)[1] >= 0:
        consumer.poll(0.2)
        ready("by_confluent")
        is_ready = True
"""
PLAIN = f"""{WAIT}
from kafka import KafkaConsumer, TopicPartition
consumer = KafkaConsumer("news", bootstrap_servers=address, group_id="by_plain")
while not consumer.assignment():
    consumer.poll(100)
consumer.position(TopicPartition("news", 0))
ready("by_plain")
for record in consumer:
    pass
"""
ASYNCIO = f"""{WAIT}
import asyncio
from aiokafka import AIOKafkaConsumer, TopicPartition
async def main():
    consumer = AIOKafkaConsumer("news", bootstrap_servers=address, group_id="by_aio")
    await consumer.start()
    while not consumer.assignment():
        await consumer.getmany(timeout_ms=100)
    await consumer.position(TopicPartition("news", 0))
    ready("by_aio")
    async for record in consumer:
        pass
asyncio.run(main())
"""
BOOKKEEPER = """
import os
from confluent_kafka import Producer
producer = Producer({"bootstrap.servers": os.environ["S2G_BOOTSTRAP"], "transactional.id": "books"})
producer.init_transactions()
for end in [producer.commit_transaction] * 5 + [producer.abort_transaction]:
    producer.begin_transaction()
    for number in range(10):
        producer.produce("ledger", b"%d" % number)
    producer.flush()
    end()
"""
AUDITOR = """
import os
from confluent_kafka import Consumer
consumer = Consumer({"bootstrap.servers": os.environ["S2G_BOOTSTRAP"], "group.id": "auditors",
                     "auto.offset.reset": "earliest"})
consumer.subscribe(["ledger"])
while True:
    consumer.poll(1)
"""
MATE = """
import os
from confluent_kafka import Consumer
consumer = Consumer({"bootstrap.servers": os.environ["S2G_BOOTSTRAP"], "group.id": "team",
                     "auto.offset.reset": "earliest", "partition.assignment.strategy": "range,roundrobin"})
consumer.subscribe(["tasks"])
while True:
    consumer.poll(1)
"""
PROGRAMS = {
    "news": NEWS, "by_confluent": CONFLUENT, "by_plain": PLAIN, "by_aio": ASYNCIO, "bookkeeper": BOOKKEEPER,
    "auditor": AUDITOR, "mate": MATE,
}  # fmt: skip


def program(name: str, on: str, **keys: Any) -> dict[str, Any]:
    return {"name": name, "on": on, "type": "CUSTOM", "app": f"{name}.py", **keys}


EXPERIMENT = {
    "s2g": 1,
    "name": "groups",
    "topology": {"kind": "star", "hosts": 3, "latency": "1 ms"},
    "brokers": [{"on": "h1"}],
    "topics": ["news", "ledger", {"name": "tasks", "partitions": 4}],
    "producers": [
        program("news", "h2", grace="60 s"),
        program("bookkeeper", "h2", grace="60 s"),
        {"name": "gen", "on": "h2", "topic": "tasks", "rate": "200/s", "keys": 100, "messages": 800},
    ],
    "consumers": [
        *(program(name, "h3", grace="0 s") for name in READERS),
        program("auditor", "h3", grace="0 s"),
        program("mate", "h3", grace="0 s"),
        {"name": "ours", "on": "h3", "topics": ["tasks"], "group": "team"},
    ],
    "time": "8 s",
    "drain": "60 s",
    "expect": [
        "lost == 0", "in_flight == 0", *(f"received(consumer={name}) == 100" for name in READERS),
        "received(consumer=auditor) == 50", "received(topic=tasks) == 800",
    ],
}  # fmt: skip


@dataclass(frozen=True)
class Groups:
    code: int
    text: str
    path: Path

    @cached_property
    def events(self) -> list[dict[str, Any]]:
        return list(read_events(self.path / "events.jsonl"))

    @cached_property
    def positions(self) -> dict[tuple[str, str, int], dict[str, Any]]:
        rows = json.loads((self.path / "analysis.json").read_text())["positions"]
        return {(row["group"], row["topic"], row["partition"]): row for row in rows}

    def lags(self, group: str) -> list[int]:
        samples = read_table(self.path / "data", "samples").to_pylist()
        mine = [row for row in samples if (row["object"], row["metric"]) == (group, "lag")]
        return [int(row["value"]) for row in sorted(mine, key=lambda row: row["at_ns"])]


@pytest.fixture(scope="module")
def groups(tmp_path_factory: pytest.TempPathFactory) -> Groups:
    folder = tmp_path_factory.mktemp("groups")
    for name, text in PROGRAMS.items():
        (folder / f"{name}.py").write_text(text)
    (folder / "experiment.yaml").write_text(yaml.safe_dump(EXPERIMENT))
    done = myself().run("run", str(folder / "experiment.yaml"), "--out", str(folder / "run"), timeout=300)
    return Groups(done.returncode, done.stdout + done.stderr, folder / "run")


def test_readers_of_what_is_new_are_owed_what_came_after_they_began(groups: Groups) -> None:
    assert groups.code == 0, groups.text
    for name in READERS:
        row = groups.positions[name, "news", 0]
        assert (row["first"], row["position"], row["end"]) == (100, 200, 200)


def test_the_drain_ends_when_a_reader_has_read_what_transactions_left_to_read(groups: Groups) -> None:
    (drained,) = (event for event in groups.events if event["event"] == "drained")
    assert drained["complete"], groups.text
    assert drained["behind"] == 0
    row = groups.positions["auditors", "ledger", 0]
    # Six transactions of ten messages, each with its marker.
    assert row["position"] == row["end"] == 66
    assert row["receipts"] == 50


def test_the_lag_of_a_group_is_that_of_our_consumers_and_of_programs_together(groups: Groups) -> None:
    received = read_table(groups.path / "data", "received").to_pylist()
    shares = {row["consumer"] for row in received if row["topic"] == "tasks"}
    assert shares == {"ours", "mate"}, "one of them got all the partitions"
    # The last sample may be from just before the last messages were read. One consumer alone is hundreds behind.
    assert groups.lags("team")[-1] < 10
