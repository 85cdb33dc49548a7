"""The last messages of topics, as Kafka holds them, for people who look at a run."""

from __future__ import annotations

import time
from typing import Any

from confluent_kafka import Consumer, KafkaError, TopicPartition

from stream2gym.record.latest_values import show_value

ASK_S = 1.0
POLL_S = 0.1


def read_latest_messages(bootstrap: str, topics: list[str], most: int, within_s: float) -> dict[str, list[list[Any]]]:
    """The last messages of each topic, at most so many: partition, offset, time in milliseconds, key and value.

    They are in the order of their times. What does not answer in time is missing. It reads in no group, so that
    nobody's positions change.
    """
    deadline = time.monotonic() + within_s
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap, "client.id": "s2g-observer", "group.id": "s2g-observer",
            "enable.auto.commit": False, "enable.auto.offset.store": False, "enable.partition.eof": True,
            "auto.offset.reset": "earliest", "isolation.level": "read_committed", "log_level": 2,
        }
    )  # fmt: skip
    try:
        places = _find_places(consumer, topics, most, deadline)
        consumer.assign(places)
        return _read(consumer, {(place.topic, place.partition) for place in places}, most, deadline)
    finally:
        consumer.close()


def _find_places(consumer: Consumer, topics: list[str], most: int, deadline: float) -> list[TopicPartition]:
    """Where to begin in each partition. Marks of transactions have offsets, too, hence twice as many."""
    known = consumer.list_topics(timeout=min(ASK_S, max(0.1, deadline - time.monotonic()))).topics
    places = []
    for name in topics:
        for number, partition in sorted(known[name].partitions.items() if name in known else ()):
            left_s = deadline - time.monotonic()
            if partition.leader < 0 or left_s <= 0:
                continue
            start, end = consumer.get_watermark_offsets(TopicPartition(name, number), timeout=min(ASK_S, left_s))
            if end > start:
                places.append(TopicPartition(name, number, max(start, end - 2 * most)))
    return places


def _read(
    consumer: Consumer, waiting: set[tuple[str, int]], most: int, deadline: float
) -> dict[str, list[list[Any]]]:
    found: dict[str, list[list[Any]]] = {}
    while waiting and time.monotonic() < deadline:
        message: Any = consumer.poll(POLL_S)
        if message is None:
            continue
        error = message.error()
        if error is not None:
            if error.code() == KafkaError._PARTITION_EOF:
                waiting.discard((message.topic(), message.partition()))
            continue
        key, value = message.key(), message.value()
        found.setdefault(message.topic(), []).append(
            [
                message.partition(), message.offset(), message.timestamp()[1],
                None if key is None else show_value(key), show_value(value or b""),
            ]
        )  # fmt: skip
    return {topic: sorted(rows, key=lambda row: (row[2], row[1]))[-most:] for topic, rows in found.items()}
