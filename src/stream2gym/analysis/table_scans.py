"""One pass over each message table: who sent and received how much and when, and how long producers waited.

The scans need no join. They also tell which topics, partitions, producers, groups and consumers there are. How long
producers waited is asked after the suspect time is known, so that messages of that time are counted apart.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from stream2gym.analysis.histogram import SERIES_ERROR, HistogramBuilder, SplitBuilder, bucket_sql
from stream2gym.analysis.inputs import Inputs
from stream2gym.analysis.result_tables import (
    FlowKind,
    FlowPoint,
    LatencyKind,
    LatencyPoint,
    LatencyRow,
    ReceivedRow,
    SentRow,
    SuspectSpan,
)
from stream2gym.analysis.sql import OF_LOAD, Grouping, Row, count_groupings, create_small_table, literal, unpaced_sql
from stream2gym.analysis.suspect import BacklogCurve, SendDelay, overlap_sql
from stream2gym.analysis.thresholds import HALF_S

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

GroupPartition = tuple[str, int, str]  # topic, partition, group

_STATUS = {
    "acked": "acknowledged",
    "unconfirmed": "unconfirmed",
    "failed": "failed",
    "queued": "unanswered",
}
# Kinds of latencies of producers, each with the columns between which it is measured.
_WAITS: tuple[tuple[LatencyKind, str, str], ...] = (
    ("ack_latency", "due_ns", "done_ns"),
    ("ack_latency_sent", "sent_ns", "done_ns"),
    ("send_delay", "due_ns", "sent_ns"),
)
_HALF_NS = int(HALF_S * 1e9)
_GIVEN = "coalesce(status IN ('acked', 'unconfirmed'), false)"


@dataclass(frozen=True)
class SentScan:
    """What the table of sent messages says on its own."""

    rows: tuple[SentRow, ...]
    flow: tuple[FlowPoint, ...]
    series: tuple[LatencyPoint, ...]
    offered: tuple[FlowPoint, ...] = ()
    delays: tuple[SendDelay, ...] = ()
    # Messages by topic and half second: due (of those that were acknowledged or sent with acks 0), and acknowledged.
    due: dict[str, Counter[int]] = field(default_factory=dict)
    acknowledged: dict[str, Counter[int]] = field(default_factory=dict)
    # The highest acknowledged offset of each topic and partition.
    highest: dict[tuple[str, int], int] = field(default_factory=dict)


@dataclass(frozen=True)
class Reading:
    """What one consumer read of one producer's messages in a partition.

    ``producer`` None: messages that no recorded producer sent. ``lowest`` and ``highest`` are offsets.
    """

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
    # When each consumer received the first message of a topic, partition and group.
    first_ns: dict[tuple[str, int, str, str], int] = field(default_factory=dict)
    # Receipts by topic, group and half second.
    received: dict[tuple[str, str], Counter[int]] = field(default_factory=dict)

    def rows(self) -> tuple[ReceivedRow, ...]:
        found: dict[tuple[str, int, str, str], ReceivedRow] = {}
        for reading in self.readings:
            key = (reading.topic, reading.partition, reading.group, reading.consumer)
            row = found.get(key, ReceivedRow(*key, 0, 0, first_s=self.first_ns[key] / 1e9))
            foreign = row.foreign + (reading.messages if reading.producer is None else 0)
            found[key] = replace(
                row,
                messages=row.messages + reading.messages,
                bytes=row.bytes + reading.bytes,
                foreign=foreign,
            )
        return tuple(found[key] for key in sorted(found))


def scan_sent(session: SparkSession, inputs: Inputs) -> SentScan:
    """Count the sent messages by status, over time and by delay."""
    step_ns = int(inputs.step_s * 1e9)
    acked = "status = 'acked'"
    topic, producer = {"topic": "topic"}, {"producer": "producer"}
    who = topic | {"part": "coalesce(partition, -1)"} | producer
    since_due = "done_ns - due_ns"
    groupings = {
        "state": Grouping(
            who
            | {
                "state": "coalesce(status, 'queued')",
                "late": f"coalesce(done_ns > {round(inputs.load_s * 1e9)}, false)",
                "warm": f"NOT ({OF_LOAD})",
            }
        ),
        "acknowledged": Grouping(
            topic | producer | {"half": f"done_ns div {_HALF_NS}"}, where=f"{acked} AND {OF_LOAD}"
        ),
        "sent": Grouping(
            topic | producer | {"instance": "instance", "half": f"sent_ns div {_HALF_NS}"},
            "sent_ns - due_ns",
            f"sent_ns IS NOT NULL AND {OF_LOAD}",
        ),
        "due": Grouping(topic | producer | {"half": f"due_ns div {_HALF_NS}", "given": _GIVEN}, where=OF_LOAD),
        "series": Grouping(
            topic | {"step": f"due_ns div {step_ns}", "bucket": bucket_sql(since_due, SERIES_ERROR)},
            since_due,
            f"{acked} AND {OF_LOAD} AND NOT {unpaced_sql(inputs)}",
        ),
        "highest": Grouping(topic | {"part": "partition"}, "offset", f"{acked} AND offset IS NOT NULL"),
    }
    found = count_groupings(session, "sent", groupings)
    kinds: tuple[FlowKind, ...] = ("acknowledged", "sent")
    due = [row for row in found["due"] if row.producer not in inputs.unscheduled_producers]
    delays: dict[tuple[str, int, int], int] = {}
    for row in found["sent"]:
        key = (row.producer, row.instance, row.half)
        delays[key] = max(delays.get(key, 0), row.most)
    return SentScan(
        rows=_make_sent_rows(found["state"]),
        flow=tuple(point for kind in kinds for point in _make_flow(kind, found[kind], inputs.step_s)),
        series=tuple(_make_series(found["series"], inputs.step_s)),
        offered=tuple(_make_flow("due", due, inputs.step_s)),
        delays=tuple(SendDelay(*key, most / 1e9) for key, most in sorted(delays.items())),
        due=_sum_by_half(row for row in found["due"] if row.given),
        acknowledged=_sum_by_half(found["acknowledged"]),
        highest={(row.topic, row.part): row.most for row in found["highest"]},
    )


def _make_flow(kind: FlowKind, rows: Iterable[Row], step_s: float) -> list[FlowPoint]:
    """Counts of half seconds as flow points. A time step consists of whole half seconds."""
    halves = round(step_s / HALF_S)
    sums: dict[tuple[str, str, str, int], tuple[int, int]] = {}
    for row in rows:
        received = kind == "received"
        client, group = (row.consumer, row.grp) if received else (row.producer, "")
        # Steps before the start of load are rounded towards zero, as ``div`` does in SQL.
        key = (row.topic, group, client, int(row.half / halves))
        messages, size = sums.get(key, (0, 0))
        sums[key] = (messages + row.n, size + row.bytes)
    return [
        FlowPoint(kind, topic, client, group, step * step_s, messages, size)
        for (topic, group, client, step), (messages, size) in sorted(sums.items())
    ]


def _sum_by_half(rows: Iterable[Row]) -> dict[str, Counter[int]]:
    found: dict[str, Counter[int]] = defaultdict(Counter)
    for row in rows:
        found[row.topic][row.half] += row.n
    return dict(found)


def scan_producer_delays(
    session: SparkSession, inputs: Inputs, spans: Sequence[SuspectSpan], floors: Callable[[str], float]
) -> tuple[LatencyRow, ...]:
    """How long producers waited to send and for acknowledgements.

    ``floors`` gives the shortest possible time to an acknowledgement of a producer. Messages without due times have
    waited for acknowledgements only, from when they were sent.
    """
    who = {"topic": "topic", "part": "coalesce(partition, -1)", "producer": "producer"}
    groupings: dict[str, Grouping] = {}
    for kind, begun, ended in _WAITS:
        value = f"{ended} - {begun}"
        where = "sent_ns IS NOT NULL" if kind == "send_delay" else f"status = 'acked' AND {value} IS NOT NULL"
        where = f"{where} AND {OF_LOAD}"
        if begun == "due_ns":
            where = f"{where} AND NOT {unpaced_sql(inputs)}"
        keys = who | {"severe": overlap_sql(spans, begun, ended), "bucket": bucket_sql(value)}
        groupings[kind] = Grouping(keys, value, where)
    found = count_groupings(session, "sent", groupings)
    rows: list[LatencyRow] = []
    for kind, _, _ in _WAITS:
        for row in _make_delay_rows(kind, found[kind]):
            floor_s = 0.0 if kind == "send_delay" else floors(row.producer)
            rows.append(replace(row, floor_s=floor_s))
    return tuple(rows)


def make_backlog_curves(inputs: Inputs, sent: SentScan, received: ReceivedScan) -> list[BacklogCurve]:
    """What was due beside what was acknowledged, and beside what every group received, also behind engines."""
    curves = [BacklogCurve(sent.due[topic], done) for topic, done in sent.acknowledged.items() if topic in sent.due]
    sources = [(topic, topic) for topic in sent.due]
    sources += [(trace.from_, trace.to) for trace in inputs.experiment.trace if trace.from_ in sent.due]
    for source, target in sources:
        curves += [
            BacklogCurve(sent.due[source], done) for (topic, _), done in received.received.items() if topic == target
        ]
    return curves


def _make_sent_rows(rows: list[Row]) -> tuple[SentRow, ...]:
    found: dict[tuple[str, int, str], SentRow] = {}
    for row in rows:
        key = (row.topic, row.part, row.producer)
        known = found.get(key, SentRow(*key))
        name = _STATUS.get(row.state, "unanswered")
        known = replace(known, sent=known.sent + row.n, bytes=known.bytes + row.bytes)
        if row.warm:
            known = replace(known, warmup=known.warmup + row.n)
        if name == "acknowledged":
            known = replace(known, acknowledged_bytes=known.acknowledged_bytes + row.bytes)
            if row.warm:
                known = replace(
                    known,
                    acknowledged_warmup=known.acknowledged_warmup + row.n,
                    acknowledged_warmup_bytes=known.acknowledged_warmup_bytes + row.bytes,
                )
            elif row.late:
                known = replace(
                    known,
                    acknowledged_late=known.acknowledged_late + row.n,
                    acknowledged_late_bytes=known.acknowledged_late_bytes + row.bytes,
                )
        found[key] = replace(known, **{name: getattr(known, name) + row.n})
    return tuple(found[key] for key in sorted(found))


def _make_delay_rows(kind: LatencyKind, rows: list[Row]) -> list[LatencyRow]:
    builders: dict[tuple[str, int, str], SplitBuilder] = defaultdict(SplitBuilder)
    for row in rows:
        key = (row.topic, row.part, row.producer)
        builders[key].add(row.bucket, row.n, row.total, row.least, row.most, severe=row.severe)
    return [
        LatencyRow(kind, topic, partition, producer, histogram=builder.build(), clear=builder.build_clear())
        for (topic, partition, producer), builder in sorted(builders.items())
    ]


def _make_series(rows: list[Row], step_s: float) -> list[LatencyPoint]:
    builders: dict[tuple[int, str], HistogramBuilder] = defaultdict(HistogramBuilder)
    for row in rows:
        builders[row.step, row.topic].add(row.bucket, row.n, row.total, row.least, row.most)
    return [
        make_latency_point("ack_latency", topic, "", step * step_s, builder)
        for (step, topic), builder in sorted(builders.items())
    ]


def make_latency_point(
    kind: LatencyKind, topic: str, group: str, at_s: float, builder: HistogramBuilder
) -> LatencyPoint:
    histogram = builder.build()
    return LatencyPoint(
        kind, topic, group, at_s, histogram.count,
        histogram.value("p50") or 0.0, histogram.value("p99") or 0.0, histogram.value("max") or 0.0,
    )  # fmt: skip


def scan_received(session: SparkSession, inputs: Inputs) -> ReceivedScan:
    """Count the received messages by consumer and producer, and over time."""
    who = {"topic": "topic", "grp": "`group`", "consumer": "consumer"}
    groupings = {
        # Messages without offsets count as read at -1, which is no place of a log.
        "readings": Grouping(who | {"part": "partition", "producer": "producer"}, "coalesce(offset, -1)"),
        "first": Grouping(who | {"part": "partition"}, "at_ns"),
    }
    flow = {"flow": Grouping(who | {"half": f"at_ns div {_HALF_NS}"})}
    if inputs.has_warmup:
        found = count_groupings(session, "received", groupings)
        found |= count_groupings(session, "received_in_load", flow)
    else:
        found = count_groupings(session, "received", groupings | flow)
    readings = (
        Reading(row.topic, row.part, row.grp, row.consumer, row.producer, row.n, row.bytes, row.least, row.most)
        for row in found["readings"]
    )
    by_half: dict[tuple[str, str], Counter[int]] = defaultdict(Counter)
    for row in found["flow"]:
        by_half[row.topic, row.grp][row.half] += row.n
    return ReceivedScan(
        tuple(sorted(readings, key=lambda r: (r.topic, r.partition, r.group, r.consumer, r.producer or ""))),
        tuple(_make_flow("received", found["flow"], inputs.step_s)),
        {(row.topic, row.part, row.grp, row.consumer): row.least for row in found["first"]},
        dict(by_half),
    )


@dataclass(frozen=True)
class Distinct:
    """How many different messages and different offsets each group received.

    Messages are counted by topic, partition, group and producer, offsets by topic, partition and group.
    """

    messages: dict[tuple[str, int, str, str], int]
    offsets: dict[GroupPartition, int]


def scan_distinct(session: SparkSession) -> Distinct:
    """Count different messages and offsets exactly: 64 consecutive numbers share a 64-bit word, with one bit each."""
    rows = session.sql("""
        SELECT topic, part, grp, producer, sum(cast(bit_count(mask) AS BIGINT)) AS n FROM (
          SELECT topic, part, grp, producer, word, bit_or(bit) AS mask FROM (
            SELECT topic, partition AS part, `group` AS grp, NULL AS producer,
              shiftright(offset, 6) AS word, shiftleft(1L, cast(offset & 63 AS INT)) AS bit FROM received
            WHERE offset IS NOT NULL
            UNION ALL
            SELECT topic, partition, `group`, producer,
              shiftright(seq, 6), shiftleft(1L, cast(seq & 63 AS INT)) FROM received WHERE seq IS NOT NULL)
          GROUP BY topic, part, grp, producer, word)
        GROUP BY topic, part, grp, producer""").collect()
    return Distinct(
        {(r.topic, r.part, r.grp, r.producer): r.n for r in rows if r.producer is not None},
        {(r.topic, r.part, r.grp): r.n for r in rows if r.producer is None},
    )


@dataclass(frozen=True)
class LastReceipt:
    """The lowest offset that a group received from a partition, and the last batch that it received."""

    lowest: int
    # When the last batch was received, and its highest offset.
    at_ns: int
    offset: int


def scan_last(session: SparkSession, renewed: Mapping[str, int]) -> dict[GroupPartition, LastReceipt]:
    """The lowest and the last receipt of every group in every partition. Messages without offsets do not count.

    ``renewed`` gives the topics that were deleted and created again, and when. In these topics only messages count
    that were sent after that, because only they can stand in the log as it is now.
    """
    source = "received"
    if renewed:
        topics = ", ".join(literal(topic) for topic in renewed)
        times = " ".join(f"WHEN {literal(topic)} THEN {at_ns}L" for topic, at_ns in renewed.items())
        source = f"""(
            SELECT topic, partition, `group`, offset, at_ns FROM received WHERE topic NOT IN ({topics})
            UNION ALL
            SELECT r.topic, r.partition, r.`group`, r.offset, r.at_ns FROM received r JOIN sent s
              ON r.topic = s.topic AND r.producer = s.producer AND r.seq = s.seq
            WHERE s.topic IN ({topics}) AND s.sent_ns >= CASE s.topic {times} END)"""
    rows = session.sql(f"""
        SELECT r.topic, r.partition AS part, r.`group` AS grp, l.lowest, l.at_ns, max(r.offset) AS offset
        FROM {source} r JOIN (
          SELECT topic, partition, `group`, max(at_ns) AS at_ns, min(offset) AS lowest
          FROM {source} WHERE offset IS NOT NULL GROUP BY topic, partition, `group`) l
        ON r.topic = l.topic AND r.partition = l.partition AND r.`group` = l.`group` AND r.at_ns = l.at_ns
        GROUP BY r.topic, r.partition, r.`group`, l.lowest, l.at_ns""").collect()
    return {(r.topic, r.part, r.grp): LastReceipt(r.lowest, r.at_ns, r.offset) for r in rows}


def scan_sent_below(session: SparkSession, ends: Mapping[tuple[str, int], int]) -> dict[tuple[str, int], int]:
    """When the last acknowledged message below the given end offset of each partition was sent."""
    if not ends:
        return {}
    create_small_table(
        session, "log_ends", ["topic", "part", "log_end"], [(*place, end) for place, end in ends.items()]
    )
    rows = session.sql("""
        SELECT s.topic, s.partition AS part, max(s.sent_ns) AS at_ns FROM sent s JOIN log_ends e
          ON s.topic = e.topic AND s.partition = e.part
        WHERE s.status = 'acked' AND s.offset < e.log_end GROUP BY s.topic, s.partition""").collect()
    return {(row.topic, row.part): row.at_ns for row in rows}
