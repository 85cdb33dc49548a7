"""Messages that never arrived, for latencies: each took at least the time from when it was due to the end of the
drain.

Without them a latency would describe only the messages that arrived. ``expected_delivery`` decides which messages a
group was owed. Messages of the warm-up do not count. Spark is asked only where the audit counted fewer receipts than
messages.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from stream2gym.analysis.delivery_audit import Delivery, Way
from stream2gym.analysis.expected_delivery import DOUBTFUL, NOT_OWED, codes
from stream2gym.analysis.histogram import Histogram, HistogramBuilder, bucket_sql
from stream2gym.analysis.inputs import Inputs
from stream2gym.analysis.result_tables import LatencyKind, MissingRow, SentRow, TraceRow
from stream2gym.analysis.sql import OF_LOAD, Row, literal, unpaced_sql
from stream2gym.analysis.trace_pairs import trace_pairs_sql

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NUMBERS = "count(*) AS n, sum(took) AS total, min(took) AS least, max(took) AS most"
_UNACKNOWLEDGED = "(status IS NULL OR status NOT IN ('acked', 'unconfirmed'))"
_WAITS: tuple[tuple[LatencyKind, str], ...] = (("ack_latency", "due_ns"), ("ack_latency_sent", "sent_ns"))

WayKey = tuple[str, int, str, str]  # topic, partition, producer, group


def find_missing(
    session: SparkSession,
    inputs: Inputs,
    sent: Sequence[SentRow],
    delivery: Delivery,
    traces: Iterable[TraceRow],
) -> tuple[MissingRow, ...]:
    """The messages that latencies lack, with the same keys as the rows of latencies."""
    end_ns = round(inputs.drain_end_s * 1e9)
    short = list(_find_ways_with_missing(sent, delivery))
    rows: list[MissingRow] = []
    if short:
        rows += _count_not_received(session, inputs, short, end_ns)
    if any(row.failed or row.unanswered for row in sent):
        rows += _count_not_acknowledged(session, inputs, end_ns)
    for trace in traces:
        if trace.unpaired:
            rows += _count_without_result(session, inputs, trace, end_ns)
    return tuple(rows)


def _count_without_result(
    session: SparkSession, inputs: Inputs, trace: TraceRow, end_ns: int
) -> Iterator[MissingRow]:
    """Count the messages of a trace that have no result, whatever their status, those without due times apart.

    Where a message may have the result that another one was taken for, it may have taken no time at all. Messages
    without the key of the trace are doubtful.
    """
    pairs = trace_pairs_sql(trace.source, trace.target, trace.by)
    source = f"""SELECT if(early_ns IS NULL, due_ns, {end_ns}L) AS since, {unpaced_sql(inputs)} AS unpaced
        FROM ({pairs}) WHERE at_ns IS NULL AND {OF_LOAD}"""
    found: dict[LatencyKind, HistogramBuilder] = {}
    for row in session.sql(_count_waits_sql(source, end_ns, "unpaced")).collect():
        kind: LatencyKind = "trace_latency_sent" if row.unpaced else "trace_latency"
        _fill(found.setdefault(kind, HistogramBuilder()), [row])
    counted = {kind: builder.build() for kind, builder in found.items()} or {"trace_latency": Histogram()}
    keyless = f"""SELECT count(*) AS n FROM sent
        WHERE topic = {literal(trace.source)} AND key_hash IS NULL AND {OF_LOAD}"""
    doubtful = session.sql(keyless).collect()[0].n if trace.by == "key" else 0
    for kind, histogram in counted.items():
        yield MissingRow(kind, trace.target, source=trace.source, histogram=histogram, doubtful=doubtful)


def _find_ways_with_missing(sent: Sequence[SentRow], delivery: Delivery) -> Iterator[Way]:
    """Ways on which messages did not arrive, to groups that were observed."""
    refused = {(row.topic, row.producer) for row in sent if row.failed or row.unanswered}
    for way, row in zip(delivery.ways, delivery.audit, strict=True):
        gone = row.lost + row.in_flight + row.unconfirmed_lost + row.unconfirmed_in_flight + row.unknown
        if way.observed and (gone or (way.topic, way.producer) in refused):
            yield way


def _count_not_received(session: SparkSession, inputs: Inputs, ways: list[Way], end_ns: int) -> Iterator[MissingRow]:
    numbers = ", ".join(str(way.number) for way in ways)
    session.sql(f"""
        SELECT f.way, f.topic, f.part, f.grp, f.producer, f.seq, f.due_ns AS since, f.fate,
          r.seq IS NULL AND f.fate NOT IN ({codes(NOT_OWED)}) AS gone, f.fate IN ({codes(DOUBTFUL)}) AS doubtful
        FROM fates f
        LEFT JOIN (SELECT DISTINCT topic, `group` AS grp, producer, seq FROM received WHERE seq IS NOT NULL) r
          ON f.topic = r.topic AND f.grp = r.grp AND f.producer = r.producer AND f.seq = r.seq
        WHERE f.{OF_LOAD}
        """).createOrReplaceTempView("owed")
    found: dict[WayKey, HistogramBuilder] = defaultdict(HistogramBuilder)
    doubtful: dict[WayKey, int] = defaultdict(int)
    by_number = {way.number: (way.topic, way.partition, way.producer, way.group) for way in ways}
    text = _count_waits_sql(
        f"SELECT since, way, doubtful FROM owed WHERE gone AND way IN ({numbers})", end_ns, "way, doubtful"
    )
    for row in session.sql(text).collect():
        key = by_number[row.way]
        if row.doubtful:
            doubtful[key] += row.n
        else:
            _fill(found[key], [row])
    for key in sorted({*found, *doubtful}):
        kind = inputs.latency_kind("latency", key[2])
        yield MissingRow(kind, *key, histogram=found[key].build(), doubtful=doubtful[key])
    yield from _count_not_received_by_all(session, inputs, end_ns)


def _count_not_received_by_all(session: SparkSession, inputs: Inputs, end_ns: int) -> Iterator[MissingRow]:
    """Messages that every one of several groups was owed and that some group never received."""
    several = [literal(topic) for topic in inputs.topics_of_several_groups()]
    if not several:
        return
    text = f"""SELECT topic, part, producer, min(since) AS since FROM owed WHERE topic IN ({", ".join(several)})
        GROUP BY topic, part, producer, seq
        HAVING bool_or(gone AND NOT doubtful) AND NOT bool_or(fate IN ({codes(NOT_OWED)}))"""
    found: dict[tuple[str, int, str], HistogramBuilder] = defaultdict(HistogramBuilder)
    for row in session.sql(_count_waits_sql(text, end_ns, "topic, part, producer")).collect():
        _fill(found[row.topic, row.part, row.producer], [row])
    for key in sorted(found):
        yield MissingRow(inputs.latency_kind("sync_latency", key[2]), *key, histogram=found[key].build())


def _count_not_acknowledged(session: SparkSession, inputs: Inputs, end_ns: int) -> Iterator[MissingRow]:
    """Failed and unanswered messages of producers that ask for acknowledgements."""
    silent = [literal(str(part.name)) for part in inputs.experiment.producers if str(part.acks) == "0"]
    asking = f"producer NOT IN ({', '.join(silent)})" if silent else "true"
    keys = "topic, coalesce(partition, -1) AS part, producer"
    for kind, since in _WAITS:
        text = f"""SELECT {since} AS since, {keys} FROM sent
            WHERE {_UNACKNOWLEDGED} AND {OF_LOAD} AND {asking} AND {since} IS NOT NULL
              AND NOT ({"false" if since == "sent_ns" else unpaced_sql(inputs)})"""
        found: dict[tuple[str, int, str], HistogramBuilder] = defaultdict(HistogramBuilder)
        for row in session.sql(_count_waits_sql(text, end_ns, "topic, part, producer")).collect():
            _fill(found[row.topic, row.part, row.producer], [row])
        for key in sorted(found):
            yield MissingRow(kind, *key, histogram=found[key].build())


def _count_waits_sql(source: str, end_ns: int, keys: str = "") -> str:
    """SQL that counts rows by the time from their column ``since`` to the end of the drain, in buckets."""
    both = f"{keys}, fine" if keys else "fine"
    named = f"{keys}, " if keys else ""
    return f"""
        SELECT {both}, {_NUMBERS} FROM (
          SELECT {named}took, {bucket_sql("took")} AS fine FROM (
            SELECT *, greatest({end_ns}L - since, 0L) AS took FROM ({source})))
        GROUP BY {both}"""


def _fill(builder: HistogramBuilder, rows: Iterable[Row]) -> None:
    for row in rows:
        builder.add(row.fine, row.n, row.total, row.least, row.most)
