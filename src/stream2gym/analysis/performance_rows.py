"""Rows about how fast: latencies, messages over time, and traces through engines."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from stream2gym.analysis.histogram import Histogram
from stream2gym.jsonable import Jsonable

# Those ending in ``_sent`` run from when a message was sent, the others from when it was due. They are never mixed.
LatencyKind = Literal[
    "latency", "ack_latency", "ack_latency_sent", "send_delay", "sync_latency", "trace_latency",
    "latency_sent", "sync_latency_sent", "trace_latency_sent",
]  # fmt: skip
FROM_SENT: dict[LatencyKind, LatencyKind] = {
    "latency": "latency_sent", "sync_latency": "sync_latency_sent", "trace_latency": "trace_latency_sent",
}  # fmt: skip


@dataclass(frozen=True)
class LatencyRow(Jsonable):
    """One distribution of latencies. For ``trace_latency``, ``source`` is the topic that the trace comes from."""

    kind: LatencyKind
    topic: str
    partition: int = -1
    producer: str = ""
    group: str = ""
    consumer: str = ""
    source: str = ""
    histogram: Histogram = field(default_factory=Histogram)
    # The messages that met no severely suspect time. None: none of them met any, so that this is the same histogram.
    clear: Histogram | None = None
    # The latency of the links of the path: no message can take less.
    floor_s: float = 0.0
    # Behind an engine, messages of one key may be taken for each other: the latencies that they had at least, where
    # the histogram holds those that they had at most. None: there is no such doubt.
    earliest: Histogram | None = None

    @property
    def least(self) -> Histogram:
        """The latencies that the messages had at least."""
        return self.histogram if self.earliest is None else self.earliest


@dataclass(frozen=True)
class MissingRow(Jsonable):
    """Messages that a latency lacks because they never arrived.

    The histogram holds the time that each took at least, from when it was due to the end of the drain. ``doubtful``
    counts further messages of which nobody knows whether the group was to receive them.
    """

    kind: LatencyKind
    topic: str
    partition: int = -1
    producer: str = ""
    group: str = ""
    source: str = ""
    histogram: Histogram = field(default_factory=Histogram)
    doubtful: int = 0


@dataclass(frozen=True)
class LatencyPoint(Jsonable):
    """The latencies of the messages that were due in one time step."""

    kind: LatencyKind
    topic: str
    group: str
    at_s: float
    count: int
    p50_s: float
    p99_s: float
    max_s: float


FlowKind = Literal["due", "sent", "acknowledged", "received"]


@dataclass(frozen=True)
class FlowPoint(Jsonable):
    """The messages of one time step that were due, sent, acknowledged or received, of one client."""

    kind: FlowKind
    topic: str
    client: str
    group: str
    at_s: float
    messages: int
    bytes: int


@dataclass(frozen=True)
class TraceRow(Jsonable):
    """How many messages of one topic have a result in another one, behind an engine."""

    source: str
    target: str
    by: str
    sent: int
    recognised: int
    why_unknown: str = ""
    missing: int = 0  # acknowledged or unconfirmed messages that are known to have no result
    doubled: int = 0  # results that are known to be beyond one for each message
    # Messages of the target that no recording group had read when the drain ended. Infinite: its end is not known.
    unread: float = 0.0
    # Messages of the source without the key by which the trace recognises messages.
    untraceable: int = 0
    # What may be missing or duplicated besides, because messages that nobody acknowledged, or that nobody recorded,
    # may have the results of others. ``why_more`` says which.
    missing_more: int = 0
    doubled_more: int = 0
    why_more: str = ""
    # Of the missing ones, those sent with acks 0: nobody knows whether Kafka ever had them.
    unconfirmed_missing: int = 0
    # Messages of any status for which the latencies have no result.
    unpaired: int = 0
