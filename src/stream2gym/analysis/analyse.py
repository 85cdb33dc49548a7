"""The whole analysis of a run folder, and where it is kept: ``analyse`` and ``load_analysis``.

Few Spark jobs in three rounds: one pass over each message table; then, knowing how far every group came, the
audit beside the latencies; then evidence for what was found. Everything sampled is read meanwhile.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from stream2gym.analysis import latency, scans
from stream2gym.analysis.delivery import audit, find_ways
from stream2gym.analysis.evidence import find_evidence
from stream2gym.analysis.export import write_tables
from stream2gym.analysis.fidelity import fidelity
from stream2gym.analysis.inputs import Inputs, read_inputs
from stream2gym.analysis.leadership import leadership
from stream2gym.analysis.links import link_tables
from stream2gym.analysis.phases import phase_rows
from stream2gym.analysis.positions import group_positions
from stream2gym.analysis.recovery import with_recovery
from stream2gym.analysis.resources import resource_tables
from stream2gym.analysis.samples import Tracks, read_tracks
from stream2gym.analysis.session import open_session
from stream2gym.analysis.sql import open_views, together
from stream2gym.analysis.tables import Analysis, AuditRow, PositionRow, SeriesPoint

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FILE = "analysis.json"
_SOURCES_WITH_TABLES = ("fabric", "process", "kafka")


def analyse(folder: Path, master: str | None = None, session: SparkSession | None = None) -> Analysis:
    """Analyse a sealed run folder, keep the result in it and return it; a given session is used and kept."""
    inputs = read_inputs(folder)
    clock = _Clock()
    rows = inputs.rows.get("sent", 0) + inputs.rows.get("received", 0)
    with open_session(master, rows=rows) if session is None else nullcontext(session) as spark:
        clock.lap("session")
        found = _analyse(spark, inputs, clock)
        if session is None:
            clock.lap("rest")
    found = replace(found, took_s=clock.laps)
    inputs.folder.write_json(FILE, found.to_json())
    write_tables(found, folder / "analysis")
    return found


def load_analysis(folder: Path) -> Analysis:
    """The analysis that was kept in a run folder."""
    return Analysis.from_json(json.loads((folder / FILE).read_text("utf-8")))


def _analyse(spark: SparkSession, inputs: Inputs, clock: _Clock) -> Analysis:
    open_views(spark, inputs)
    sent, received, distinct, tracks = together(
        inputs,
        lambda: scans.scan_sent(spark, inputs),
        lambda: scans.scan_received(spark, inputs),
        lambda: scans.scan_distinct(spark),
        lambda: read_tracks(inputs),
    )
    clock.lap("scans")
    places = {(row.topic, row.partition) for row in sent.rows}
    positions = group_positions(inputs, received, distinct, places)
    ways = find_ways(inputs, sent.rows, positions)
    copies = sum(reading.messages for reading in received.readings if reading.producer is not None)
    repeated = copies != sum(number.messages for number in distinct.values())
    delivery, end_to_end, sync, (traces, through) = together(
        inputs,
        lambda: audit(spark, ways, received, distinct),
        lambda: latency.end_to_end(spark, inputs, repeated),
        lambda: latency.synchronisation(spark, inputs),
        lambda: latency.through_engines(spark, inputs, sent.rows),
    )
    clock.lap("audit and latency")
    evidence = find_evidence(spark, inputs, delivery.offenders, delivery.audit, positions)
    clock.lap("evidence")
    unobserved = _unobserved(inputs, positions)
    links, link_series = link_tables(inputs, tracks)
    leaders, changes = leadership(inputs, tracks)
    resources, resource_series = resource_tables(inputs, tracks)
    found = Analysis(
        run=inputs.folder.path.name,
        load_s=inputs.load_s,
        step_s=inputs.step_s,
        sent=sent.rows,
        received=received.rows(),
        audit=(*latency.with_late(delivery.audit, end_to_end.late), *unobserved),
        positions=tuple(positions),
        evidence=evidence,
        latency=(*end_to_end.rows, *sent.latency, *sync, *through),
        latency_series=(*end_to_end.series, *sent.series),
        flow=(*sent.flow, *received.flow),
        traces=traces,
        links=links,
        link_series=link_series,
        leaders=leaders,
        changes=changes,
        resources=resources,
        resource_series=resource_series,
        gauges=_gauges(inputs, tracks),
        phases=phase_rows(inputs.events),
        fidelity=fidelity(inputs, tracks),
        notes=_notes(inputs, delivery.audit, positions),
    )
    return with_recovery(spark, inputs, found)


def _gauges(inputs: Inputs, tracks: Tracks) -> tuple[SeriesPoint, ...]:
    """What programs and other monitors reported, as it was reported while load and drain went on."""
    return tuple(
        SeriesPoint(f"{source} {obj}", metric, at_s, value)
        for (source, obj, metric), track in sorted(tracks.items())
        if source not in _SOURCES_WITH_TABLES and not metric.startswith(("position ", "first "))
        for at_s, value in zip(track.at_s, track.values, strict=True)
    )


def _unobserved(inputs: Inputs, positions: list[PositionRow]) -> tuple[AuditRow, ...]:
    """What programs of the user's wrote: as many messages as Kafka holds, of an unknown fate."""
    rows = []
    for topic, writers in sorted(inputs.foreign_writers.items()):
        held = sum((row.end or 0) - (row.start or 0) for row in _once(positions, topic))
        for sub in inputs.subscriptions():
            if sub.topic == topic:
                why = f"{', '.join(writers)} wrote to {topic} unobserved"
                rows.append(AuditRow(topic, -1, writers[0], sub.group, unknown=max(1, held), why_unknown=why))
    return tuple(rows)


def _notes(inputs: Inputs, rows: tuple[AuditRow, ...], positions: list[PositionRow]) -> tuple[str, ...]:
    """What nobody observed, with what Kafka's own offsets say about it."""
    notes = []
    for topic, writers in sorted(inputs.foreign_writers.items()):
        held = sum((row.end or 0) - (row.start or 0) for row in _once(positions, topic))
        notes.append(
            f"{', '.join(writers)} wrote to {topic} unobserved; Kafka's offsets say {held} messages stand there"
        )
    for topic, group in sorted({(row.topic, row.group) for row in rows if row.why_unknown}):
        why = next(row.why_unknown for row in rows if (row.topic, row.group) == (topic, group))
        notes.append(f"what group {group} received of {topic} is unknown: {why}")
    return tuple(notes)


def _once(positions: list[PositionRow], topic: str) -> Iterator[PositionRow]:
    seen: set[int] = set()
    for row in positions:
        if row.topic == topic and row.partition not in seen and row.end is not None:
            seen.add(row.partition)
            yield row


class _Clock:
    """Where the seconds go."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._since = time.monotonic()

    def lap(self, name: str) -> None:
        now = time.monotonic()
        self.laps[name] = round(now - self._since, 3)
        self._since = now
