"""A broker and a client at full speed, for the benchmark of throughput: the same two programs in either network.

``python -m benchmarks.kafkaload serve ADDRESS FOLDER`` becomes a broker that listens there.
``python -m benchmarks.kafkaload move SERVER COUNT BYTES`` makes a topic, sends so many messages, reads them all, and
prints one JSON object with the seconds of each; it records nothing, so that the network is what is measured.
"""

from __future__ import annotations

import json
import os
import sys
import time
import uuid
from pathlib import Path

from benchmarks.bare import PORT, properties
from stream2gym.software.ensure_kafka import ensure_kafka
from stream2gym.software.kafka_config import properties_text
from stream2gym.software.kafka_storage import format_folder, new_id
from stream2gym.wait import wait_until

TIMEOUT_S = 120.0


def main() -> int:
    match sys.argv[1:]:
        case ["serve", address, folder]:
            serve(address, Path(folder))
        case ["move", server, count, size]:
            print(json.dumps(move(server, int(count), int(size))), flush=True)
    return 0


def serve(address: str, folder: Path) -> None:
    software = ensure_kafka()
    format_folder(software, folder / "data", cluster_id=new_id(), node_id=1)
    config = folder / "broker.properties"
    asked = properties(1, 1, folder, lambda _number: address) | {
        "log.segment.delete.delay.ms": "100",
        # Buffers as the system tunes them: with the 100 KB that brokers take by default, the round trip is the limit.
        "socket.send.buffer.bytes": "-1",
        "socket.receive.buffer.bytes": "-1",
    }
    config.write_text(properties_text(asked), "ascii")
    command = software.command(config)
    os.execv(command[0], command)


def move(server: str, count: int, size: int) -> dict[str, float]:
    from confluent_kafka import Consumer, Producer, TopicPartition
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewTopic

    address: dict[str, str | int | float | bool] = {"bootstrap.servers": f"{server}:{PORT}", "log_level": 0}
    admin, topic = AdminClient(address), f"t{uuid.uuid4().hex[:8]}"
    wait_until(lambda: _answers(admin), timeout_s=TIMEOUT_S, reason="the broker to answer")
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(TIMEOUT_S)
    producer = Producer({**address, "acks": 1, "queue.buffering.max.messages": 1_000_000})
    producer.list_topics(topic, TIMEOUT_S)
    value, began = os.urandom(size), time.monotonic()
    for _ in range(count):
        while True:
            try:
                producer.produce(topic, value)
                break
            except BufferError:
                producer.poll(0.01)
    left = producer.flush(TIMEOUT_S)
    produced = time.monotonic() - began
    consumer = Consumer({**address, "group.id": topic, "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, 0, 0)])
    began, read = time.monotonic(), 0
    while read < count - left:
        messages = consumer.consume(10_000, 1.0)
        if not messages and time.monotonic() > began + TIMEOUT_S:
            sys.exit(f"{read} of {count} messages came")
        read += len(messages)
    consumed = time.monotonic() - began
    consumer.close()
    admin.delete_topics([topic])[topic].result(TIMEOUT_S)
    return {"produce_s": produced, "consume_s": consumed, "unsent": left}


def _answers(admin: object) -> bool:
    from confluent_kafka import KafkaException

    try:
        return bool(admin.list_topics(timeout=2.0).brokers)  # type: ignore[attr-defined]
    except KafkaException:
        return False


if __name__ == "__main__":
    sys.exit(main())
