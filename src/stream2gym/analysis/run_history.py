"""What the events of a run say about its course: phases, windows of faults, unasked deaths. Pure.

This is the only derivation of them: analysis, judge and report all ask here. Read are the events ``phase`` (phase),
``fault-applied`` and ``fault-healed`` (fault, instance, do, on, at_end), ``run-failed``, and ``died`` (component,
expected, restarts_left). Times are seconds from the start of load (``t_s``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from stream2gym.analysis.result_tables import PhaseRow

Event = Mapping[str, Any]
# The phase of load before t0.
WARMUP = "warmup"


@dataclass(frozen=True)
class FaultWindow:
    """The time in which one occurrence of a fault was in force. ``fault`` and ``instance`` name the occurrence."""

    fault: str
    instance: int
    kind: str
    on: tuple[str, ...]
    from_s: float
    # When the fault was undone. None: it never was.
    undone_s: float | None
    # Whether the fault was undone only because the run stopped.
    is_undone_by_stop: bool
    applied: Event

    @property
    def to_s(self) -> float | None:
        """When the fault was undone while the run went on. None: it was not."""
        return None if self.is_undone_by_stop else self.undone_s


def find_fault_windows(events: Iterable[Event]) -> list[FaultWindow]:
    """The occurrences of faults that were in force, in the order of their beginnings."""
    applied: dict[tuple[str, int], Event] = {}
    healed: dict[tuple[str, int], Event] = {}
    for event in events:
        occurrence = (str(event.get("fault", "")), int(event.get("instance") or 1))
        if event["event"] == "fault-applied":
            applied[occurrence] = event
        elif event["event"] == "fault-healed" and occurrence in applied:
            healed[occurrence] = event
    windows = []
    for (fault, instance), event in applied.items():
        end = healed.get((fault, instance))
        windows.append(
            FaultWindow(
                fault=fault,
                instance=instance,
                kind=str(event.get("do", "")),
                on=_list_names(event.get("on")),
                from_s=time_of(event),
                undone_s=None if end is None else time_of(end),
                is_undone_by_stop=end is not None and bool(end.get("at_end")),
                applied=event,
            )
        )
    return sorted(windows, key=lambda window: window.from_s)


def _list_names(value: Any) -> tuple[str, ...]:
    if isinstance(value, list | tuple):
        return tuple(map(str, value))
    return (str(value),) if value else ()


def find_phases(events: Iterable[Event]) -> tuple[PhaseRow, ...]:
    """The phases of a run in order. Each ends when the next one begins; the last one has no end."""
    begun = sorted((time_of(event), str(event.get("phase", ""))) for event in events if event["event"] == "phase")
    ends: list[float | None] = [at_s for at_s, _ in begun[1:]]
    return tuple(PhaseRow(name, from_s, to_s) for (from_s, name), to_s in zip(begun, [*ends, None], strict=False))


def find_load_end_s(events: Iterable[Event], planned_s: float) -> float:
    """When the load ended: when the next phase began, or when the run failed; else as planned."""
    ends = [
        time_of(event)
        for event in events
        if event["event"] == "run-failed" or (event["event"] == "phase" and event.get("phase") != "load")
    ]
    return min((end_s for end_s in ends if end_s > 0), default=planned_s)


def find_stop_s(phases: Iterable[PhaseRow]) -> float | None:
    """When the run began to stop its components. None: it did not come to that."""
    return next((phase.from_s for phase in phases if phase.name == "stop"), None)


def find_drain_end_s(phases: Iterable[PhaseRow], load_s: float) -> float:
    """When the drain ended, that is, when the run began to stop its components; without that, when the load ended."""
    return max(load_s, find_stop_s(phases) or 0.0)


def find_warmup(phases: Iterable[PhaseRow]) -> PhaseRow | None:
    """The phase in which messages were sent before t0. None: there was none."""
    return next((phase for phase in phases if phase.name == WARMUP), None)


def is_in_warmup(phases: Iterable[PhaseRow], at_s: float) -> bool:
    """Whether a moment lies in the warm-up, so that no performance figure counts what was sampled then."""
    warmup = find_warmup(phases)
    return warmup is not None and warmup.from_s <= at_s < 0


def find_startup_s(phases: Iterable[PhaseRow]) -> float | None:
    """How long the phases before the load took together, without the warm-up.

    None: load never began, or nothing came before it.
    """
    known = [phase for phase in phases if phase.name != WARMUP]
    load = next((phase for phase in known if phase.name == "load"), None)
    before = [phase.seconds or 0.0 for phase in known if load is not None and phase.from_s < load.from_s]
    return sum(before) if before else None


def is_unasked_death(event: Event) -> bool:
    """Whether a component died and was not restarted. What a fault or the run ended is ``stopped`` instead."""
    return event["event"] == "died" and not event.get("restarts_left")


def time_of(event: Event) -> float:
    """When an event happened; 0 for an event without a time."""
    return float(event.get("t_s", 0.0))
