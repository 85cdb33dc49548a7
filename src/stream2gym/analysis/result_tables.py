"""All tables that an analysis makes: plain rows for the judge, the report and people, stored as JSON.

The rows of each concept have a module of their own; all of them are imported from here. Times are seconds from the
start of load unless a name says otherwise. A series has one row per object and time step of ``step_s`` seconds.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from stream2gym.analysis.delivery_rows import (
    AuditRow,
    ClientRow,
    CutOffRow,
    Evidence,
    FetchedRow,
    PositionRow,
    ReceivedRow,
    SentRow,
)
from stream2gym.analysis.fault_rows import BacklogRow, DebtPoint, FaultRow, OutageRow, RecoveryRow
from stream2gym.analysis.fidelity_rows import Fidelity, SuspectSpan
from stream2gym.analysis.performance_rows import (
    FROM_SENT,
    FlowKind,
    FlowPoint,
    LatencyKind,
    LatencyPoint,
    LatencyRow,
    MissingRow,
    TraceRow,
)
from stream2gym.analysis.sampled_rows import (
    Change,
    JobRow,
    LeaderSpan,
    LinkRow,
    PhaseRow,
    ResourceRow,
    SampledRow,
    SeriesPoint,
)
from stream2gym.jsonable import Jsonable

__all__ = [
    "FROM_SENT",
    "Analysis",
    "AuditRow",
    "BacklogRow",
    "Change",
    "ClientRow",
    "CutOffRow",
    "DebtPoint",
    "Evidence",
    "FaultRow",
    "FetchedRow",
    "Fidelity",
    "FlowKind",
    "FlowPoint",
    "JobRow",
    "LatencyKind",
    "LatencyPoint",
    "LatencyRow",
    "LeaderSpan",
    "LinkRow",
    "MissingRow",
    "OutageRow",
    "PhaseRow",
    "PositionRow",
    "ReceivedRow",
    "RecoveryRow",
    "ResourceRow",
    "SampledRow",
    "SentRow",
    "SeriesPoint",
    "SuspectSpan",
    "TraceRow",
]


@dataclass(frozen=True)
class Analysis(Jsonable):
    """All tables of one run."""

    run: str
    load_s: float
    step_s: float
    began_s: float | None = None  # when the command of the run began
    clients: tuple[ClientRow, ...] = ()
    held: dict[str, int] = field(default_factory=dict)  # messages in each topic, by Kafka's own offsets at the end
    sent: tuple[SentRow, ...] = ()
    received: tuple[ReceivedRow, ...] = ()
    fetched: tuple[FetchedRow, ...] = ()
    audit: tuple[AuditRow, ...] = ()
    positions: tuple[PositionRow, ...] = ()
    cut_off: tuple[CutOffRow, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    latency: tuple[LatencyRow, ...] = ()
    missing: tuple[MissingRow, ...] = ()
    latency_series: tuple[LatencyPoint, ...] = ()
    flow: tuple[FlowPoint, ...] = ()
    offered: tuple[FlowPoint, ...] = ()  # what was due, of producers that send by a schedule
    traces: tuple[TraceRow, ...] = ()
    links: tuple[LinkRow, ...] = ()
    link_series: tuple[SeriesPoint, ...] = ()  # object: "LINK:direction", metrics bps, queue_bytes, drops
    brokers: dict[str, int] = field(default_factory=dict)  # Kafka's number of each broker, by name
    leaders: tuple[LeaderSpan, ...] = ()
    changes: tuple[Change, ...] = ()
    resources: tuple[ResourceRow, ...] = ()
    resource_series: tuple[SeriesPoint, ...] = ()  # object: component, metrics cpu, memory_bytes
    gauges: tuple[SeriesPoint, ...] = ()  # object: "SOURCE OBJECT", everything else that was sampled
    sampled: tuple[SampledRow, ...] = ()  # statistics of numbers of which there are too many to keep every value
    phases: tuple[PhaseRow, ...] = ()
    jobs: tuple[JobRow, ...] = ()
    faults: tuple[FaultRow, ...] = ()
    recovery: tuple[RecoveryRow, ...] = ()
    backlogs: tuple[BacklogRow, ...] = ()
    outages: tuple[OutageRow, ...] = ()
    debts: tuple[DebtPoint, ...] = ()  # in runs with faults
    fidelity: Fidelity = field(default_factory=lambda: Fidelity(None, "not measured"))
    notes: tuple[str, ...] = ()  # what nobody observed, and other caveats
    took_s: dict[str, float] = field(default_factory=dict)  # where the seconds of the analysis went
