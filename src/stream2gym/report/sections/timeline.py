"""The time line: phases, faults, lives of components, jobs by hand, and a table of all events."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from stream2gym.analysis.job_history import find_jobs
from stream2gym.analysis.result_tables import JobRow
from stream2gym.analysis.run_history import Event
from stream2gym.figures.figure import Column, Lane, Span, Table, Timeline
from stream2gym.figures.number_text import MOMENT
from stream2gym.report.blocks import missing
from stream2gym.report.facts import Facts
from stream2gym.report.page import Part, Section

_MOST_LANES = 24
_MOST_FAULT_ROWS = 5
_FETCHING = "software"
_NOT_DETAILS = {"wall", "t_s", "event"}
_BROKER_FIELDS = {"leader": ("leader", "before"), "isr": ("in_sync", "before"), "controller": ("node", "before")}
_ALARMS = {"died", "ignored-stop", "run-failed", "fault-failed", "fault-skipped", "record-unreadable"}


def make_timeline_section(facts: Facts) -> Section:
    parts: list[Part] = []
    lanes = _make_lanes(facts)
    if lanes:
        left_out = len(facts.component_lanes) - _MOST_LANES
        notes = [f"{left_out} more components are not drawn; their events are in the table."] if left_out > 0 else []
        if len(leave_out_fetching(facts.phase_spans)) < len(facts.phase_spans):
            notes.append("The time in which software was fetched is not drawn.")
        note = " ".join(notes)
        parts.append(Timeline("timeline", "Phases, faults and components", tuple(lanes), note=note))
    if jobs := find_jobs(facts.events):
        parts.append(_make_job_table(jobs))
    if facts.events:
        parts.append(_make_event_table(facts.events, facts.node_names))
    if not parts:
        parts.append(missing("The run wrote down no events."))
    return Section("timeline", "Time line", tuple(parts))


def _make_lanes(facts: Facts) -> list[Lane]:
    phases = leave_out_fetching(facts.phase_spans)
    lanes = [Lane("phases", phases)] if phases else []
    spans = [Span(band.start, band.end, band.label, "fault") for band in facts.fault_bands]
    for number, row in enumerate(split_overlaps(spans)):
        lanes.append(Lane("" if number else "faults", tuple(row)))
    kept = sorted(facts.component_lanes, key=lambda lane: not lane.marks)[:_MOST_LANES]
    return lanes + [lane for lane in facts.component_lanes if lane in kept]


def leave_out_fetching(phases: Sequence[Span]) -> tuple[Span, ...]:
    """The phases, without the one that fetches software if it took longer than all others together.

    A first run on a machine fetches for a minute or more, beside which nothing else could be seen.
    """
    fetching = [one for one in phases if one.label == _FETCHING]
    others = [one for one in phases if one.label != _FETCHING]
    is_long = sum(one.end - one.start for one in fetching) > sum(one.end - one.start for one in others)
    return tuple(others) if others and is_long else tuple(phases)


def split_overlaps(spans: Sequence[Span]) -> list[list[Span]]:
    """The spans in as few rows as possible, so that none covers another. What is beyond the last row goes into it."""
    rows: list[list[Span]] = []
    for span in sorted(spans, key=lambda one: (one.start, one.end)):
        free = next((row for row in rows if row[-1].end <= span.start), None)
        if free is not None:
            free.append(span)
        elif len(rows) < _MOST_FAULT_ROWS:
            rows.append([span])
        else:
            rows[-1].append(span)
    return rows


def _make_job_table(jobs: Sequence[JobRow]) -> Table:
    """What was done by hand to the jobs of the run."""
    columns = (Column("at", MOMENT), Column("job"), Column("was"), Column("on"), Column("to"))
    rows = tuple((job.at_s, job.component, job.did, job.host, job.to or None) for job in jobs)
    return Table("jobs", "Jobs by hand", columns, rows, in_order=True)


def _make_event_table(events: Sequence[Event], node_names: dict[int, str]) -> Table:
    told = [name_brokers(event, node_names) for event in events]
    rows = tuple((float(event["t_s"]), str(event["event"]), _describe_event(event)) for event in told)
    alarms = frozenset(index for index, event in enumerate(events) if event["event"] in _ALARMS)
    return Table(
        "events",
        "Events",
        (Column("at", MOMENT), Column("event"), Column("details")),
        rows,
        alarms=alarms,
        in_order=True,
    )


def name_brokers(event: Event, node_names: dict[int, str]) -> Event:
    """The event with the names of brokers where it has the numbers that Kafka knows them by."""
    fields = _BROKER_FIELDS.get(str(event["event"]), ())
    return {**event, **{field: _name_each(event[field], node_names) for field in fields if field in event}}


def _name_each(value: Any, node_names: dict[int, str]) -> Any:
    if isinstance(value, list):
        return [_name_each(one, node_names) for one in value]
    return node_names.get(value, value) if isinstance(value, int) else value


def _describe_event(event: Event) -> str:
    """The other fields of an event in words, without clock readings."""
    words = []
    for name, value in event.items():
        if name not in _NOT_DETAILS and not name.endswith("_ns") and value not in (None, "", [], {}):
            words.append(f"{name} {_describe_value(value)}")
    return ", ".join(words)


def _describe_value(value: object) -> str:
    if isinstance(value, list) and all(isinstance(item, str | int | float) for item in value):
        return " + ".join(map(str, value))
    return str(value) if isinstance(value, str | int | float) else json.dumps(value, default=str)
