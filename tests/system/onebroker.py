"""One real broker on loopback, for the system tests that need no network of their own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from stream2gym.software.ensure_kafka import ensure_kafka
from stream2gym.software.loopback_broker import loopback_broker


@dataclass
class Kafka:
    """A broker, and what Kafka itself says about topics."""

    bootstrap: str
    numbers: Iterator[int]

    def new_topic(self, partitions: int = 1, config: dict[str, str] | None = None) -> str:
        from confluent_kafka.admin import AdminClient
        from confluent_kafka.cimpl import NewTopic

        name = f"topic-{next(self.numbers)}"
        admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
        topic = NewTopic(name, num_partitions=partitions, replication_factor=1, config=config or {})
        admin.create_topics([topic])[name].result(30)
        return name

    def messages(self, topic: str, isolation: str = "read_uncommitted") -> list[Any]:
        """Everything in a topic, in the order of offsets within each partition."""
        from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

        settings = {
            "bootstrap.servers": self.bootstrap, "group.id": "looking", "enable.auto.commit": False,
            "enable.partition.eof": True, "isolation.level": isolation,
        }  # fmt: skip
        consumer = Consumer(settings)
        try:
            partitions = consumer.list_topics(topic, timeout=10).topics[topic].partitions
            consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in partitions])
            found, ended = [], 0
            while ended < len(partitions):
                batch = consumer.consume(10_000, timeout=0.5)
                for message in batch:
                    if message.error() is None:
                        found.append(message)
                    else:
                        ended += 1
            return found
        finally:
            consumer.close()


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kafka]:
    folder: Path = tmp_path_factory.mktemp("broker")
    with loopback_broker(ensure_kafka(), folder) as broker:
        yield Kafka(f"127.0.0.1:{broker.port}", count(1))
