"""Rows about delivery: what clients sent and received, the audit, positions, and the evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from stream2gym.jsonable import Jsonable


@dataclass(frozen=True)
class SentRow(Jsonable):
    """What became of the messages of one producer in one partition, whoever reads them."""

    topic: str
    partition: int  # -1: the producer was never told the partition
    producer: str
    sent: int = 0
    acknowledged: int = 0
    unconfirmed: int = 0
    failed: int = 0
    unanswered: int = 0
    bytes: int = 0
    acknowledged_bytes: int = 0
    # Of the acknowledged: what was acknowledged after the load had ended, which no rate counts.
    acknowledged_late: int = 0
    acknowledged_late_bytes: int = 0
    # Of the messages sent, those of the warm-up; and of the acknowledged ones, which no rate counts, either.
    warmup: int = 0
    acknowledged_warmup: int = 0
    acknowledged_warmup_bytes: int = 0

    def count_in_load(self, *, by_bytes: bool = False) -> float:
        """How many messages of the load, or bytes of them, were acknowledged before the load ended."""
        if by_bytes:
            return self.acknowledged_bytes - self.acknowledged_late_bytes - self.acknowledged_warmup_bytes
        return self.acknowledged - self.acknowledged_late - self.acknowledged_warmup


@dataclass(frozen=True)
class ClientRow(Jsonable):
    """A producer or a consumer of the experiment with one of its topics. Topic "": nobody knows which it uses.

    Engines and sinks are of kind ``engine``: they may read and write any topic, and nobody records their messages.
    """

    kind: Literal["producer", "consumer", "engine"]
    name: str
    topic: str = ""
    group: str = ""
    observed: bool = True  # whether it is a client of ours, which recorded what it did


@dataclass(frozen=True)
class AuditRow(Jsonable):
    """What became of the messages of one producer in one partition on their way to one group."""

    topic: str
    partition: int
    producer: str
    group: str
    # Acknowledged messages that the group received, lost, or had not yet received.
    expected: int = 0
    received: int = 0  # different messages
    lost: int = 0
    unconfirmed_lost: int = 0
    in_flight: int = 0
    # Sent with acks 0, not received, and not known to be lost.
    unconfirmed_in_flight: int = 0
    unacknowledged_received: int = 0
    copies: int = 0  # all receipts
    duplicated_in_log: int = 0
    redelivered: int = 0
    out_of_order: int = 0
    late: int = 0  # received, but more than a second after it was due
    unknown: int = 0  # messages whose fate nobody observed
    why_unknown: str = ""
    # Unanswered and not received: nobody knows whether Kafka has them.
    unanswered_in_flight: int = 0
    # Of the lost messages, those before the beginning of Kafka's log: retention or a deletion of records removed
    # them.
    expired: int = 0
    # Not received because a fault deleted their topic. They are not lost.
    deleted: int = 0
    # Not received because a later message of their key replaced them in a compacted topic. They are not lost.
    compacted: int = 0
    why_in_flight: str = ""

    @property
    def duplicated(self) -> int:
        return self.duplicated_in_log + self.redelivered


@dataclass(frozen=True)
class PositionRow(Jsonable):
    """How far a group came in a partition, beside Kafka's own offsets. None: nobody recorded it."""

    topic: str
    partition: int
    group: str
    # The first offset of Kafka's log and the offset after its last one, at the end of the run.
    start: int | None = None
    end: int | None = None
    first: int | None = None  # where the group began
    position: int | None = None  # the next offset it would have read
    receipts: int = 0
    offsets_read: int = 0  # different offsets
    gaps: int = 0
    foreign: int = 0  # receipts of messages that no recorded producer sent
    observed: bool = True
    # Messages beyond one for each offset: the log was cut off or the topic was made anew while the group read it, and
    # offsets of one log may hide gaps in the other. There may be more of them, never fewer.
    reused: int = 0
    # False: the group has a queue of its own, whose messages have no offsets.
    has_offsets: bool = True
    # What was left in that queue when its consumers had left.
    left: int | None = None


@dataclass(frozen=True)
class CutOffRow(Jsonable):
    """Acknowledged messages that went with a leader of their partition: the next leader never had them."""

    topic: str
    partition: int
    producer: str
    leader: str  # the broker that led the partition when they were acknowledged
    successor: str  # the broker that led it next
    led_from_s: float  # since when, as the cluster was seen
    messages: int
    first_offset: int
    last_offset: int
    # When the first and the last of them were acknowledged.
    first_s: float
    last_s: float


@dataclass(frozen=True)
class ReceivedRow(Jsonable):
    """What one consumer received from a partition."""

    topic: str
    partition: int
    group: str
    consumer: str
    messages: int
    bytes: int
    foreign: int = 0
    # When it received the first of them.
    first_s: float | None = None


@dataclass(frozen=True)
class FetchedRow(Jsonable):
    """What one engine fetched from a partition. ``offsets`` are the different ones among the messages."""

    topic: str
    partition: int
    group: str
    consumer: str
    messages: int
    offsets: int
    bytes: int


@dataclass(frozen=True)
class Evidence(Jsonable):
    """One message that proves a claim of the audit."""

    claim: str  # a delivery metric
    topic: str
    partition: int
    producer: str
    group: str
    text: str
    seq: int | None = None
    offset: int | None = None
