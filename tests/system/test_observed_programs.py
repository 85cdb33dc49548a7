"""Whole runs with programs of the user's: what they did is on record, audited and judged as with our own clients."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from stream2gym.record.events import read_events
from stream2gym.record.schemas import read_table
from tests.support.users import myself

SENDER = """
import os, sys, time
from confluent_kafka import Producer
producer = Producer({"bootstrap.servers": os.environ["S2G_BOOTSTRAP"], "acks": "all"})
for number in range(200):
    producer.produce("in", b"message %d" % number)
    producer.poll(0.005)
assert producer.flush() == 0
"""
FORWARDER = """
import os
from kafka import KafkaConsumer, KafkaProducer
consumer = KafkaConsumer("in", bootstrap_servers=os.environ["S2G_BOOTSTRAP"], group_id="movers",
                         auto_offset_reset="earliest", auto_commit_interval_ms=200)
producer = KafkaProducer(bootstrap_servers=os.environ["S2G_BOOTSTRAP"])
for record in consumer:
    producer.send("out", record.value, headers=record.headers)
    producer.flush()
"""
READER = """
import asyncio, os
from aiokafka import AIOKafkaConsumer
async def main():
    consumer = AIOKafkaConsumer("out", bootstrap_servers=os.environ["S2G_BOOTSTRAP"], group_id="readers",
                                auto_offset_reset="earliest")
    await consumer.start()
    async for record in consumer:
        assert record.headers == ()
asyncio.run(main())
"""


def run(folder: Path, changes: dict[str, dict[str, Any]], expect: list[str], **programs: str) -> tuple[Any, Path]:
    """Run a sender, a forwarder and a reader; ``changes`` are further keys of these components."""
    programs = {"sender": SENDER, "forwarder": FORWARDER, "reader": READER, **programs}

    def program(name: str) -> dict[str, Any]:
        return {"type": "CUSTOM", "app": f"{name}.py", **changes.get(name, {})}

    for name, text in programs.items():
        (folder / f"{name}.py").write_text(text)
    experiment = {
        "s2g": 1,
        "name": "observed",
        "topology": {"kind": "star", "hosts": 4, "latency": "2 ms"},
        "brokers": [{"on": "h1"}],
        "topics": ["in", "out"],
        "producers": [
            {"name": "sender", "on": "h2", "type": "CUSTOM", "app": "sender.py", **changes.get("sender", {})}
        ],
        "consumers": [
            {
                "name": "forwarder",
                "on": "h3",
                "type": "CUSTOM",
                "app": "forwarder.py",
                **changes.get("forwarder", {}),
            },
            {"name": "reader", "on": "h4", "type": "CUSTOM", "app": "reader.py", **changes.get("reader", {})},
        ],
        "time": "8 s",
        "drain": "8 s",
        "expect": expect,
    }
    path = folder / "experiment.yaml"
    path.write_text(yaml.safe_dump(experiment))
    done = myself().run("run", str(path), "--out", str(folder / "run"), timeout=240)
    return done, folder / "run"


@pytest.fixture(scope="module")
def observed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Path]:
    expect = [
        "acknowledged(producer=sender) == 200", "failed == 0", "lost == 0", "duplicated == 0", "delivered == 100 %",
        "received(consumer=forwarder) == 200", "received(consumer=reader) == 200", "acknowledged(topic=out) == 200",
    ]  # fmt: skip
    return run(tmp_path_factory.mktemp("observed"), {}, expect)


def test_programs_are_audited_and_judged_as_our_own_clients(observed: tuple[Any, Path]) -> None:
    done, _path = observed
    assert done.returncode == 0, done.stdout + done.stderr
    assert "verdict: pass" in done.stdout
    assert "400 sent, 400 acknowledged, 400 received" in done.stdout
    assert "not observed" not in done.stdout


def test_their_rows_are_marked_unpaced_and_carry_instance_and_group(observed: tuple[Any, Path]) -> None:
    _done, path = observed
    sent = read_table(path / "data", "sent").to_pylist()
    assert {(row["producer"], row["topic"], row["paced"]) for row in sent} == {
        ("sender", "in", False),
        ("forwarder", "out", False),
    }
    assert all(row["due_ns"] == row["sent_ns"] for row in sent)
    received = read_table(path / "data", "received").to_pylist()
    assert {(row["consumer"], row["group"], row["producer"]) for row in received} == {
        ("forwarder", "movers", "sender"),
        ("reader", "readers", "forwarder"),
    }


def test_the_report_says_from_send(observed: tuple[Any, Path]) -> None:
    _done, path = observed
    analysis = json.loads((path / "analysis.json").read_text())
    assert {row["kind"] for row in analysis["latency"]} == {"latency_sent", "ack_latency_sent"}
    assert all(row["histogram"]["min_ns"] > 2e6 for row in analysis["latency"] if row["kind"] == "latency_sent")
    assert "end to end, from send" in (path / "report.html").read_text()
    positions = {(row["topic"], row["group"]): row for row in analysis["positions"]}
    assert positions["in", "movers"]["position"] == positions["in", "movers"]["end"] == 200
    assert positions["out", "readers"]["observed"]


def test_groups_and_libraries_are_among_the_events(observed: tuple[Any, Path]) -> None:
    _done, path = observed
    events = list(read_events(path / "events.jsonl"))
    clients = {(e["component"], e["library"], e["role"]) for e in events if e["event"] == "observed"}
    assert clients == {
        ("sender", "confluent-kafka", "producer"),
        ("forwarder", "kafka-python", "consumer"),
        ("forwarder", "kafka-python", "producer"),
        ("reader", "aiokafka", "consumer"),
    }
    assigned = {(e["component"], e["group"]) for e in events if e["event"] == "assigned"}
    assert assigned == {("forwarder", "movers"), ("reader", "readers")}
    samples = read_table(path / "data", "samples").to_pylist()
    assert {row["object"] for row in samples if (row["source"], row["metric"]) == ("client", "lag")} == {
        "movers",
        "readers",
    }
    assert {row["object"] for row in samples if row["metric"].startswith("committed in/")} == {"forwarder"}


@pytest.mark.long
def test_without_header_messages_are_recognised_by_their_places(tmp_path: Path) -> None:
    done, path = run(
        tmp_path, {"sender": {"header": False}}, ["lost(topic=in) == 0", "delivered(topic=in) == 100 %"],
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    received = read_table(path / "data", "received").to_pylist()
    assert {row["producer"] for row in received if row["topic"] == "in"} == {None}


@pytest.mark.long
def test_what_remains_unobserved_is_named_with_what_would_change_it(tmp_path: Path) -> None:
    text = "import subprocess, sys\nsubprocess.run([sys.executable, '-I', 'hidden.py'], check=True)\n"
    # What is not observed sees the header that others sent.
    reader = READER.replace("assert record.headers == ()", "pass")
    done, path = run(
        tmp_path, {"reader": {"observe": False}}, ["lost == 0"], reader=reader, forwarder=text, hidden=FORWARDER
    )
    assert done.returncode == 3, done.stdout + done.stderr
    assert "reader is not observed: the experiment says observe: false" in done.stdout
    assert "forwarder is not observed: it used none of confluent-kafka, kafka-python or aiokafka" in done.stdout
    assert "reader is not observed" in (path / "report.html").read_text()
