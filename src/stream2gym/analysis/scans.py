"""One pass over each message table: who sent and received how much, when, and how long answers took.

These need no join; they also tell which topics, partitions, producers, groups and consumers there are.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from stream2gym.analysis.histogram import SERIES_ERROR, HistogramBuilder, bucket_sql
from stream2gym.analysis.inputs import Inputs
from stream2gym.analysis.sql import Grouping, Row, grouped
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
    topic, producer = {"topic": "topic"}, {"producer": "producer"}
    who = topic | {"part": "coalesce(partition, -1)"} | producer
    since_due = "done_ns - due_ns"
    groupings = {
        "state": Grouping(who | {"state": "coalesce(status, 'queued')"}),
        "acknowledged": Grouping(topic | producer | {"step": f"done_ns div {step_ns}"}, where=acked),
        "sent": Grouping(topic | producer | {"step": f"sent_ns div {step_ns}"}, where="sent_ns IS NOT NULL"),
        "series": Grouping(
            topic | {"step": f"due_ns div {step_ns}", "bucket": bucket_sql(since_due, SERIES_ERROR)},
            since_due,
            acked,
        ),
    }
    for kind, value in _WAITS:
        where = "sent_ns IS NOT NULL" if kind == "send_delay" else f"{acked} AND {value} IS NOT NULL"
        groupings[kind] = Grouping(who | {"bucket": bucket_sql(value)}, value, where)
    found = grouped(session, "sent", groupings)
    kinds: tuple[FlowKind, ...] = ("acknowledged", "sent")
    flow = [
        FlowPoint(kind, row.topic, row.producer, "", row.step * inputs.step_s, row.n, row.bytes)
        for kind in kinds
        for row in found[kind]
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
        builders[row.topic, row.part, row.producer].add(row.bucket, row.n, row.total, row.least, row.most)
    return [
        LatencyRow(kind, topic, partition, producer, histogram=builder.build())
        for (topic, partition, producer), builder in sorted(builders.items())
    ]


def _series(rows: list[Row], step_s: float) -> list[LatencyPoint]:
    builders: dict[tuple[int, str], HistogramBuilder] = defaultdict(HistogramBuilder)
    for row in rows:
        builders[row.step, row.topic].add(row.bucket, row.n, row.total, row.least, row.most)
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
    who = {"topic": "topic", "grp": "`group`", "consumer": "consumer"}
    groupings = {
        "readings": Grouping(who | {"part": "partition", "producer": "producer"}, "offset"),
        "flow": Grouping(who | {"step": f"at_ns div {int(inputs.step_s * 1e9)}"}),
    }
    found = grouped(session, "received", groupings)
    readings = (
        Reading(
            row.topic, row.part, row.grp, row.consumer, row.producer, row.n, row.bytes, row.least, row.most
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
