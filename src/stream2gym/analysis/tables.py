"""What an analysis found: plain rows that judge, report and people read, in JSON and back.

Times are seconds from the start of load unless a name says otherwise. A series has one row per object and
time step of ``step_s`` seconds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from stream2gym.analysis.histogram import Histogram
from stream2gym.analysis.recoverytables import FaultRow, OutageRow, RecoveryRow
from stream2gym.jsonable import Jsonable


@dataclass(frozen=True)
class SentRow(Jsonable):
    """What a producer did with one partition, group or no group."""

    topic: str
    partition: int  # -1: Kafka never told
    producer: str
    sent: int = 0
    acknowledged: int = 0
    unconfirmed: int = 0
    failed: int = 0
    unanswered: int = 0
    bytes: int = 0
    acknowledged_bytes: int = 0


@dataclass(frozen=True)
class AuditRow(Jsonable):
    """What became of a producer's messages on the way to one group, partition by partition."""

    topic: str
    partition: int
    producer: str
    group: str
    expected: int = 0  # acknowledged, and the group was there
    received: int = 0  # different messages
    lost: int = 0
    unconfirmed_lost: int = 0
    in_flight: int = 0
    unacknowledged_received: int = 0
    copies: int = 0  # all receipts
    duplicated_in_log: int = 0
    redelivered: int = 0
    out_of_order: int = 0
    late: int = 0  # received, but more than a second after it was due
    unknown: int = 0  # messages whose fate nobody observed
    why_unknown: str = ""

    @property
    def duplicated(self) -> int:
        return self.duplicated_in_log + self.redelivered


@dataclass(frozen=True)
class PositionRow(Jsonable):
    """How far a group came in a partition, beside Kafka's own word; None where nobody recorded it."""

    topic: str
    partition: int
    group: str
    start: int | None = None  # Kafka's first and next offset at the end of the run
    end: int | None = None
    first: int | None = None  # where the group began
    position: int | None = None  # the next offset it would have read
    receipts: int = 0
    offsets_read: int = 0  # different ones
    gaps: int = 0
    foreign: int = 0  # receipts of messages that no recorded producer sent
    observed: bool = True


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


@dataclass(frozen=True)
class Evidence(Jsonable):
    """One message that a claim rests on."""

    claim: str  # a delivery metric
    topic: str
    partition: int
    producer: str
    group: str
    text: str
    seq: int | None = None
    offset: int | None = None


LatencyKind = Literal[
    "latency", "ack_latency", "ack_latency_sent", "send_delay", "sync_latency", "trace_latency"
]


@dataclass(frozen=True)
class LatencyRow(Jsonable):
    """One distribution; for ``trace_latency`` ``source`` is the topic that the trace comes from."""

    kind: LatencyKind
    topic: str
    partition: int = -1
    producer: str = ""
    group: str = ""
    consumer: str = ""
    source: str = ""
    histogram: Histogram = field(default_factory=Histogram)


@dataclass(frozen=True)
class LatencyPoint(Jsonable):
    """A latency distribution during one time step, by the due times of its messages."""

    kind: LatencyKind
    topic: str
    group: str
    at_s: float
    count: int
    p50_s: float
    p99_s: float
    max_s: float


FlowKind = Literal["sent", "acknowledged", "received"]


@dataclass(frozen=True)
class FlowPoint(Jsonable):
    """Messages of one time step: sent or acknowledged by a producer, or received by a consumer."""

    kind: FlowKind
    topic: str
    client: str
    group: str
    at_s: float
    messages: int
    bytes: int


@dataclass(frozen=True)
class TraceRow(Jsonable):
    """How many messages of one topic were recognised in another, behind an engine."""

    source: str
    target: str
    by: str
    sent: int
    recognised: int
    why_unknown: str = ""
    missing: int = 0  # sent, with no result behind the engine
    doubled: int = 0  # results beyond as many as were sent


@dataclass(frozen=True)
class LinkRow(Jsonable):
    """One direction of a link over the time of load."""

    link: str
    direction: str
    source: str
    source_port: int
    target: str
    target_port: int
    packets: int
    bytes: int
    mean_bps: float
    max_bps: float
    bandwidth_bps: float | None
    entered_packets: int
    dropped: dict[str, int] = field(default_factory=dict)
    queue_max_bytes: int = 0


@dataclass(frozen=True)
class SeriesPoint(Jsonable):
    """A sampled number at one time step."""

    object: str
    metric: str
    at_s: float
    value: float


@dataclass(frozen=True)
class LeaderSpan(Jsonable):
    """A time during which one broker led a partition; leader -1: nobody did."""

    topic: str
    partition: int
    leader: int
    from_s: float
    to_s: float


@dataclass(frozen=True)
class Change(Jsonable):
    """Something of the cluster that changed: a leader, an in-sync set, the controller, a group's members."""

    what: Literal["leader", "isr", "controller", "rebalance"]
    object: str
    at_s: float
    before: float
    after: float


@dataclass(frozen=True)
class ResourceRow(Jsonable):
    """What a component used while load was on."""

    component: str
    host: str
    cpu_mean: float  # share of the whole machine
    cpu_max: float
    memory_mean_bytes: float
    memory_max_bytes: float
    cpu_s: float  # from its start


@dataclass(frozen=True)
class PhaseRow(Jsonable):
    """A phase of the run's life."""

    name: str
    from_s: float
    to_s: float | None

    @property
    def seconds(self) -> float | None:
        return None if self.to_s is None else self.to_s - self.from_s


@dataclass(frozen=True)
class Fidelity(Jsonable):
    """Whether the emulation kept up; ``good`` is None when nobody measured it."""

    good: bool | None
    reason: str
    limit_s: float = 0.001
    seconds: int = 0
    bad_seconds: int = 0
    p99_s: float | None = None
    max_s: float | None = None
    histogram: Histogram = field(default_factory=Histogram)
    unasked_drops: dict[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Analysis(Jsonable):
    """Everything that the record says, ready to be judged and drawn."""

    run: str
    load_s: float
    step_s: float
    sent: tuple[SentRow, ...] = ()
    received: tuple[ReceivedRow, ...] = ()
    audit: tuple[AuditRow, ...] = ()
    positions: tuple[PositionRow, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    latency: tuple[LatencyRow, ...] = ()
    latency_series: tuple[LatencyPoint, ...] = ()
    flow: tuple[FlowPoint, ...] = ()
    traces: tuple[TraceRow, ...] = ()
    links: tuple[LinkRow, ...] = ()
    link_series: tuple[SeriesPoint, ...] = ()  # object: "LINK:direction", metrics bps, queue_bytes, drops
    leaders: tuple[LeaderSpan, ...] = ()
    changes: tuple[Change, ...] = ()
    resources: tuple[ResourceRow, ...] = ()
    resource_series: tuple[SeriesPoint, ...] = ()  # object: component, metrics cpu, memory_bytes
    gauges: tuple[SeriesPoint, ...] = ()  # object: "SOURCE OBJECT", everything else that was sampled
    phases: tuple[PhaseRow, ...] = ()
    faults: tuple[FaultRow, ...] = ()
    recovery: tuple[RecoveryRow, ...] = ()
    outages: tuple[OutageRow, ...] = ()
    fidelity: Fidelity = field(default_factory=lambda: Fidelity(None, "not measured"))
    notes: tuple[str, ...] = ()  # what nobody observed, and other caveats
    took_s: dict[str, float] = field(default_factory=dict)  # where the seconds of the analysis went
