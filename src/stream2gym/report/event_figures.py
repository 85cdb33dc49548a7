"""Events as parts of figures over time: phases, windows of faults, lives and deaths of components. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from stream2gym.analysis.job_history import MOVED, find_job
from stream2gym.analysis.result_tables import PhaseRow
from stream2gym.analysis.run_history import Event, find_fault_windows, time_of
from stream2gym.figures.figure import Band, Lane, Mark, Span

_LIFE_ENDS = ("finished", "stopped", "died")


def find_last_event_s(events: Sequence[Event]) -> float:
    """When the last event happened. What has no end of its own is drawn until then."""
    return max(map(time_of, events), default=0.0)


def make_phase_spans(phases: Iterable[PhaseRow], events: Sequence[Event]) -> tuple[Span, ...]:
    """Each phase as a box. Phases that took no time are left out."""
    last_s = find_last_event_s(events)
    ends = [(phase, last_s if phase.to_s is None else phase.to_s) for phase in phases]
    return tuple(Span(phase.from_s, to_s, phase.name) for phase, to_s in ends if to_s > phase.from_s)


def make_fault_bands(events: Sequence[Event]) -> tuple[Band, ...]:
    """The time in which each fault was in force, as a shaded band with its name and what it hit."""
    last_s = find_last_event_s(events)
    bands = []
    for window in find_fault_windows(events):
        name = window.fault or "fault"
        label = f"{name}: {', '.join(window.on)}" if window.on else name
        bands.append(Band(window.from_s, last_s if window.undone_s is None else window.undone_s, label))
    return tuple(sorted(bands, key=lambda band: (band.start, band.end, band.label)))


def make_component_lanes(events: Sequence[Event]) -> tuple[Lane, ...]:
    """One lane for each component: when it ran, with marks for deaths and for what was done by hand."""
    spans: dict[str, list[Span]] = {}
    marks: dict[str, list[Mark]] = {}
    since: dict[tuple[str, str], float] = {}
    for event in events:
        if "component" not in event:
            continue
        name, kind, at_s = str(event["component"]), str(event["event"]), time_of(event)
        key = (name, str(event.get("instance", "")))
        if kind == "started":
            since[key] = at_s
            spans.setdefault(name, [])
        elif kind in _LIFE_ENDS and key in since:
            spans[name].append(Span(since.pop(key), at_s, "up", "good"))
        if kind == "died":
            spans.setdefault(name, [])
            marks.setdefault(name, []).append(Mark(at_s, f"{name} died: {event.get('how', '')}", "bad"))
        elif (job := find_job(event)) is not None:
            where = f" from {job.host} to {job.to}" if job.did == MOVED else ""
            marks.setdefault(name, []).append(Mark(at_s, f"{name} was {job.did}{where} by hand"))
    for (name, _), start_s in since.items():
        spans[name].append(Span(start_s, find_last_event_s(events), "up", "good"))
    return tuple(Lane(name, tuple(ran), tuple(marks.get(name, ()))) for name, ran in spans.items())


def make_death_marks(events: Sequence[Event]) -> tuple[Mark, ...]:
    """Every death of a component as a mark, asked for or not."""
    return tuple(
        Mark(time_of(event), f"{event.get('component', 'a component')} died", "bad")
        for event in events
        if event["event"] == "died"
    )
