"""What the events say about when: phases, windows of faults, lives of components. Pure.

Read from ``events.jsonl``: ``phase`` (phase), ``fault-applied`` and ``fault-healed`` (fault, instance?, on?), and
``started``, ``finished``, ``stopped``, ``died`` (component, instance?).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stream2gym.figures.model import Band, Lane, Mark, Span

Event = Mapping[str, Any]

BEGINS, ENDS = "fault-applied", "fault-healed"
_LIFE_ENDS = {"finished": "good", "stopped": "phase", "died": "bad"}


def last_moment(events: Sequence[Event]) -> float:
    return max((float(event["t_s"]) for event in events), default=0.0)


def phases(events: Sequence[Event]) -> tuple[Span, ...]:
    """Each phase lasts until the next one, the last one to the last event."""
    begun = [
        (float(event["t_s"]), str(event.get("phase", "?"))) for event in events if event["event"] == "phase"
    ]
    ends = [at for at, _ in begun[1:]] + [last_moment(events)]
    return tuple(Span(at, end, name) for (at, name), end in zip(begun, ends, strict=False) if end > at)


def fault_windows(events: Sequence[Event]) -> tuple[Band, ...]:
    """From when a fault was in force to when it was undone, or to the end."""
    open_: dict[tuple[str, str], tuple[float, str]] = {}
    windows = []
    for event in events:
        key = (str(event.get("fault", "")), str(event.get("instance", "")))
        if event["event"] == BEGINS:
            open_[key] = (float(event["t_s"]), _fault_label(event))
        elif event["event"] == ENDS and key in open_:
            start, label = open_.pop(key)
            windows.append(Band(start, float(event["t_s"]), label))
    end = last_moment(events)
    windows += [Band(start, end, label) for start, label in open_.values()]
    return tuple(sorted(windows, key=lambda band: (band.start, band.end, band.label)))


def _fault_label(event: Event) -> str:
    hit = event.get("on", "")
    where = ", ".join(map(str, hit)) if isinstance(hit, list | tuple) else str(hit or "")
    return f"{event.get('fault', 'fault')}: {where}" if where else str(event.get("fault", "fault"))


def lives(events: Sequence[Event]) -> tuple[Lane, ...]:
    """One lane a component: when it ran, and how each of its lives ended."""
    spans: dict[str, list[Span]] = {}
    marks: dict[str, list[Mark]] = {}
    since: dict[tuple[str, str], float] = {}
    for event in events:
        if "component" not in event:
            continue
        name, kind, at = str(event["component"]), str(event["event"]), float(event["t_s"])
        key = (name, str(event.get("instance", "")))
        if kind == "started":
            since[key] = at
            spans.setdefault(name, [])
        elif kind in _LIFE_ENDS and key in since:
            spans[name].append(Span(since.pop(key), at, "up", "good"))
        if kind == "died":
            spans.setdefault(name, [])
            marks.setdefault(name, []).append(Mark(at, f"{name} died: {event.get('how', '')}", "bad"))
    for (name, _), start in since.items():
        spans[name].append(Span(start, last_moment(events), "up", "good"))
    return tuple(Lane(name, tuple(ran), tuple(marks.get(name, ()))) for name, ran in spans.items())


def unasked(event: Event) -> bool:
    """Whether a death is one that nobody expected and no restart policy provided for."""
    return event["event"] == "died" and not event.get("expected") and not event.get("restarts_left")


def deaths(events: Sequence[Event]) -> tuple[Mark, ...]:
    """Components that died, for figures over time."""
    return tuple(
        Mark(float(event["t_s"]), f"{event.get('component', 'a component')} died", "bad")
        for event in events
        if event["event"] == "died"
    )
