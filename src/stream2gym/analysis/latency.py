"""How long messages took: to a consumer, to all subscribers, and through engines by the experiment's traces.

Times run from when a message was *due*, so that a producer that stalls does not hide the delay. A message
counts once a group, when it first arrived. Behind an engine it is recognised by the experiment's ``trace``:
by the header that the engine passed on, or by the hash of key, value or a JSON field, where the n-th message
of a hash is taken for the n-th result of it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from stream2gym.analysis.histogram import SERIES_ERROR, HistogramBuilder, bucket_sql
from stream2gym.analysis.inputs import Inputs
from stream2gym.analysis.scans import latency_point
from stream2gym.analysis.sql import literal
from stream2gym.analysis.tables import AuditRow, LatencyPoint, LatencyRow, SentRow, TraceRow

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Late = Mapping[tuple[str, int, str, str], int]  # messages by topic, partition, producer, group
LATE_S = 1.0  # a message that took longer than this arrived late
_GIVEN = "status IN ('acked', 'unconfirmed')"
_NUMBERS = "count(*) AS n, sum(took) AS total, min(took) AS least, max(took) AS most"


@dataclass(frozen=True)
class Latencies:
    rows: tuple[LatencyRow, ...] = ()
    series: tuple[LatencyPoint, ...] = ()
    late: Late = field(default_factory=dict)


def end_to_end(session: SparkSession, inputs: Inputs, repeated: bool) -> Latencies:
    """From due to first received, by every group."""
    receipts = (
        """SELECT topic, partition, `group`, producer, seq, min(at_ns) AS at_ns, min_by(consumer, at_ns) AS consumer
           FROM received WHERE seq IS NOT NULL GROUP BY topic, partition, `group`, producer, seq"""
        if repeated
        else "SELECT * FROM received WHERE seq IS NOT NULL"
    )
    text = f"""
        SELECT grouping(step) = 1 AS whole, topic, part, producer, grp, consumer, fine, step, coarse,
          sum(n) AS n, sum(total) AS total, min(least) AS least, max(most) AS most, sum(late) AS late
        FROM (
          SELECT topic, part, producer, grp, consumer, step, {bucket_sql("took")} AS fine,
            {bucket_sql("took", SERIES_ERROR)} AS coarse, {_NUMBERS}, count_if(took > {int(LATE_S * 1e9)}L) AS late
          FROM (
            SELECT /*+ SHUFFLE_HASH(s) */ r.topic, r.partition AS part, r.producer, r.`group` AS grp, r.consumer,
              r.at_ns - s.due_ns AS took, s.due_ns div {int(inputs.step_s * 1e9)} AS step
            FROM sent s JOIN ({receipts}) r
              ON s.seq = r.seq AND s.producer = r.producer AND s.topic = r.topic)
          GROUP BY topic, part, producer, grp, consumer, step, fine, coarse)
        GROUP BY GROUPING SETS ((topic, part, producer, grp, consumer, fine), (topic, grp, step, coarse))"""
    rows: dict[tuple[str, int, str, str, str], HistogramBuilder] = defaultdict(HistogramBuilder)
    series: dict[tuple[str, str, int], HistogramBuilder] = defaultdict(HistogramBuilder)
    late: Counter[tuple[str, int, str, str]] = Counter()
    for row in session.sql(text).collect():
        if row.whole:
            late[row.topic, row.part, row.producer, row.grp] += row.late
            builder, bucket = rows[row.topic, row.part, row.producer, row.grp, row.consumer], row.fine
        else:
            builder, bucket = series[row.topic, row.grp, row.step], row.coarse
        builder.add(bucket, row.n, row.total, row.least, row.most)
    return Latencies(
        tuple(LatencyRow("latency", *key, histogram=rows[key].build()) for key in sorted(rows)),
        tuple(
            latency_point("latency", topic, group, step * inputs.step_s, series[topic, group, step])
            for topic, group, step in sorted(series)
        ),
        late,
    )


def with_late(audit: Iterable[AuditRow], late: Late) -> tuple[AuditRow, ...]:
    """The audit with what arrived late; a message that was never acknowledged is audited without its partition."""
    rows = {(row.topic, row.partition, row.producer, row.group): row for row in audit}
    for (topic, partition, producer, group), number in late.items():
        known = (topic, partition, producer, group)
        place = known if known in rows else (topic, -1, producer, group)
        if place in rows:
            rows[place] = replace(rows[place], late=rows[place].late + number)
    return tuple(rows.values())


def synchronisation(session: SparkSession, inputs: Inputs) -> tuple[LatencyRow, ...]:
    """From due until every subscribing group had the message; only messages that all of them had."""
    groups: dict[str, set[str]] = {}
    for sub in inputs.subscriptions():
        if sub.observed:
            groups.setdefault(sub.topic, set()).add(sub.group)
    several = {topic: len(names) for topic, names in groups.items() if len(names) > 1}
    if not several:
        return ()
    wanted = " ".join(f"WHEN {literal(topic)} THEN {number}" for topic, number in several.items())
    text = f"""
        SELECT topic, part, producer, {bucket_sql("took")} AS fine, {_NUMBERS} FROM (
          SELECT /*+ SHUFFLE_HASH(s) */ s.topic, s.partition AS part, s.producer, r.at_ns - s.due_ns AS took
          FROM sent s JOIN (
            SELECT topic, producer, seq, max(at_ns) AS at_ns, count(*) AS groups FROM (
              SELECT topic, producer, seq, `group`, min(at_ns) AS at_ns FROM received
              WHERE seq IS NOT NULL GROUP BY topic, producer, seq, `group`)
            GROUP BY topic, producer, seq) r
          ON s.seq = r.seq AND s.producer = r.producer AND s.topic = r.topic
          WHERE r.groups >= CASE s.topic {wanted} END)
        GROUP BY topic, part, producer, fine"""
    rows: dict[tuple[str, int, str], HistogramBuilder] = defaultdict(HistogramBuilder)
    for row in session.sql(text).collect():
        rows[row.topic, -1 if row.part is None else row.part, row.producer].add(
            row.fine, row.n, row.total, row.least, row.most
        )
    return tuple(LatencyRow("sync_latency", *key, histogram=rows[key].build()) for key in sorted(rows))


def through_engines(
    session: SparkSession, inputs: Inputs, sent: tuple[SentRow, ...]
) -> tuple[tuple[TraceRow, ...], tuple[LatencyRow, ...]]:
    """From due to the first receipt of the result, for every trace of the experiment."""
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
        builder = HistogramBuilder()
        for row in session.sql(_trace_sql(trace.from_, trace.to, trace.by)).collect():
            builder.add(row.fine, row.n, row.total, row.least, row.most)
        histogram = builder.build()
        counted = session.sql(_results_sql(trace.from_, trace.to, trace.by)).first()
        missing, doubled = (counted.missing or 0, counted.doubled or 0) if counted else (0, 0)
        traces.append(
            TraceRow(
                trace.from_, trace.to, trace.by, written, histogram.count, missing=missing, doubled=doubled
            )
        )
        if histogram.count:
            rows.append(LatencyRow("trace_latency", trace.to, source=trace.from_, histogram=histogram))
    return tuple(traces), tuple(rows)


def _results_sql(source: str, target: str, by: str) -> str:
    """How many results each message has at different places of the target's log, beside the one it should have."""
    who = {"header": "producer, seq", "key": "key_hash"}.get(by, "value_hash")
    return f"""
        SELECT sum(greatest(s.n - coalesce(r.n, 0), 0)) AS missing,
          sum(greatest(coalesce(r.n, 0) - s.n, 0)) AS doubled
        FROM (SELECT {who}, count(*) AS n FROM sent
              WHERE topic = {literal(source)} AND {_GIVEN} GROUP BY {who}) s
        LEFT JOIN (SELECT {who}, count(DISTINCT partition, offset) AS n FROM received
              WHERE topic = {literal(target)} GROUP BY {who}) r USING ({who})"""


