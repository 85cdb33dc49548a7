"""The first messages that prove each claim of the audit.

They are fetched from the tables where the audit said to look (``EvidencePlace``), from a short stretch of the
producer's messages.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc
import pyarrow.parquet as pq

from stream2gym.analysis.delivery_audit import EvidencePlace
from stream2gym.analysis.expected_delivery import LOST, NOT_ACKNOWLEDGED, codes
from stream2gym.analysis.inputs import Inputs
from stream2gym.analysis.result_tables import AuditRow, Evidence, PositionRow
from stream2gym.analysis.sql import literal

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PER_CLAIM = 5
_WAYS_PER_CLAIM = 3
_STRETCH = 1024
# The stored status and the fates of the messages of each claim. None: any status.
_WANTED = {
    "lost": ("acked", LOST),
    "in_flight": ("acked", ("in_flight",)),
    "unconfirmed_lost": ("unconfirmed", LOST),
    "unacknowledged_received": (None, NOT_ACKNOWLEDGED),
}


def find_evidence(
    session: SparkSession,
    inputs: Inputs,
    evidence_places: Iterable[EvidencePlace],
    audit: Iterable[AuditRow],
    positions: Iterable[PositionRow],
) -> tuple[Evidence, ...]:
    """At most a few messages for every claim that the audit makes."""
    found: list[Evidence] = []
    by_claim: dict[str, list[EvidencePlace]] = {}
    for place in evidence_places:
        by_claim.setdefault(place.claim, []).append(place)
    for claim, places in by_claim.items():
        places.sort(key=lambda place: (place.seq, place.way.number))
        messages: list[Evidence] = []
        for place in places[:_WAYS_PER_CLAIM]:
            if claim == "out_of_order":
                messages += _find_disordered(inputs, place)
            else:
                messages += _find_misdelivered(session, place)
        found += messages[:PER_CLAIM]
    if any(row.duplicated for row in audit):
        found += _find_repeated(session)
    if any(row.gaps for row in positions):
        found += _find_gaps(session)
    return tuple(found)


def _find_misdelivered(session: SparkSession, place: EvidencePlace) -> list[Evidence]:
    """The first messages of a claim, from the view ``fates`` that the audit counted."""
    way, claim = place.way, place.claim
    status, fates = _WANTED[claim]
    arrived = claim == "unacknowledged_received"
    stretch = f"seq >= {place.seq}L AND seq < {place.seq + _STRETCH}L AND producer = {literal(way.producer)}"
    mine = f"{stretch} AND topic = {literal(way.topic)}"
    rows = session.sql(f"""
        SELECT f.seq, f.offset, f.status, f.due_ns, f.done_ns, f.error, r.at_ns, r.consumer
        FROM (SELECT * FROM fates WHERE {mine} AND way = {way.number} AND fate IN ({codes(fates)})
                {f"AND status = '{status}'" if status else ""}) f
        LEFT JOIN (
          SELECT seq, min(at_ns) AS at_ns, min_by(consumer, at_ns) AS consumer FROM received
          WHERE {mine} AND `group` = {literal(way.group)} GROUP BY seq) r ON f.seq = r.seq
        WHERE r.seq IS {"NOT" if arrived else ""} NULL ORDER BY f.seq LIMIT {PER_CLAIM}""").collect()
    found = []
    for row in rows:
        outcome = _describe_outcome(row)
        if arrived:
            text = f"{outcome}, yet {row['consumer']} received it at {row['at_ns'] / 1e9:.3f} s"
        else:
            text = f"due at {row['due_ns'] / 1e9:.3f} s, {outcome}, not received by {way.group}"
        found.append(_make_evidence(place, text, row["seq"], row["offset"]))
    return found


def _describe_outcome(row: Any) -> str:
    """What became of a message at its producer: acknowledged, failed or unanswered."""
    done = "" if row["done_ns"] is None else f" at {row['done_ns'] / 1e9:.3f} s"
    if row["status"] == "acked":
        return f"acknowledged{done}"
    if row["status"] == "unconfirmed":
        return "sent without asking for an acknowledgement"
    return f"failed{done} ({row['error'] or 'no reason given'})" if row["status"] == "failed" else "unanswered"


def _find_disordered(inputs: Inputs, place: EvidencePlace) -> list[Evidence]:
    columns = ["seq", "offset", "at_ns", "consumer"]
    way = place.way
    wanted = (
        (pc.field("producer") == way.producer)
        & (pc.field("seq") >= max(0, place.seq - _STRETCH))
        & (pc.field("seq") < place.seq + _STRETCH)
        & (pc.field("topic") == way.topic)
        & (pc.field("partition") == way.partition)
        & (pc.field("group") == way.group)
    )
    rows = pq.read_table(inputs.table("received"), columns=columns, filters=wanted).to_pylist()
    found, highest, seen = [], -1, set()
    for row in sorted(rows, key=lambda row: (row["at_ns"], row["offset"] or 0)):
        if row["seq"] in seen:
            continue
        seen.add(row["seq"])
        if row["seq"] < highest:
            text = f"{row['consumer']} received it at {row['at_ns'] / 1e9:.3f} s, after message {highest}"
            found.append(_make_evidence(place, text, row["seq"], row["offset"]))
        highest = max(highest, row["seq"])
    return found[:PER_CLAIM]


def _make_evidence(place: EvidencePlace, text: str, seq: int, offset: int | None) -> Evidence:
    way = place.way
    return Evidence(place.claim, way.topic, way.partition, way.producer, way.group, text, seq, offset)


def _find_repeated(session: SparkSession) -> list[Evidence]:
    rows = session.sql(f"""
        SELECT topic, `group` AS grp, producer, seq, count(*) AS n, count(DISTINCT partition, offset) AS places,
          min(partition) AS part, min(offset) AS offset, max(offset) AS last, min(at_ns) AS at_ns,
          max(at_ns) AS last_ns
        FROM received WHERE seq IS NOT NULL GROUP BY topic, `group`, producer, seq
        HAVING count(*) > 1 ORDER BY seq LIMIT {PER_CLAIM}""").collect()
    found = []
    for row in rows:
        claim = "duplicated_in_log" if row.places > 1 else "redelivered"
        where = f"at offsets {row.offset} to {row.last}" if row.places > 1 else f"from offset {row.offset}"
        if not row.places:  # a queue without offsets: nobody knows of which kind the copy is
            claim, where = "duplicated", "from its queue"
        text = f"received {row.n} times {where}, first at {row.at_ns / 1e9:.3f} s, last at {row.last_ns / 1e9:.3f} s"
        found.append(Evidence(claim, row.topic, row.part, row.producer, row.grp, text, row.seq, row.offset))
    return found


def _find_gaps(session: SparkSession) -> list[Evidence]:
    """Runs of offsets that a group never read. They are looked for in 64-bit words with one bit for each offset."""
    rows = session.sql(f"""
        SELECT * FROM (
          SELECT *, lag(word) OVER (PARTITION BY topic, partition, grp ORDER BY word) AS before,
            lag(mask) OVER (PARTITION BY topic, partition, grp ORDER BY word) AS mask_before
          FROM (
            SELECT topic, partition, `group` AS grp, shiftright(offset, 6) AS word,
              bit_or(shiftleft(1L, cast(offset & 63 AS INT))) AS mask
            FROM received WHERE offset IS NOT NULL GROUP BY topic, partition, `group`, shiftright(offset, 6)))
        WHERE mask != -1 OR mask_before != -1 OR word > before + 1
        ORDER BY topic, partition, grp, word LIMIT {PER_CLAIM * 4}""").collect()
    found = []
    for row in rows:
        known = [] if row.before is None else _list_offsets(row.before, row.mask_before)[-1:]
        for last, following in pairwise([*known, *_list_offsets(row.word, row.mask)]):
            if following > last + 1:
                text = f"offsets {last + 1} to {following - 1} were never read"
                found.append(Evidence("offset_gaps", row.topic, row.partition, "", row.grp, text, None, last + 1))
    return found[:PER_CLAIM]


def _list_offsets(word: int, mask: int) -> list[int]:
    return [word << 6 | bit for bit in range(64) if mask >> bit & 1]
