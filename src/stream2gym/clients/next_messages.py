"""Whether there is a message from an offset on, or the end of the partition; the latter where only markers follow."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from confluent_kafka import Consumer, KafkaError, TopicPartition


def find_next_messages(servers: str, places: Sequence[Sequence[Any]], timeout_s: float) -> dict[str, list[list[Any]]]:
    """The ``ends`` and the ``unread`` ones of these places (topic, partition, offset, isolation)."""
    deadline = time.monotonic() + timeout_s
    ends: list[list[Any]] = []
    unread: list[list[Any]] = []
    # One after the other, because a consumer reads a partition from one offset only.
    for topic, partition, offset, isolation in places:
        found = _find_next(servers, TopicPartition(topic, partition, offset), isolation, deadline)
        if found is None:
            continue
        is_end, at = found
        (ends if is_end else unread).append([topic, partition, offset, isolation, *([at] if is_end else [])])
    return {"ends": ends, "unread": unread}


def _find_next(
    servers: str, place: TopicPartition, isolation: str, deadline: float
) -> tuple[bool, int | None] | None:
    """What a reader comes to next: whether that is the end of the partition, and where. None: it cannot tell."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "client.id": "s2g-observer",
            "group.id": "s2g-observer",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": isolation,
            "auto.offset.reset": "error",
            "fetch.message.max.bytes": 16_384,
            "log_level": 2,
        }
    )
    try:
        consumer.assign([place])
        while time.monotonic() < deadline:
            message = consumer.poll(0.1)
            if message is None:
                continue
            error = message.error()
            is_end = error is not None and error.code() == KafkaError._PARTITION_EOF
            if error is None or is_end:
                return is_end, message.offset()
            if not error.retriable():
                return None
        return None
    finally:
        consumer.close()
