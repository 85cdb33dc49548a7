"""One pass over each message table: who sent and received how much, when, and how long answers took.

These need no join; they also tell which topics, partitions, producers, groups and consumers there are.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from stream2gym.analysis.histogram import SERIES_BITS, HistogramBuilder, bucket_sql
from stream2gym.analysis.inputs import Inputs
from stream2gym.analysis.sql import Row, grouped
from stream2gym.analysis.tables import (
    FlowKind,
    FlowPoint,
    LatencyKind,
    LatencyPoint,
    LatencyRow,
    ReceivedRow,
    SentRow,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_STATUS = {
    "acked": "acknowledged",
    "unconfirmed": "unconfirmed",
    "failed": "failed",
    "queued": "unanswered",
}
_WAITS: tuple[tuple[LatencyKind, str], ...] = (
    ("ack_latency", "done_ns - due_ns"),
    ("ack_latency_sent", "done_ns - sent_ns"),
    ("send_delay", "sent_ns - due_ns"),
)


@dataclass(frozen=True)
class SentScan:
    """What the table of sent messages says on its own."""

    rows: tuple[SentRow, ...]
    flow: tuple[FlowPoint, ...]
    latency: tuple[LatencyRow, ...]
    series: tuple[LatencyPoint, ...]


@dataclass(frozen=True)
class Reading:
    """What one consumer read of one producer's messages in a partition; producer None: foreign ones."""

    topic: str
    partition: int
    group: str
    consumer: str
    producer: str | None
    messages: int
    bytes: int
    lowest: int
    highest: int


@dataclass(frozen=True)
class ReceivedScan:
    """What the table of received messages says on its own."""

    readings: tuple[Reading, ...]
    flow: tuple[FlowPoint, ...]

    def rows(self) -> tuple[ReceivedRow, ...]:
        found: dict[tuple[str, int, str, str], ReceivedRow] = {}
        for reading in self.readings:
            key = (reading.topic, reading.partition, reading.group, reading.consumer)
            row = found.get(key, ReceivedRow(*key, 0, 0))
            foreign = row.foreign + (reading.messages if reading.producer is None else 0)
            found[key] = replace(
                row,
                messages=row.messages + reading.messages,
                bytes=row.bytes + reading.bytes,
                foreign=foreign,
            )
        return tuple(found[key] for key in sorted(found))


def scan_sent(session: SparkSession, inputs: Inputs) -> SentScan:
    step_ns = int(inputs.step_s * 1e9)
    acked = "status = 'acked'"
    waits = {
        "ack_latency": f"if({acked}, done_ns - due_ns, null)",
        "ack_latency_sent": f"if({acked}, done_ns - sent_ns, null)",
        "send_delay": "sent_ns - due_ns",
    }
    source = f"""
        SELECT topic, coalesce(partition, -1) AS part, producer, coalesce(status, 'queued') AS state, size,
          if({acked}, done_ns div {step_ns}, null) AS done_step, sent_ns div {step_ns} AS sent_step,
          due_ns div {step_ns} AS due_step,
          {", ".join(f"{value} AS {kind}, {bucket_sql(value)} AS {kind}_b" for kind, value in waits.items())},
          {bucket_sql(waits["ack_latency"], SERIES_BITS)} AS coarse
        FROM sent"""
    who = ("topic", "part", "producer")
    sets = {
        "state": (*who, "state"),
        "acknowledged": ("topic", "producer", "done_step"),
        "sent": ("topic", "producer", "sent_step"),
        "series": ("topic", "due_step", "coarse"),
    } | {kind: (*who, f"{kind}_b") for kind in waits}
    aggregates = "count(*) AS n, sum(size) AS bytes, " + ", ".join(
        f"sum({kind}) AS {kind}_sum, min({kind}) AS {kind}_min, max({kind}) AS {kind}_max" for kind in waits
    )
    found = grouped(session, source, sets, aggregates)
    kinds: tuple[tuple[FlowKind, str], ...] = (("acknowledged", "done_step"), ("sent", "sent_step"))
    flow = [
        FlowPoint(kind, row.topic, row.producer, "", row[step] * inputs.step_s, row.n, row.bytes)
        for kind, step in kinds
        for row in found[kind]
        if row[step] is not None
    ]
    return SentScan(
        rows=_sent_rows(found["state"]),
        flow=tuple(sorted(flow, key=lambda point: (point.kind, point.topic, point.client, point.at_s))),
        latency=tuple(row for kind, _ in _WAITS for row in _waits(kind, found[kind])),
        series=tuple(_series(found["series"], inputs.step_s)),
    )


