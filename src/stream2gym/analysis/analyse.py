"""The whole analysis of a run folder: ``analyse`` makes and stores it, ``load_analysis`` reads it.

There are few Spark jobs, in three rounds. The first passes once over each message table, and samples are read
meanwhile. The second, which needs to know how far every group came, is the audit and the latencies. The third looks
for messages that never arrived and for evidence.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from stream2gym.analysis import latency, table_scans
from stream2gym.analysis.csv_tables import write_tables
from stream2gym.analysis.cut_off import find_cut_off
from stream2gym.analysis.delivery_audit import Way, audit, find_ways
from stream2gym.analysis.engine_fetches import count_fetched, describe_fetched
from stream2gym.analysis.evidence import find_evidence
from stream2gym.analysis.experiment_clients import find_clients
from stream2gym.analysis.fidelity import assess_fidelity
from stream2gym.analysis.inputs import Inputs, read_inputs
from stream2gym.analysis.job_history import find_jobs
from stream2gym.analysis.latency_floors import LatencyFloors
from stream2gym.analysis.positions import (
    find_cuts,
    find_group_progress,
    find_renewed_topics,
    make_position_rows,
    read_kafka_offsets,
    read_recorded_positions,
)
from stream2gym.analysis.program_observation import describe_blind_spots
from stream2gym.analysis.recovery import add_recovery
from stream2gym.analysis.result_tables import Analysis, AuditRow, ClientRow, FetchedRow, PositionRow, SentRow
from stream2gym.analysis.sample_statistics import make_sampled_table
from stream2gym.analysis.sampled_tables import (
    make_gauges,
    make_leadership_tables,
    make_link_tables,
    make_resource_tables,
)
from stream2gym.analysis.session import open_session
from stream2gym.analysis.sql import ask_at_once, open_views
from stream2gym.analysis.time_series import read_tracks
from stream2gym.analysis.undelivered import find_missing
from stream2gym.components.cluster import plan_nodes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FILE = "analysis.json"


def analyse(folder: Path, master: str | None = None, session: SparkSession | None = None) -> Analysis:
    """Analyse a sealed run folder, store the result in it and return it. A session that is given stays open."""
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
    """The analysis that is stored in a run folder."""
    return Analysis.from_json(json.loads((folder / FILE).read_text("utf-8")))


@dataclass(frozen=True)
class ScannedMessages:
    """What one pass over each message table tells, and the ways between producers and groups that follow from it."""

    sent: table_scans.SentScan
    received: table_scans.ReceivedScan
    distinct: table_scans.Distinct
    positions: list[PositionRow]
    ways: list[Way]

    @property
    def has_repeated_receipts(self) -> bool:
        """Whether a group received a message more than once."""
        copies = sum(reading.messages for reading in self.received.readings if reading.producer is not None)
        return copies != sum(self.distinct.messages.values())


def scan_messages(spark: SparkSession, inputs: Inputs) -> ScannedMessages:
    """Find out what must be known before messages can be audited."""
    open_views(spark, inputs)
    sent, received, distinct, last = ask_at_once(
        inputs,
        lambda: table_scans.scan_sent(spark, inputs),
        lambda: table_scans.scan_received(spark, inputs),
        lambda: table_scans.scan_distinct(spark),
        lambda: table_scans.scan_last(spark, find_renewed_topics(inputs)),
    )
    recorded = read_recorded_positions(inputs)
    progresses = find_group_progress(inputs, recorded, last, {(row.topic, row.partition) for row in sent.rows})
    cut_ns = find_cuts(spark, inputs, recorded, sent.highest)
    ways = find_ways(inputs, sent.rows, received, progresses, cut_ns)
    return ScannedMessages(sent, received, distinct, make_position_rows(inputs, progresses, received, distinct), ways)


def _analyse(spark: SparkSession, inputs: Inputs, clock: _Clock) -> Analysis:
    scanned, tracks = ask_at_once(inputs, lambda: scan_messages(spark, inputs), lambda: read_tracks(inputs))
    sent, received, positions = scanned.sent, scanned.received, scanned.positions
    clock.lap("scans")
    kept_up = assess_fidelity(inputs, tracks, sent.delays, table_scans.make_backlog_curves(inputs, sent, received))
    spans = kept_up.suspect or ()
    delivery, end_to_end, sync, (traces, through), waits = ask_at_once(
        inputs,
        lambda: audit(spark, scanned.ways, received, scanned.distinct),
        lambda: latency.measure_end_to_end(spark, inputs, scanned.has_repeated_receipts, spans),
        lambda: latency.measure_synchronisation(spark, inputs, spans),
        lambda: latency.measure_through_engines(spark, inputs, sent.rows, positions, spans),
        lambda: table_scans.scan_producer_delays(spark, inputs, spans, LatencyFloors(inputs).acknowledgement_s),
    )
    clock.lap("audit and latency")
    missing = find_missing(spark, inputs, sent.rows, delivery, traces)
    evidence = find_evidence(spark, inputs, delivery.evidence_places, delivery.audit, positions)
    leaders, changes = make_leadership_tables(inputs, tracks)
    cut_off = find_cut_off(spark, inputs, leaders)
    clock.lap("evidence")
    held = _count_held(inputs)
    fetched = count_fetched(inputs)
    audited = {row.topic for row in delivery.audit}
    links, link_series = make_link_tables(inputs, tracks)
    resources, resource_series = make_resource_tables(inputs, tracks)
    found = Analysis(
        run=inputs.folder.path.name,
        load_s=inputs.load_s,
        step_s=inputs.step_s,
        began_s=inputs.began_s,
        clients=_find_clients(inputs, sent.rows),
        held=held,
        sent=sent.rows,
        received=received.rows(),
        fetched=fetched,
        audit=(*latency.add_late(delivery.audit, end_to_end.late), *_make_unobserved_rows(inputs, sent.rows, held)),
        positions=tuple(positions),
        cut_off=cut_off.rows,
        # Where a group was observed, the audit has evidence of what it did not receive.
        evidence=(*evidence, *(item for item in cut_off.evidence if item.topic not in audited)),
        latency=(*end_to_end.rows, *waits, *sync, *through),
        missing=missing,
        latency_series=(*end_to_end.series, *sent.series),
        flow=(*sent.flow, *received.flow),
        offered=sent.offered,
        traces=traces,
        links=links,
        link_series=link_series,
        brokers={node.name: node.id for node in plan_nodes(inputs.experiment, inputs.plan) if node.is_broker},
        leaders=leaders,
        changes=changes,
        resources=resources,
        resource_series=resource_series,
        gauges=make_gauges(inputs, tracks),
        sampled=make_sampled_table(tracks, inputs.phases),
        phases=inputs.phases,
        jobs=find_jobs(inputs.events),
        fidelity=kept_up,
        notes=_make_notes(inputs, sent.rows, fetched, delivery.audit, held),
    )
    unread = [loss for loss in cut_off.losses if loss.topic not in audited]
    return add_recovery(spark, inputs, found, delivery.ways, unread)


def _count_held(inputs: Inputs) -> dict[str, int]:
    """How many messages stood in each topic at the end, by Kafka's own offsets. No entry: Kafka did not tell."""
    held: dict[str, int] = {}
    for (topic, _), (start, end) in sorted(read_kafka_offsets(inputs).items()):
        held[topic] = held.get(topic, 0) + end - start
    return held


