"""Rows made from samples and events: links, leaders, changes of the cluster, resources, phases, other numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from stream2gym.jsonable import Jsonable


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
    # By the end of the drain; None in records of an earlier version.
    all_bytes: int | None = None


@dataclass(frozen=True)
class SeriesPoint(Jsonable):
    """A sampled number at one time step."""

    object: str
    metric: str
    at_s: float
    value: float


@dataclass(frozen=True)
class SampledRow(Jsonable):
    """The statistics of all samples of one number, by their names in expectations."""

    source: str
    object: str
    metric: str
    count: int
    stats: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class LeaderSpan(Jsonable):
    """A time in which one broker led a partition. Leader -1: nobody did."""

    topic: str
    partition: int
    leader: int
    from_s: float
    to_s: float


@dataclass(frozen=True)
class Change(Jsonable):
    """A change of the cluster: of a leader, of an in-sync set, of the controller, or of the members of a group."""

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
class JobRow(Jsonable):
    """Something that was done by hand to a job of the run: it was submitted, moved or stopped."""

    component: str
    did: str  # submitted, moved, stopped
    at_s: float
    # Where it was then; of one that was submitted, where it began.
    host: str
    # Where it was moved to.
    to: str = ""
