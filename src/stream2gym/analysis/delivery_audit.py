"""The delivery audit: what became of every message on its way to every group that should have it.

A *way* is a partition, a producer that writes to it and a group that reads it. ``expected_delivery`` decides the
*fate* of a message on a way that the group did not receive.

The audit is exact and joins no messages. A producer numbers its messages, so that 64 consecutive numbers fit into one
64-bit word with one bit each. Spark reduces the sent table to words, one set of words for each fate, and the received
table to words of what each group received. Then it compares words instead of messages. Whether messages came in order
is asked by a window over the receipts of a partition.

A message that failed or was unanswered may have no partition. It belongs to the partition in which a consumer found
it, or to partition -1 if none did.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass, fields, replace
from typing import TYPE_CHECKING

from stream2gym.analysis.expected_delivery import LOST, NOT_ACKNOWLEDGED, UNKNOWN, Limits, code, codes, fate_sql
from stream2gym.analysis.inputs import Inputs
from stream2gym.analysis.positions import (
    GroupProgress,
    TopicPartition,
    make_limits,
    make_limits_of_unknown_partition,
)
from stream2gym.analysis.result_tables import AuditRow, SentRow
from stream2gym.analysis.sql import create_small_table, literal
from stream2gym.analysis.table_scans import Distinct, GroupPartition, ReceivedScan
from stream2gym.record.messages import LANE_BITS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOT_OBSERVED = "the consumers of this group are programs of the user's"
WHY_UNKNOWN = {
    "unknown_start": "the group began at the end of the log and nobody recorded where",
    "unknown_deletion": "acknowledged while a fault deleted the topic",
    "unknown_key": "the topic is compacted, and a message of the same key may have taken the place of this one",
}
WHY_IN_FLIGHT = "the drain ended before the group had read to the end"
NO_END = "Kafka's end offset is unknown"
NO_QUEUE_END = "nobody knows what was left in the queue of the group"


@dataclass(frozen=True)
class Way:
    """A partition, a producer that writes to it and a group that reads it."""

    # Names the way in Spark.
    number: int
    topic: str
    partition: int
    producer: str
    group: str
    limits: Limits
    # Messages that were acknowledged, or sent with acks 0.
    acknowledged: int
    # Whether recording consumers make up the group.
    observed: bool
    # What to say of the fates that are unknown because Kafka's end offset is.
    no_end: str


@dataclass(frozen=True)
class EvidencePlace:
    """Where to look for the first message that a claim is about: at sequence number ``seq`` or shortly after it."""

    claim: str
    way: Way
    seq: int


@dataclass(frozen=True)
class Delivery:
    """The result of the audit: a row for each way in the same order, and where to look for evidence."""

    audit: tuple[AuditRow, ...]
    evidence_places: tuple[EvidencePlace, ...]
    ways: tuple[Way, ...]


def find_ways(
    inputs: Inputs,
    sent: Iterable[SentRow],
    received: ReceivedScan,
    progresses: Mapping[GroupPartition, GroupProgress],
    cut_ns: Mapping[TopicPartition, int],
) -> list[Way]:
    """Every way that a sent message should have gone, or has gone."""
    acknowledged: dict[tuple[str, int, str], int] = {}
    for row in sent:
        acknowledged[row.topic, row.partition, row.producer] = row.acknowledged + row.unconfirmed
    writers = {(topic, producer) for topic, _, producer in acknowledged}
    for reading in received.readings:
        if reading.producer is not None and (reading.topic, reading.producer) in writers:
            acknowledged.setdefault((reading.topic, reading.partition, reading.producer), 0)
    by_topic: dict[str, list[tuple[GroupPartition, GroupProgress]]] = {}
    for place, progress in progresses.items():
        by_topic.setdefault(place[0], []).append((place, progress))
    why = {str(e.get("place")): str(e.get("reason")) for e in inputs.events if e.get("event") == "offsets-unknown"}
    no_ends = dict.fromkeys(inputs.queue_topics, NO_QUEUE_END)
    subscriptions = inputs.subscriptions()
    ways: list[Way] = []
    for (topic, partition, producer), messages in sorted(acknowledged.items()):
        if (topic, producer) in inputs.forwarding_writers:
            # Its messages are received under the names of those that they came from: the trace tells of them.
            continue
        for sub in subscriptions:
            if sub.topic != topic:
                continue
            own = progresses.get((topic, partition, sub.group))
            if own is not None:
                limits = make_limits(inputs, topic, own, sub.latest, cut_ns.get((topic, partition)))
            else:
                everywhere = [r for place, r in by_topic.get(topic, ()) if place[2] == sub.group]
                limits = make_limits_of_unknown_partition(inputs, topic, everywhere, sub.latest)
            reason = why.get(f"{topic}/{partition}")
            no_end = no_ends.get(topic, NO_END)
            ways.append(
                Way(
                    len(ways), topic, partition, producer, sub.group, limits, messages, sub.observed,
                    f"{no_end}: {reason}" if reason else no_end,
                )
            )  # fmt: skip
    return ways


def audit(session: SparkSession, ways: list[Way], received: ReceivedScan, distinct: Distinct) -> Delivery:
    """Count the fates of all messages, their copies and those out of order, on every way to an observed group."""
    seen = [way for way in ways if way.observed]
    rows = {way.number: _make_row(way) for way in ways}
    evidence_places: list[EvidencePlace] = []
    if seen:
        open_fates(session, seen)
        _count_fates(session, seen, rows, evidence_places)
    copies: dict[tuple[str, int, str, str], int] = {}
    for reading in received.readings:
        if reading.producer is not None:
            key = (reading.topic, reading.partition, reading.group, reading.producer)
            copies[key] = copies.get(key, 0) + reading.messages
    repeated = any(copies[key] > number for key, number in distinct.messages.items())
    standing_at = _count_message_offsets(session) if repeated else {}
    disorder = _count_disorder(session, repeated)
    for way in seen:
        key = (way.topic, way.partition, way.group, way.producer)
        if key in copies:
            different = distinct.messages[key]
            standing = standing_at.get(key, different)
            rows[way.number] = replace(
                rows[way.number],
                copies=copies[key],
                duplicated_in_log=standing - different,
                redelivered=copies[key] - standing,
            )
        if key in disorder:
            count, first = disorder[key]
            rows[way.number] = replace(rows[way.number], out_of_order=count)
            evidence_places.append(EvidencePlace("out_of_order", way, first))
    return Delivery(tuple(rows[way.number] for way in ways), tuple(evidence_places), tuple(ways))


def _make_row(way: Way) -> AuditRow:
    row = AuditRow(way.topic, way.partition, way.producer, way.group)
    if way.observed:
        return row
    return replace(row, unknown=way.acknowledged, why_unknown=NOT_OBSERVED)


def open_fates(session: SparkSession, ways: list[Way]) -> None:
    """Make two views known to Spark SQL: ``ways``, and ``fates`` with every sent message on each of its ways.

    A row of ``fates`` is a sent message with its way and ``fate``, the code of what became of it if the group did not
    receive it.
    """
    names = [field.name for field in fields(Limits)]
    create_small_table(
        session,
        "ways",
        ["way", "topic", "part", "producer", "grp", *names],
        [(way.number, way.topic, way.partition, way.producer, way.group, *astuple(way.limits)) for way in ways],
    )
    compacted = {way.topic for way in ways if way.limits.compacted}
    has_unplaced = any(way.partition < 0 for way in ways)
    session.sql(f"""
        SELECT l.way, l.topic, l.grp, l.producer, s.instance, s.seq, l.part, s.offset, s.status, s.due_ns, s.done_ns,
          s.error, {fate_sql(bool(compacted))} AS fate
        FROM ({_keyed_sql(_placed_sql(has_unplaced), compacted)}) s JOIN ways l
          ON s.topic = l.topic AND s.part = l.part AND s.producer = l.producer""").createOrReplaceTempView("fates")


def _placed_sql(has_unplaced: bool) -> str:
    """Sent messages with ``part``, the partition that each belongs to. ``has_unplaced``: some were told none."""
    if not has_unplaced:
        return "SELECT *, partition AS part FROM sent"
    return """
        SELECT *, partition AS part FROM sent WHERE partition IS NOT NULL
        UNION ALL
        SELECT s.*, coalesce(f.part, -1) AS part FROM sent s LEFT JOIN (
          SELECT r.topic, r.producer, r.seq, min(r.partition) AS part
          FROM received r LEFT SEMI JOIN (SELECT topic, producer, seq FROM sent WHERE partition IS NULL) n
            ON r.topic = n.topic AND r.producer = n.producer AND r.seq = n.seq
          GROUP BY r.topic, r.producer, r.seq) f
        ON s.topic = f.topic AND s.producer = f.producer AND s.seq = f.seq
        WHERE s.partition IS NULL"""


def _keyed_sql(placed: str, topics: set[str]) -> str:
    """Sent messages with ``later_key`` and ``loose_key``, where topics are compacted; see ``fate_sql``."""
    if not topics:
        return placed
    mine = f"key_hash IS NOT NULL AND topic IN ({', '.join(map(literal, sorted(topics)))})"
    return f"""
        SELECT p.*, coalesce(p.offset < k.last, false) AS later_key, q.key_hash IS NOT NULL AS loose_key
        FROM ({placed}) p
        LEFT JOIN (
          SELECT topic, partition, key_hash, max(offset) AS last FROM (
            SELECT topic, partition, key_hash, offset FROM sent WHERE offset IS NOT NULL AND {mine}
            UNION ALL
            SELECT topic, partition, key_hash, offset FROM received WHERE {mine})
          GROUP BY topic, partition, key_hash) k
        ON p.topic = k.topic AND p.part = k.partition AND p.key_hash = k.key_hash
        LEFT JOIN (SELECT DISTINCT topic, key_hash FROM sent WHERE offset IS NULL AND {mine}) q
        ON p.topic = q.topic AND p.key_hash = q.key_hash"""


_CLAIMS = ("lost", "in_flight", "unconfirmed_lost", "unacknowledged_received")


def _make_masks(possible: frozenset[str]) -> dict[str, str]:
    """The sets of messages of a word, each as SQL that gives the bit of a message or 0.

    There is one set for each possible fate, and further ones. Fates that only acknowledged messages can have leave
    out messages that were sent with acks 0.
    """
    masks = {
        "every": "bit",
        "acknowledged": "if(status = 'acked', bit, 0L)",
        "silent_lost": f"if(status = 'unconfirmed' AND fate IN ({codes(LOST)}), bit, 0L)",
        "silent_open": f"if(status = 'unconfirmed' AND fate IN ({codes(('in_flight', *UNKNOWN))}), bit, 0L)",
    }
    for fate in sorted(possible):
        acknowledged = "AND status = 'acked'" if fate in (*LOST, "in_flight", *UNKNOWN) else ""
        masks[fate] = f"if(fate = {code(fate)} {acknowledged}, bit, 0L)"
    return masks


def _make_counts(possible: frozenset[str]) -> dict[str, str]:
    """What is counted, in terms of the sets of ``_make_masks`` and of ``got``, the messages that the group
    received."""

    def any_of(*fates: str) -> str:
        return f"({' | '.join(fate for fate in fates if fate in possible) or '0L'})"

    counts = {
        "expected": f"(acknowledged & got) | {any_of(*LOST, 'in_flight')}",
        "received": "every & got",
        "unacknowledged_received": f"{any_of(*NOT_ACKNOWLEDGED)} & got",
        "lost": f"{any_of(*LOST)} & ~got",
        "unconfirmed_lost": "silent_lost & ~got",
        "unconfirmed_in_flight": "silent_open & ~got",
        "unanswered_in_flight": f"{any_of('unanswered')} & ~got",
    }
    return counts | {
        fate: f"{any_of(fate)} & ~got" for fate in ("in_flight", "expired", "deleted", "compacted", *UNKNOWN)
    }


def _count_fates(
    session: SparkSession, ways: list[Way], rows: dict[int, AuditRow], evidence_places: list[EvidencePlace]
) -> None:
    possible = frozenset(fate for way in ways for fate in way.limits.possible)
    counts = _make_counts(possible)
    masks = _make_masks(possible)
    text = f"""
        WITH meant AS (
          SELECT way, topic, grp, producer, word,
            {", ".join(f"bit_or({mask}) AS {name}" for name, mask in masks.items())}
          FROM (SELECT *, shiftright(seq, 6) AS word, shiftleft(1L, cast(seq & 63 AS INT)) AS bit FROM fates)
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
          {", ".join(f"min(if(({counts[name]}) != 0, word, null)) AS first_{name}" for name in _CLAIMS)}
        FROM both GROUP BY way"""
    by_number = {way.number: way for way in ways}
    for found in session.sql(text).collect():
        way = by_number[found.way]
        whys = {**WHY_UNKNOWN, "unknown_end": way.no_end}
        rows[way.number] = replace(
            rows[way.number],
            **{name: found[name] for name in counts if name not in UNKNOWN},
            unknown=sum(found[name] for name in UNKNOWN),
            why_unknown="; ".join(whys[name] for name in UNKNOWN if found[name]),
            why_in_flight=WHY_IN_FLIGHT if found.in_flight else "",
        )
        for claim in _CLAIMS:
            word = found[f"first_{claim}"]
            if word is not None:
                evidence_places.append(EvidencePlace(claim, way, word << 6))


def _count_message_offsets(session: SparkSession) -> dict[tuple[str, int, str, str], int]:
    """How many different pairs of a message and an offset groups received: a message at two offsets counts twice."""
    rows = session.sql("""
        SELECT topic, partition, grp, producer, count(*) AS n FROM (
          SELECT DISTINCT topic, partition, `group` AS grp, producer, seq, offset FROM received WHERE seq IS NOT NULL)
        GROUP BY topic, partition, grp, producer""").collect()
    return {(row.topic, row.partition, row.grp, row.producer): row.n for row in rows}


def disorder_sql(repeated: bool) -> str:
    """SQL for messages that a group first received after a later message of the same producer, start and partition.

    Only the first receipt of a message counts, because a later one is a redelivery. The messages of a batch were
    received at one time, and are ordered by their offsets.
    """
    source = """SELECT topic, partition, `group` AS grp, producer, seq, at_ns, offset
        FROM received WHERE seq IS NOT NULL"""
    if repeated:
        source = f"""SELECT topic, partition, grp, producer, seq, first.at_ns, first.offset FROM (
            SELECT topic, partition, grp, producer, seq, min(struct(at_ns, offset)) AS first
            FROM ({source}) GROUP BY topic, partition, grp, producer, seq)"""
    return f"""
        SELECT * FROM (
          SELECT topic, partition, grp, producer, seq, at_ns, max(seq) OVER (
            PARTITION BY partition, shiftright(seq, {LANE_BITS}), producer, grp, topic
            ORDER BY at_ns, offset ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
          FROM ({source}))
        WHERE seq < before"""


def _count_disorder(session: SparkSession, repeated: bool) -> dict[tuple[str, int, str, str], tuple[int, int]]:
    """How many messages came out of order, and the lowest sequence number among them."""
    rows = session.sql(f"""
        SELECT topic, partition, grp, producer, count(*) AS n, min(seq) AS first FROM ({disorder_sql(repeated)})
        GROUP BY topic, partition, grp, producer""").collect()
    return {(row.topic, row.partition, row.grp, row.producer): (row.n, row.first) for row in rows}
