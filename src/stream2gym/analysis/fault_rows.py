"""Rows about what faults cost.

``fault`` and ``instance`` name one occurrence of a fault. A figure of None does not exist. A figure whose
``..._open`` is true is a lower bound: what it measures was not over when the time ended that the fault answers for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from stream2gym.jsonable import Jsonable


@dataclass(frozen=True)
class FaultRow(Jsonable):
    """One occurrence of a fault, and what happened in the cluster until the next fault began or the drain ended."""

    fault: str
    instance: int
    kind: str
    on: tuple[str, ...]
    from_s: float
    # None: never undone while the run went on.
    to_s: float | None
    # Until when what happens is attributed to this fault.
    horizon_s: float
    planned_from_s: float | None = None
    leader_changes: int = 0
    isr_shrinks: int = 0
    controller_changes: int = 0
    rebalances: int = 0
    # From the beginning of the fault until the last partition concerned had a new leader. None: none was elected.
    election_s: float | None = None
    # A partition had no leader when the time of the fault was over: it took longer than ``election_s``.
    election_open: bool = False
    query_failures: int = 0
    query_restarts: int = 0
    # No other fault began after this one.
    last: bool = False
    # End of the undisturbed time before this fault, that is, before the first of the faults that overlap it.
    sound_s: float | None = None

    @property
    def undisturbed_until_s(self) -> float:
        return self.from_s if self.sound_s is None else self.sound_s


@dataclass(frozen=True)
class RecoveryRow(Jsonable):
    """What a fault did to one topic: the worst of its acknowledgements and of its deliveries to every group."""

    fault: str
    instance: int
    topic: str
    before_per_s: float | None = None
    lowest_per_s: float | None = None
    # From the beginning of the fault. 0: the debt never exceeded the usual one.
    recovery_s: float | None = None
    recovery_open: bool = False
    # Why there is no figure although messages were offered.
    why_unknown: str = ""
    # From the beginning of the fault to its first sign. None: there was none.
    detection_s: float | None = None
    # The most messages that were acknowledged and not yet delivered at one moment. 0: no more than usual.
    backlog: int | None = None
    # From the end of the fault (its beginning, if it was never undone) until the backlog was worked off.
    drain_s: float | None = None
    drain_open: bool = False
    lost: int = 0
    failed: int = 0
    doubled: int = 0
    out_of_order: int = 0
    # The 99th percentile of messages delivered in the undisturbed time, and of messages due during and after the
    # fault.
    latency_before_s: float | None = None
    latency_during_s: float | None = None
    latency_during_open: bool = False
    latency_after_s: float | None = None
    latency_after_open: bool = False


@dataclass(frozen=True)
class BacklogRow(Jsonable):
    """The backlog of one group because of a fault. The fields are explained in ``RecoveryRow``."""

    fault: str
    instance: int
    topic: str
    group: str
    backlog: int
    drain_s: float | None
    drain_open: bool = False


@dataclass(frozen=True)
class OutageRow(Jsonable):
    """How long one client saw no acknowledgements or no deliveries of a topic."""

    fault: str
    instance: int
    side: Literal["acknowledged", "received"]
    topic: str
    client: str
    group: str
    longest_s: float
    total_s: float
    longest_open: bool = False
    total_open: bool = False


@dataclass(frozen=True)
class DebtPoint(Jsonable):
    """The largest debt at one moment of a short time that ended at ``at_s``.

    ``group`` is empty for acknowledgements. For results of an engine it is the topic that the trace comes from.
    """

    side: Literal["acknowledged", "received", "result"]
    topic: str
    group: str
    at_s: float
    messages: int