def _sent_rows(rows: list[Row]) -> tuple[SentRow, ...]:
    found: dict[tuple[str, int, str], SentRow] = {}
    for row in rows:
        key = (row.topic, row.part, row.producer)
        known = found.get(key, SentRow(*key))
        name = _STATUS.get(row.state, "unanswered")
        known = replace(known, sent=known.sent + row.n, bytes=known.bytes + row.bytes)
        if name == "acknowledged":
            known = replace(known, acknowledged_bytes=known.acknowledged_bytes + row.bytes)
        found[key] = replace(known, **{name: getattr(known, name) + row.n})
    return tuple(found[key] for key in sorted(found))


def _waits(kind: LatencyKind, rows: list[Row]) -> list[LatencyRow]:
    builders: dict[tuple[str, int, str], HistogramBuilder] = defaultdict(HistogramBuilder)
    for row in rows:
        if row[f"{kind}_b"] is not None and row[f"{kind}_sum"] is not None:
            builders[row.topic, row.part, row.producer].add(
                row[f"{kind}_b"], row.n, row[f"{kind}_sum"], row[f"{kind}_min"], row[f"{kind}_max"]
            )
    return [
        LatencyRow(kind, topic, partition, producer, histogram=builder.build())
        for (topic, partition, producer), builder in sorted(builders.items())
    ]


def _series(rows: list[Row], step_s: float) -> list[LatencyPoint]:
    builders: dict[tuple[int, str], HistogramBuilder] = defaultdict(HistogramBuilder)
    for row in rows:
        if row.coarse is not None and row.ack_latency_sum is not None:
            builders[row.due_step, row.topic].add(
                row.coarse, row.n, row.ack_latency_sum, row.ack_latency_min, row.ack_latency_max
            )
    return [
        latency_point("ack_latency", topic, "", step * step_s, builder)
        for (step, topic), builder in sorted(builders.items())
    ]


def latency_point(
    kind: LatencyKind, topic: str, group: str, at_s: float, builder: HistogramBuilder
) -> LatencyPoint:
    histogram = builder.build()
    return LatencyPoint(
        kind, topic, group, at_s, histogram.count,
        histogram.value("p50") or 0.0, histogram.value("p99") or 0.0, histogram.value("max") or 0.0,
    )  # fmt: skip


def scan_received(session: SparkSession, inputs: Inputs) -> ReceivedScan:
    step_ns = int(inputs.step_s * 1e9)
    source = f"""
        SELECT topic, partition AS part, `group` AS grp, consumer, producer, size, offset,
          at_ns div {step_ns} AS step FROM received"""
    sets = {
        "readings": ("topic", "part", "grp", "consumer", "producer"),
        "flow": ("topic", "grp", "consumer", "step"),
    }
    found = grouped(
        session,
        source,
        sets,
        "count(*) AS n, sum(size) AS bytes, min(offset) AS lowest, max(offset) AS highest",
    )
    readings = (
        Reading(
            row.topic,
            row.part,
            row.grp,
            row.consumer,
            row.producer,
            row.n,
            row.bytes,
            row.lowest,
            row.highest,
        )
        for row in found["readings"]
    )
    flow = (
        FlowPoint("received", row.topic, row.consumer, row.grp, row.step * inputs.step_s, row.n, row.bytes)
        for row in found["flow"]
    )
    return ReceivedScan(
        tuple(sorted(readings, key=lambda r: (r.topic, r.partition, r.group, r.consumer, r.producer or ""))),
        tuple(sorted(flow, key=lambda point: (point.topic, point.group, point.client, point.at_s))),
    )


@dataclass(frozen=True)
class Distinct:
    """How many different messages and offsets a group read of a producer in a partition."""

    messages: int
    offsets: int


def scan_distinct(session: SparkSession) -> dict[tuple[str, int, str, str | None], Distinct]:
    """Different messages and offsets, exactly: 64 neighbours share a machine word, one bit each."""
    rows = session.sql("""
        SELECT topic, part, grp, producer,
          sum(if(by = 's', cast(bit_count(mask) AS BIGINT), 0L)) AS messages,
          sum(if(by = 'o', cast(bit_count(mask) AS BIGINT), 0L)) AS offsets
        FROM (
          SELECT topic, part, grp, producer, by, word, bit_or(bit) AS mask FROM (
            SELECT topic, partition AS part, `group` AS grp, producer, 'o' AS by,
              shiftright(offset, 6) AS word, shiftleft(1L, cast(offset & 63 AS INT)) AS bit FROM received
            UNION ALL
            SELECT topic, partition, `group`, producer, 's',
              shiftright(seq, 6), shiftleft(1L, cast(seq & 63 AS INT)) FROM received WHERE seq IS NOT NULL)
          GROUP BY topic, part, grp, producer, by, word)
        GROUP BY topic, part, grp, producer""").collect()
    return {(row.topic, row.part, row.grp, row.producer): Distinct(row.messages, row.offsets) for row in rows}
