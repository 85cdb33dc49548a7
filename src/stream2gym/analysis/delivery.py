"""The delivery audit: what became of every message on its way to every group that should have it.

A producer numbers its messages, so 64 neighbours fit into one machine word with a bit for each. Spark reduces
the sent and the received table to such words, one set for each class of ``fate``, and compares words instead
of messages: exact, and no row of a message ever meets another one. Order within a partition is asked by a
window over receipts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from stream2gym.analysis.fate import Limits, class_sql
from stream2gym.analysis.inputs import Inputs
from stream2gym.analysis.positions import reach_of, reach_of_unknown_partition
from stream2gym.analysis.scans import Distinct, ReceivedScan
from stream2gym.analysis.sql import small_table
from stream2gym.analysis.tables import AuditRow, PositionRow, SentRow
from stream2gym.record.messages import LANE_BITS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MASKS = ("must", "flight", "maybe", "refused", "unknown")
NOT_OBSERVED = "the consumers of this group are programs of the user's"
NO_FIRST = "the group began at the end of the log and nobody recorded where"


@dataclass(frozen=True)
class Way:
    """A producer's partition and a group that reads it, with its number in Spark and its limits."""

    number: int
    topic: str
    partition: int
    producer: str
    group: str
    limits: Limits
    acknowledged: int
    observed: bool


@dataclass(frozen=True)
class Offender:
    """Where the first message of a claim is to be found: a sequence number at or shortly after ``seq``."""

    claim: str
    way: Way
    seq: int


@dataclass(frozen=True)
class Delivery:
    audit: tuple[AuditRow, ...]
    offenders: tuple[Offender, ...]
    ways: tuple[Way, ...]


def find_ways(inputs: Inputs, sent: Iterable[SentRow], positions: list[PositionRow]) -> list[Way]:
    """Every way that a sent message should have gone."""
    by_place = {(row.topic, row.partition, row.group): row for row in positions}
    ways: list[Way] = []
    for row in sent:
        for sub in inputs.subscriptions():
            if sub.topic != row.topic:
                continue
            place = by_place.get((row.topic, row.partition, sub.group))
            if place is not None:
                reach = reach_of(place, sub.latest)
            else:
                others = [p for p in positions if p.topic == row.topic and p.group == sub.group]
                reach = reach_of_unknown_partition(others, sub.latest)
            ways.append(
                Way(
                    len(ways), row.topic, row.partition, row.producer, sub.group, Limits.of(reach),
                    row.acknowledged + row.unconfirmed, sub.observed,
                )
            )  # fmt: skip
    return ways


def audit(
    session: SparkSession,
    ways: list[Way],
    received: ReceivedScan,
    distinct: dict[tuple[str, int, str, str | None], Distinct],
) -> Delivery:
    """Count the fate of every message; ``offenders`` say where to look for evidence."""
    seen = [way for way in ways if way.observed]
    rows = {way.number: _row(way) for way in ways}
    offenders: list[Offender] = []
    if seen:
        _fates(session, seen, rows, offenders)
    copies: dict[tuple[str, int, str, str], int] = {}
    for reading in received.readings:
        if reading.producer is not None:
            key = (reading.topic, reading.partition, reading.group, reading.producer)
            copies[key] = copies.get(key, 0) + reading.messages
    for way in seen:
        key = (way.topic, way.partition, way.group, way.producer)
        different = distinct.get(key)
        if different is not None:
            again = copies[key] - different.messages
            in_log = min(again, max(0, different.offsets - different.messages))
            rows[way.number] = replace(
                rows[way.number],
                copies=copies[key],
                duplicated_in_log=in_log,
                redelivered=again - in_log,
            )
    repeated = any(row.duplicated for row in rows.values())
    for (topic, partition, group, producer), (count, first) in _disorder(session, repeated).items():
        for way in seen:
            if (way.topic, way.partition, way.group, way.producer) == (topic, partition, group, producer):
                rows[way.number] = replace(rows[way.number], out_of_order=count)
                offenders.append(Offender("out_of_order", way, first))
    return Delivery(tuple(rows[way.number] for way in ways), tuple(offenders), tuple(ways))


def _row(way: Way) -> AuditRow:
    row = AuditRow(way.topic, way.partition, way.producer, way.group)
    if way.observed:
        return row
    return replace(row, unknown=way.acknowledged, why_unknown=NOT_OBSERVED)