def _trace_sql(source: str, target: str, by: str) -> str:
    if by == "header":
        joined = f"""
            SELECT r.at_ns - s.due_ns AS took FROM sent s JOIN (
              SELECT producer, seq, min(at_ns) AS at_ns FROM received
              WHERE topic = {literal(target)} AND seq IS NOT NULL GROUP BY producer, seq) r
            ON s.seq = r.seq AND s.producer = r.producer WHERE s.topic = {literal(source)} AND {_GIVEN}"""
    else:
        column = "key_hash" if by == "key" else "value_hash"
        joined = f"""
            SELECT r.at_ns - s.due_ns AS took FROM (
              SELECT {column} AS hash, due_ns, row_number() OVER (PARTITION BY {column} ORDER BY due_ns) AS nth
              FROM sent WHERE topic = {literal(source)} AND {column} IS NOT NULL AND {_GIVEN}) s
            JOIN (
              SELECT hash, at_ns, row_number() OVER (PARTITION BY hash ORDER BY at_ns) AS nth FROM (
                SELECT {column} AS hash, min(at_ns) AS at_ns FROM received
                WHERE topic = {literal(target)} AND {column} IS NOT NULL GROUP BY {column}, partition, offset)) r
            ON s.hash = r.hash AND s.nth = r.nth"""
    return f"SELECT fine, {_NUMBERS} FROM (SELECT took, {bucket_sql('took')} AS fine FROM ({joined})) GROUP BY fine"
