"""How long messages took: to a consumer, to all subscribers, and through engines by the experiment's traces.

A latency counts from the moment when a message was *due*, so that a producer that stalls does not hide the delay.
A message counts once for each group, when the group first received it. Messages of the warm-up do not count.

Messages of programs of the user have no due time. Their latencies count from the moment when they were sent, and are
kept apart.

Behind an engine, a message is recognised as the experiment's ``trace`` says: by the header that the engine passed on,
or by the hash of its key, its value or a JSON field, as ``trace_pairs`` says.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import TYPE_CHECKING

from stream2gym.analysis.histogram import SERIES_ERROR, HistogramBuilder, SplitBuilder, bucket_sql
from stream2gym.analysis.inputs import Inputs
from stream2gym.analysis.latency_floors import LatencyFloors
from stream2gym.analysis.result_tables import (
    AuditRow,
    LatencyKind,
    LatencyPoint,
    LatencyRow,
    PositionRow,
    SentRow,
    SuspectSpan,
    TraceRow,
)
from stream2gym.analysis.sql import OF_LOAD, literal, unpaced_sql
from stream2gym.analysis.suspect import overlap_sql
from stream2gym.analysis.table_scans import make_latency_point
from stream2gym.analysis.thresholds import LATE_MESSAGE_S
from stream2gym.analysis.trace_pairs import count_results_sql, trace_pairs_sql
from stream2gym.spec.model import Trace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Late = Mapping[tuple[str, int, str, str], int]  # messages by topic, partition, producer, group
_NUMBERS = "count(*) AS n, sum(took) AS total, min(took) AS least, max(took) AS most"


@dataclass(frozen=True)
class Latencies:
    """Latencies from due to received, over the whole run and over time, and how many messages came late."""

    rows: tuple[LatencyRow, ...] = ()
    series: tuple[LatencyPoint, ...] = ()
    late: Late = field(default_factory=dict)


def measure_end_to_end(
    session: SparkSession, inputs: Inputs, repeated: bool, spans: Sequence[SuspectSpan] = ()
) -> Latencies:
    """Latencies from due to first received, for every group. Messages that met suspect time are counted apart.

    ``repeated``: some group received a message more than once.
    """
    receipts = (
        """SELECT topic, partition, `group`, producer, seq, min(at_ns) AS at_ns, min_by(consumer, at_ns) AS consumer
           FROM received WHERE seq IS NOT NULL GROUP BY topic, partition, `group`, producer, seq"""
        if repeated
        else "SELECT * FROM received WHERE seq IS NOT NULL"
    )
    text = f"""
        SELECT grouping(step) = 1 AS whole, topic, part, producer, grp, consumer, severe, fine, step, coarse, unpaced,
          sum(n) AS n, sum(total) AS total, min(least) AS least, max(most) AS most, sum(late) AS late
        FROM (
          SELECT topic, part, producer, grp, consumer, severe, step, unpaced, {bucket_sql("took")} AS fine,
            {bucket_sql("took", SERIES_ERROR)} AS coarse, {_NUMBERS}, count_if(took > {int(LATE_MESSAGE_S * 1e9)}L) AS
            late
          FROM (
            SELECT /*+ SHUFFLE_HASH(s) */ r.topic, r.partition AS part, r.producer, r.`group` AS grp, r.consumer,
              {overlap_sql(spans, "s.due_ns", "r.at_ns")} AS severe,
              r.at_ns - s.due_ns AS took, s.due_ns div {int(inputs.step_s * 1e9)} AS step,
              {unpaced_sql(inputs, "r.producer")} AS unpaced
            FROM sent s JOIN ({receipts}) r
              ON s.seq = r.seq AND s.producer = r.producer AND s.topic = r.topic
            WHERE s.{OF_LOAD})
          GROUP BY topic, part, producer, grp, consumer, severe, step, unpaced, fine, coarse)
        GROUP BY GROUPING SETS (
          (topic, part, producer, grp, consumer, severe, fine), (topic, grp, step, unpaced, coarse))"""
    rows: dict[tuple[str, int, str, str, str], SplitBuilder] = defaultdict(SplitBuilder)
    series: dict[tuple[str, str, int, bool], HistogramBuilder] = defaultdict(HistogramBuilder)
    late: Counter[tuple[str, int, str, str]] = Counter()
    for row in session.sql(text).collect():
        if row.whole:
            late[row.topic, row.part, row.producer, row.grp] += row.late
            split = rows[row.topic, row.part, row.producer, row.grp, row.consumer]
            split.add(row.fine, row.n, row.total, row.least, row.most, severe=row.severe)
        else:
            builder = series[row.topic, row.grp, row.step, row.unpaced]
            builder.add(row.coarse, row.n, row.total, row.least, row.most)
    floors = LatencyFloors(inputs)
    return Latencies(
        tuple(
            LatencyRow(
                inputs.latency_kind("latency", key[2]),
                *key,
                histogram=rows[key].build(),
                clear=rows[key].build_clear(),
                floor_s=floors.delivery_s(key[2], key[4]),
            )
            for key in sorted(rows)
        ),
        tuple(
            make_latency_point(
                "latency_sent" if unpaced else "latency",
                topic,
                group,
                step * inputs.step_s,
                series[topic, group, step, unpaced],
            )
            for topic, group, step, unpaced in sorted(series)
        ),
        late,
    )


def add_late(audit: Iterable[AuditRow], late: Late) -> tuple[AuditRow, ...]:
    """The audit with the number of late messages.

    A message that was not acknowledged is audited in partition -1, whatever partition it was received from.
    """
    rows = {(row.topic, row.partition, row.producer, row.group): row for row in audit}
    for (topic, partition, producer, group), number in late.items():
        known = (topic, partition, producer, group)
        place = known if known in rows else (topic, -1, producer, group)
        if place in rows:
            rows[place] = replace(rows[place], late=rows[place].late + number)
    return tuple(rows.values())


def measure_synchronisation(
    session: SparkSession, inputs: Inputs, spans: Sequence[SuspectSpan] = ()
) -> tuple[LatencyRow, ...]:
    """Latencies from due until every subscribing group had the message, of the messages that all of them received."""
    several = inputs.topics_of_several_groups()
    if not several:
        return ()
    wanted = " ".join(f"WHEN {literal(topic)} THEN {number}" for topic, number in several.items())
    text = f"""
        SELECT topic, part, producer, severe, {bucket_sql("took")} AS fine, {_NUMBERS} FROM (
          SELECT /*+ SHUFFLE_HASH(s) */ s.topic, s.partition AS part, s.producer, r.at_ns - s.due_ns AS took,
            {overlap_sql(spans, "s.due_ns", "r.at_ns")} AS severe
          FROM sent s JOIN (
            SELECT topic, producer, seq, max(at_ns) AS at_ns, count(*) AS groups FROM (
              SELECT topic, producer, seq, `group`, min(at_ns) AS at_ns FROM received
              WHERE seq IS NOT NULL GROUP BY topic, producer, seq, `group`)
            GROUP BY topic, producer, seq) r
          ON s.seq = r.seq AND s.producer = r.producer AND s.topic = r.topic
          WHERE s.{OF_LOAD} AND r.groups >= CASE s.topic {wanted} END)
        GROUP BY topic, part, producer, severe, fine"""
    rows: dict[tuple[str, int, str], SplitBuilder] = defaultdict(SplitBuilder)
    for row in session.sql(text).collect():
        rows[row.topic, -1 if row.part is None else row.part, row.producer].add(
            row.fine, row.n, row.total, row.least, row.most, severe=row.severe
        )
    return tuple(
        LatencyRow(
            inputs.latency_kind("sync_latency", key[2]),
            *key,
            histogram=rows[key].build(),
            clear=rows[key].build_clear(),
        )
        for key in sorted(rows)
    )


def measure_through_engines(
    session: SparkSession,
    inputs: Inputs,
    sent: tuple[SentRow, ...],
    positions: Sequence[PositionRow],
    spans: Sequence[SuspectSpan] = (),
) -> tuple[tuple[TraceRow, ...], tuple[LatencyRow, ...]]:
    """Latencies from due to the first receipt of the result, for every trace of the experiment."""
    traces, rows = [], []
    for trace in inputs.experiment.trace:
        written = sum(row.acknowledged + row.unconfirmed for row in sent if row.topic == trace.from_)
        readers = [s for s in inputs.subscriptions() if s.topic == trace.to and s.observed]
        why = ""
        if not written:
            why = f"no recorded producer wrote to {trace.from_}"
        elif not readers:
            why = f"no recording consumer reads {trace.to}"
        if why:
            traces.append(TraceRow(trace.from_, trace.to, trace.by, written, 0, why))
            continue
        traces.append(_count_trace(session, inputs, trace, written, _count_unread(trace.to, positions)))
        loose = any(row.failed or row.unanswered for row in sent if row.topic == trace.from_)
        severe = overlap_sql(spans, "due_ns", "at_ns")
        builders: dict[LatencyKind, SplitBuilder] = {}
        earliest: dict[LatencyKind, HistogramBuilder] = {}
        paired = 0
        for row in session.sql(_trace_sql(trace, severe, unpaced_sql(inputs), loose)).collect():
            paired += 0 if row.early else row.n
            if row.warm:
                continue
            kind: LatencyKind = "trace_latency_sent" if row.unpaced else "trace_latency"
            if row.early:
                early = earliest.setdefault(kind, HistogramBuilder())
                early.add(row.fine, row.n, row.total, row.least, row.most)
            else:
                builder = builders.setdefault(kind, SplitBuilder())
                builder.add(row.fine, row.n, row.total, row.least, row.most, severe=row.severe)
        traces[-1] = replace(traces[-1], unpaired=traces[-1].unpaired - paired)
        for kind, builder in builders.items():
            found = LatencyRow(
                kind, trace.to, source=trace.from_, histogram=builder.build(), clear=builder.build_clear()
            )
            least = earliest[kind].build() if kind in earliest else found.histogram
            rows.append(found if least == found.histogram else replace(found, earliest=least))
    return tuple(traces), tuple(rows)


def _count_trace(session: SparkSession, inputs: Inputs, trace: Trace, written: int, unread: float) -> TraceRow:
    """The results of a trace in numbers. All messages are unpaired still."""
    writers = _find_unrecorded_writers(inputs, trace.from_) if trace.by != "header" else ()
    text = count_results_sql(trace.from_, trace.to, trace.by, has_unrecorded=bool(writers))
    (counted,) = session.sql(text).collect()
    missing, doubled, untraceable = counted.missing or 0, counted.doubled or 0, counted.untraceable or 0
    missing_more, doubled_more = (counted.missing_most or 0) - missing, (counted.doubled_most or 0) - doubled
    whys = []
    what = {"key": "key", "value": "value"}.get(trace.by, "field")
    if writers:
        whys.append(
            f"{', '.join(writers)} wrote to {trace.from_} unobserved, and results may be those of messages that "
            f"nobody recorded and that have the same {what}"
        )
    if counted.loose:
        who = f"1 message of {trace.from_} failed or was" if counted.loose == 1 else ""
        who = who or f"{counted.loose:,} messages of {trace.from_} failed or were"
        whys.append(f"{who} unanswered, and results may be theirs or those of other messages with the same {what}")
    return TraceRow(
        trace.from_,
        trace.to,
        trace.by,
        written,
        written - missing - untraceable,
        missing=missing,
        doubled=doubled,
        unread=unread,
        untraceable=untraceable,
        missing_more=missing_more,
        doubled_more=doubled_more,
        why_more="; ".join(whys) if missing_more or doubled_more else "",
        unconfirmed_missing=counted.unconfirmed_missing or 0,
        unpaired=counted.every,
    )


def _find_unrecorded_writers(inputs: Inputs, topic: str) -> tuple[str, ...]:
    """Programs of the user that nobody observed and that write to a topic, or may."""
    anywhere = (
        str(part.name)
        for part in inputs.experiment.producers
        if not inputs.is_observed(part) and not part.topic_names()
    )
    return tuple(dict.fromkeys((*inputs.foreign_writers.get(topic, ()), *anywhere)))


def _count_unread(topic: str, positions: Sequence[PositionRow]) -> float:
    """How many messages of a topic no recording group has read. Infinite: the end of its log is not known."""
    left: dict[int, float] = {}
    for row in positions:
        if row.topic == topic and row.observed:
            reached = max(row.position or 0, row.start or 0)
            behind = inf if row.end is None else float(max(0, row.end - reached))
            left[row.partition] = min(left.get(row.partition, inf), behind)
    return sum(left.values()) if left else inf


def _trace_sql(trace: Trace, severe: str, unpaced: str, loose: bool) -> str:
    """SQL that counts the latencies of a trace in buckets: those of the pairs, and with ``loose`` those that the same
    messages had at least (``early``). Messages of the warm-up are paired, too, and counted apart."""
    pairs = trace_pairs_sql(trace.from_, trace.to, trace.by, loose=loose)
    ends = "named_struct('early', false, 'end_ns', at_ns)"
    if loose and trace.by != "header":
        ends += ", named_struct('early', true, 'end_ns', early_ns)"
    return f"""
        SELECT early, fine, severe, unpaced, warm, {_NUMBERS}
        FROM (
          SELECT early, took, severe, unpaced, warm, {bucket_sql("took")} AS fine FROM (
            SELECT early, end_ns - due_ns AS took, {severe} AS severe, {unpaced} AS unpaced, NOT ({OF_LOAD}) AS warm
            FROM ({pairs}) LATERAL VIEW inline(array({ends})) AS early, end_ns WHERE at_ns IS NOT NULL))
        GROUP BY early, fine, severe, unpaced, warm"""
