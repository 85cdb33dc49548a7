"""What the AMQP clients share: places, errors and states in the forms in which Kafka's library gives them.

``AmqpProducer`` and ``AmqpConsumer`` take the places of ``Producer`` and ``Consumer`` of Kafka's library. They have
the few calls that our clients use, so that these work with both brokers. A topic is a fanout exchange. Queues
have one partition, 0, and a message has no offset but in a stream.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

# What stands for the offset of a message that has none: the offset after it is still below 0.
NO_OFFSET = -2
PREFETCH = "prefetch_count"
HEARTBEAT = "heartbeat"
# The header with the time of an event; AMQP's own property for it has whole seconds.
TIME_HEADER = "timestamp_in_ms"


class TopicPartition(NamedTuple):
    """A place to read from."""

    topic: str
    partition: int = 0
    offset: int = NO_OFFSET


@dataclass(frozen=True)
class AmqpError:
    """An error in the form in which Kafka's library gives it."""

    words: str
    label: str = "AMQP"
    is_fatal: bool = False

    def name(self) -> str:
        return self.label

    def str(self) -> str:
        return self.words

    def fatal(self) -> bool:
        return self.is_fatal

    def code(self) -> int:
        return 0


class KafkaException(Exception):
    """What our clients expect their library to raise; its first argument is an ``AmqpError``."""


class KafkaError:
    """The codes that our clients ask for. None of them comes from RabbitMQ."""

    _PARTITION_EOF = -191


@dataclass(frozen=True)
class PartitionState:
    leader: int


@dataclass(frozen=True)
class TopicState:
    partitions: dict[int, PartitionState]


@dataclass(frozen=True)
class ClusterState:
    """The topics that are there, as ``list_topics`` returns them."""

    topics: dict[str, TopicState]
