"""The peer of a run's start: the same brokers without us, plain processes on loopback.

``python -m benchmarks.bare BROKERS`` starts them with the configuration, the flags and the start-up cache that a run
uses, makes a topic, sends one message and reads it, without a group and in one: what anybody would do by hand, as
quickly as they could. It prints one JSON object: CLOCK_MONOTONIC nanoseconds of each step. Its data lie on memory,
as a run's do.
"""

from __future__ import annotations

import contextlib
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from stream2gym.software import child_process
from stream2gym.software.ensure_kafka import ensure_kafka
from stream2gym.software.kafka_config import broker_defaults, properties_text
from stream2gym.software.kafka_storage import format_folder, new_id
from stream2gym.wait import wait_until

TIMEOUT_S = 180.0
VOTERS = 3
PORT, CONTROLLER = 9092, 9093
MEMORY = Path("/dev/shm")


def main() -> int:
    brokers = int(sys.argv[1])
    steps = {"began": time.monotonic_ns()}
    with contextlib.ExitStack() as undo:
        place = undo.enter_context(tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None))
        start(undo, Path(place), brokers)
        steps["started"] = time.monotonic_ns()
        first_message(brokers, steps)
        print(json.dumps(steps), flush=True)
    return 0


def start(undo: contextlib.ExitStack, folder: Path, brokers: int) -> None:
    """All at once, each on a loopback address of its own."""
    software, cluster = ensure_kafka(), new_id()
    for number in range(1, brokers + 1):
        own = folder / str(number)
        format_folder(software, own / "data", cluster_id=cluster, node_id=number)
        (own / "broker.properties").write_text(properties_text(properties(number, brokers, own)), "ascii")
        process = child_process.start(software.command(own / "broker.properties"), own / "broker.log", own)
        undo.callback(child_process.end, process)


def address(number: int) -> str:
    return f"127.77.0.{number}"


def properties(number: int, brokers: int, folder: Path, at: Callable[[int], str] = address) -> dict[str, str]:
    votes = number <= min(VOTERS, brokers)
    listeners = [f"PLAINTEXT://{at(number)}:{PORT}"]
    listeners += [f"CONTROLLER://{at(number)}:{CONTROLLER}"] * votes
    voters = [f"{n}@{at(n)}:{CONTROLLER}" for n in range(1, min(VOTERS, brokers) + 1)]
    return broker_defaults(brokers) | {
        "process.roles": "broker,controller" if votes else "broker",
        "node.id": str(number),
        "controller.quorum.voters": ",".join(voters),
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "PLAINTEXT",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "listeners": ",".join(listeners),
        "advertised.listeners": ",".join(listeners),
        "log.dirs": str(folder / "data"),
    }


def first_message(brokers: int, steps: dict[str, int]) -> None:
    from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewTopic

    servers: dict[str, str | int | float | bool] = {
        "bootstrap.servers": ",".join(f"{address(n)}:{PORT}" for n in range(1, brokers + 1)),
        "log_level": 0,
        "reconnect.backoff.ms": 50,
        "reconnect.backoff.max.ms": 250,
    }
    admin = AdminClient(servers)

    def all_there() -> bool:
        with contextlib.suppress(KafkaException):
            return len(admin.list_topics(timeout=5.0).brokers) == brokers
        return False

    wait_until(all_there, timeout_s=TIMEOUT_S, reason="the brokers to form a cluster", every_s=0.05)
    steps["cluster"] = time.monotonic_ns()
    made = admin.create_topics([NewTopic("first", 1, min(VOTERS, brokers))])["first"]
    try:
        made.result(TIMEOUT_S)
    except KafkaException as error:
        if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:  # a first attempt whose answer came too late
            raise

    def led() -> bool:
        topic = admin.list_topics("first", timeout=5.0).topics["first"]
        return all(p.leader >= 0 and len(p.isrs) == min(VOTERS, brokers) for p in topic.partitions.values())

    wait_until(led, timeout_s=TIMEOUT_S, reason="the topic to have its leader", every_s=0.05)
    steps["topic"] = time.monotonic_ns()
    producer = Producer({**servers, "acks": "all"})
    consumer = Consumer({**servers, "group.id": "first", "auto.offset.reset": "earliest"})
    alone = Consumer({**servers, "group.id": "alone", "auto.offset.reset": "earliest"})
    producer.produce("first", b"message")
    consumer.subscribe(["first"])
    alone.assign([TopicPartition("first", 0, 0)])
    producer.flush(TIMEOUT_S)
    for step, reader in (("read", alone), ("message", consumer)):
        message = reader.poll(TIMEOUT_S)
        if message is None or message.error():
            sys.exit(f"no message came: {message and message.error()}")
        steps[step] = time.monotonic_ns()


if __name__ == "__main__":
    sys.exit(main())
