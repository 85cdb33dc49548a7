"""Rows about what faults cost; ``fault`` and ``instance`` name one occurrence. Times are seconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from stream2gym.jsonable import Jsonable


@dataclass(frozen=True)
class FaultRow(Jsonable):
    """One occurrence of a fault, and what happened in the cluster until the next fault or the end of load."""

    fault: str
    instance: int
    kind: str
    on: tuple[str, ...]
    from_s: float
    to_s: float | None  # None: never undone
    horizon_s: float  # up to when things are attributed to it
    planned_from_s: float | None = None
    leader_changes: int = 0
    isr_shrinks: int = 0
    controller_changes: int = 0
    rebalances: int = 0
    election_s: float | None = None
    query_failures: int = 0
    query_restarts: int = 0
    last: bool = False  # no other began before the load ended
    sound_s: float | None = (
        None  # up to when all was well: before the first of the faults that run into this one
    )

    @property
    def well_until_s(self) -> float:
        return self.from_s if self.sound_s is None else self.sound_s


@dataclass(frozen=True)
class RecoveryRow(Jsonable):
    """What a fault did to the deliveries of one topic (to acknowledgements where nobody of ours consumes)."""

    fault: str
    instance: int
    topic: str
    before_per_s: float
    lowest_per_s: float
    recovery_s: float | None  # to 95 % of before, for good; 0: never below; None: not within the horizon
    detection_s: float | None  # to the first sign; None: there was none
    backlog: int = 0  # acknowledged and not yet delivered, beyond what waited before
    drain_s: float | None = None  # from the end of the fault until that was worked off
    lost: int = 0
    failed: int = 0
    doubled: int = 0
    out_of_order: int = 0
    latency_before_s: float | None = None  # p99 of the worst time step
    latency_during_s: float | None = None
    latency_after_s: float | None = None


@dataclass(frozen=True)
class OutageRow(Jsonable):
    """How long one client saw nothing of a topic: no acknowledgements, or no deliveries."""

    fault: str
    instance: int
    side: Literal["acknowledged", "received"]
    topic: str
    client: str
    group: str
    longest_s: float
    total_s: float