def _fates(
    session: SparkSession, ways: list[Way], rows: dict[int, AuditRow], offenders: list[Offender]
) -> None:
    small_table(
        session,
        "ways",
        ["way", "topic", "part", "producer", "grp", "low", "gone", "position", "cut", "reached_end", "blind"],
        [
            (
                way.number, way.topic, way.partition, way.producer, way.group, way.limits.low, way.limits.gone,
                way.limits.position, way.limits.cut, way.limits.reached_end, way.limits.blind,
            )
            for way in ways
        ],
    )  # fmt: skip
    masks = ", ".join(f"bit_or(if(class = '{name}', bit, 0L)) AS {name}" for name in _MASKS)
    counts = {
        "expected": "must | flight",
        "received": "got & (must | flight | maybe | later | refused | unknown)",
        "lost": "must & ~got",
        "in_flight": "flight & ~got",
        "unconfirmed_lost": "maybe & ~got",
        "unacknowledged_received": "refused & got",
        "unknown": "unknown & ~got",
    }
    claims = ("lost", "in_flight", "unconfirmed_lost", "unacknowledged_received")
    text = f"""
        WITH meant AS (
          SELECT way, topic, grp, producer, word, {masks},
            bit_or(if(class = 'maybe_flight', bit, 0L)) AS later
          FROM (
            SELECT l.way, l.topic, l.grp, l.producer, shiftright(s.seq, 6) AS word,
              shiftleft(1L, cast(s.seq & 63 AS INT)) AS bit, {class_sql()} AS class
            FROM sent s JOIN ways l
              ON s.topic = l.topic AND coalesce(s.partition, -1) = l.part AND s.producer = l.producer)
          GROUP BY way, topic, grp, producer, word),
        had AS (
          SELECT topic, `group` AS grp, producer, shiftright(seq, 6) AS word,
            bit_or(shiftleft(1L, cast(seq & 63 AS INT))) AS got
          FROM received WHERE seq IS NOT NULL GROUP BY topic, `group`, producer, shiftright(seq, 6)),
        both AS (
          SELECT m.*, coalesce(h.got, 0L) AS got FROM meant m LEFT JOIN had h
            ON m.topic = h.topic AND m.grp = h.grp AND m.producer = h.producer AND m.word = h.word)
        SELECT way,
          {", ".join(f"sum(cast(bit_count({mask}) AS BIGINT)) AS {name}" for name, mask in counts.items())},
          {", ".join(f"min(if(({counts[name]}) != 0, word, null)) AS first_{name}" for name in claims)}
        FROM both GROUP BY way"""
    by_number = {way.number: way for way in ways}
    for found in session.sql(text).collect():
        way = by_number[found.way]
        why = NO_FIRST if found.unknown else ""
        rows[way.number] = replace(
            rows[way.number], why_unknown=why, **{name: found[name] for name in counts}
        )
        for claim in claims:
            word = found[f"first_{claim}"]
            if word is not None:
                offenders.append(Offender(claim, way, word << 6))


def _disorder(session: SparkSession, repeated: bool) -> dict[tuple[str, int, str, str], tuple[int, int]]:
    """Messages received after a later one of their producer and partition: how many, and the first's number.

    Only first receipts count: reading again what was read before is redelivery, not disorder.
    """
    source = """SELECT topic, partition, `group` AS grp, producer, seq, at_ns, offset
        FROM received WHERE seq IS NOT NULL"""
    if repeated:
        source = f"""SELECT topic, partition, grp, producer, seq, min(at_ns) AS at_ns, min(offset) AS offset
            FROM ({source}) GROUP BY topic, partition, grp, producer, seq"""
    rows = session.sql(f"""
        SELECT topic, partition, grp, producer, count(*) AS n, min(seq) AS first FROM (
          SELECT topic, partition, grp, producer, seq, max(seq) OVER (
            PARTITION BY partition, shiftright(seq, {LANE_BITS}), producer, grp, topic
            ORDER BY at_ns, offset ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
          FROM ({source}))
        WHERE seq < before GROUP BY topic, partition, grp, producer""").collect()
    return {(row.topic, row.partition, row.grp, row.producer): (row.n, row.first) for row in rows}