def _find_clients(inputs: Inputs, sent: Iterable[SentRow]) -> tuple[ClientRow, ...]:
    """The clients of the experiment; of observed programs with the topics and groups that they used."""
    rows = find_clients(inputs.experiment, inputs.plan, inputs.observed_programs)
    used = [
        ClientRow("producer", row.producer, row.topic) for row in sent if row.producer in inputs.observed_programs
    ]
    used += [
        ClientRow("consumer", name, sub.topic, sub.group)
        for sub in inputs.subscriptions()
        for name in sub.consumers
        if name in inputs.observed_programs
    ]
    active = {(row.kind, row.name) for row in used}
    kept = [row for row in rows if row.name not in inputs.observed_programs or (row.kind, row.name) not in active]
    return tuple(dict.fromkeys((*kept, *used)))


def _make_unobserved_rows(inputs: Inputs, sent: Iterable[SentRow], held: dict[str, int]) -> tuple[AuditRow, ...]:
    """Audit rows of what programs of the user wrote: as many messages as Kafka holds, whose fate is unknown."""
    rows = []
    unobserved = dict(inputs.foreign_writers)
    # Of an engine only a part of its messages may be on record, which tells the topics that it writes to.
    torn = {name for name in inputs.engines_on_wire if name not in inputs.observed_programs}
    for topic, name in sorted({(row.topic, row.producer) for row in sent if row.producer in torn}):
        unobserved[topic] = (*unobserved.get(topic, ()), name)
    for topic, writers in sorted(unobserved.items()):
        for sub in inputs.subscriptions():
            if sub.topic == topic:
                why = f"{', '.join(writers)} wrote to {topic} unobserved"
                unknown = max(1, held.get(topic, 0))
                rows.append(AuditRow(topic, -1, writers[0], sub.group, unknown=unknown, why_unknown=why))
    return tuple(rows)


def _make_notes(
    inputs: Inputs,
    sent: Iterable[SentRow],
    fetched: Iterable[FetchedRow],
    rows: tuple[AuditRow, ...],
    held: dict[str, int],
) -> tuple[str, ...]:
    """Sentences about what nobody observed, with what Kafka's own offsets say and what would make it observed."""
    notes = list(describe_blind_spots(inputs.blind_spots))
    for topic, writers in sorted(inputs.foreign_writers.items()):
        said = (
            f"Kafka's offsets say {held[topic]} messages stand there"
            if topic in held
            else "Kafka's offsets of it are not known"
        )
        notes.append(f"{', '.join(writers)} wrote to {topic} unobserved; {said}")
    anywhere = [
        str(part.name)
        for part in inputs.experiment.producers
        if not inputs.is_observed(part) and not part.topic_names()
    ]
    if anywhere:
        said = ", ".join(f"{number} in {topic}" for topic, number in held.items()) or "of no topic known"
        notes.append(f"{', '.join(anywhere)} may write to any topic, unobserved; Kafka's offsets: {said}")
    followed = sorted({(row.topic, row.producer) for row in sent} & inputs.forwarding_writers)
    for topic, producer in followed:
        notes.append(
            f"what became of the messages that {producer} sent to {topic} is told by the trace, not by the audit: "
            "they are recognised by the header that they forward"
        )
    on_wire = [str(part.name) for part in inputs.programs if part.observe == "wire" and inputs.is_observed(part)]
    if on_wire:
        what = (
            "a message counts as sent when it left the host, and as received when it was fetched, handed over or not"
        )
        notes.append(f"{', '.join(on_wire)}: observed from packets; {what}")
    notes += describe_fetched(fetched, held)
    for topic, group in sorted({(row.topic, row.group) for row in rows if row.why_unknown}):
        why = next(row.why_unknown for row in rows if (row.topic, row.group) == (topic, group))
        notes.append(f"what group {group} received of {topic} is unknown: {why}")
    return tuple(notes)


class _Clock:
    """Measures how long each part of the analysis takes."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._since = time.monotonic()

    def lap(self, name: str) -> None:
        now = time.monotonic()
        self.laps[name] = round(now - self._since, 3)
        self._since = now
