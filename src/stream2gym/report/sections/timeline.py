"""What happened when: phases, faults, lives of components, and the events one by one."""

from __future__ import annotations

import json
from collections.abc import Sequence

from stream2gym.figures.model import Column, Lane, Span, Table, Timeline
from stream2gym.figures.numbers import MOMENT
from stream2gym.report.blocks import missing
from stream2gym.report.facts import Facts
from stream2gym.report.moments import Event
from stream2gym.report.page import Part, Section

_MOST_LANES = 24
_NOT_DETAILS = {"wall", "t_s", "event"}
_ALARMS = {"died", "ignored-stop", "run-failed", "fault-failed", "fault-skipped", "record-unreadable"}


def timeline(facts: Facts) -> Section:
    parts: list[Part] = []
    lanes = _lanes(facts)
    if lanes:
        left_out = len(facts.lives) - _MOST_LANES
        note = (
            f"{left_out} more components lived quietly; their events are in the table."
            if left_out > 0
            else ""
        )
        parts.append(Timeline("timeline", "Phases, faults and components", tuple(lanes), note=note))
    if facts.events:
        parts.append(_events(facts.events))
    if not parts:
        parts.append(missing("The run wrote down no events."))
    return Section("timeline", "Time line", tuple(parts))


def _lanes(facts: Facts) -> list[Lane]:
    lanes = [Lane("phases", facts.phases)] if facts.phases else []
    if facts.windows:
        spans = tuple(Span(band.start, band.end, band.label, "fault") for band in facts.windows)
        lanes.append(Lane("faults", spans))
    kept = sorted(facts.lives, key=lambda lane: not lane.marks)[:_MOST_LANES]
    return lanes + [lane for lane in facts.lives if lane in kept]


def _events(events: Sequence[Event]) -> Table:
    rows = tuple((float(event["t_s"]), str(event["event"]), _details(event)) for event in events)
    alarms = frozenset(index for index, event in enumerate(events) if event["event"] in _ALARMS)
    return Table(
        "events",
        "Events",
        (Column("at", MOMENT), Column("event"), Column("details")),
        rows,
        alarms=alarms,
        in_order=True,
    )


def _details(event: Event) -> str:
    """What else an event says; clock readings are left to the file, since ``at`` says when."""
    words = []
    for name, value in event.items():
        if name not in _NOT_DETAILS and not name.endswith("_ns") and value not in (None, "", [], {}):
            words.append(f"{name} {_text(value)}")
    return ", ".join(words)


def _text(value: object) -> str:
    if isinstance(value, list) and all(isinstance(item, str | int | float) for item in value):
        return " + ".join(map(str, value))
    return str(value) if isinstance(value, str | int | float) else json.dumps(value, default=str)
