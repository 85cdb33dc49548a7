"""The first offending messages of every claim, fetched from the tables where the audit said to look.

Looks at a short stretch of a producer's messages only and decides again, in Python, what Spark decided.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from stream2gym.analysis.delivery import Offender
from stream2gym.analysis.fate import class_of
from stream2gym.analysis.inputs import Inputs
from stream2gym.analysis.tables import AuditRow, Evidence, PositionRow

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PER_CLAIM = 5
_WAYS_PER_CLAIM = 3
_STRETCH = 1024
_WANTED = {
    "lost": "must",
    "in_flight": "flight",
    "unconfirmed_lost": "maybe",
    "unacknowledged_received": "refused",
}


def find_evidence(
    session: SparkSession,
    inputs: Inputs,
    offenders: Iterable[Offender],
    audit: Iterable[AuditRow],
    positions: Iterable[PositionRow],
) -> tuple[Evidence, ...]:
    """At most a few messages for every claim that the audit makes."""
    found: list[Evidence] = []
    by_claim: dict[str, list[Offender]] = {}
    for offender in offenders:
        by_claim.setdefault(offender.claim, []).append(offender)
    for claim, places in by_claim.items():
        places.sort(key=lambda place: (place.seq, place.way.number))
        messages: list[Evidence] = []
        for place in places[:_WAYS_PER_CLAIM]:
            look = _disordered if claim == "out_of_order" else _misdelivered
            messages += look(inputs, place)
        found += messages[:PER_CLAIM]
    if any(row.duplicated for row in audit):
        found += _repeated(session)
    if any(row.gaps for row in positions):
        found += _gaps(session)
    return tuple(found)


def _slice(inputs: Inputs, table: str, offender: Offender, columns: list[str], before: int = 0) -> list[Any]:
    way = offender.way
    wanted = (
        (pc.field("producer") == way.producer)
        & (pc.field("seq") >= max(0, offender.seq - before))
        & (pc.field("seq") < offender.seq + _STRETCH)
        & (pc.field("topic") == way.topic)
    )
    if table == "received":
        wanted &= pc.field("group") == way.group
    rows: list[Any] = pq.read_table(inputs.table(table), columns=columns, filters=wanted).to_pylist()
    return rows


def _misdelivered(inputs: Inputs, offender: Offender) -> list[Evidence]:
    way, claim = offender.way, offender.claim
    columns = ["seq", "partition", "offset", "status", "due_ns", "done_ns", "error"]
    got = {row["seq"]: row for row in _slice(inputs, "received", offender, ["seq", "at_ns", "consumer"])}
    found = []
    for row in sorted(_slice(inputs, "sent", offender, columns), key=lambda row: row["seq"]):
        partition = -1 if row["partition"] is None else row["partition"]
        if partition != way.partition or class_of(row["status"], row["offset"], way.limits) != _WANTED[claim]:
            continue
        receipt = got.get(row["seq"])
        if (receipt is not None) != (claim == "unacknowledged_received"):
            continue
        if receipt is None:
            text = f"due at {row['due_ns'] / 1e9:.3f} s, {_answer(row)}, not received by {way.group}"
        else:
            text = f"{_answer(row)}, yet {receipt['consumer']} received it at {receipt['at_ns'] / 1e9:.3f} s"
        found.append(_evidence(offender, text, row["seq"], row["offset"]))
    return found[:PER_CLAIM]


def _answer(row: dict[str, Any]) -> str:
    done = "" if row["done_ns"] is None else f" at {row['done_ns'] / 1e9:.3f} s"
    if row["status"] == "acked":
        return f"acknowledged{done}"
    if row["status"] == "unconfirmed":
        return "sent without asking for an acknowledgement"
    return (
        f"failed{done} ({row['error'] or 'no reason given'})"
        if row["status"] == "failed"
        else "never answered"
    )


def _disordered(inputs: Inputs, offender: Offender) -> list[Evidence]:
    columns = ["seq", "partition", "offset", "at_ns", "consumer"]
    rows = [
        row
        for row in _slice(inputs, "received", offender, columns, before=_STRETCH)
        if row["partition"] == offender.way.partition
    ]
    found, highest, seen = [], -1, set()
    for row in sorted(rows, key=lambda row: (row["at_ns"], row["offset"])):
        if row["seq"] in seen:
            continue
        seen.add(row["seq"])
        if row["seq"] < highest:
            text = f"{row['consumer']} received it at {row['at_ns'] / 1e9:.3f} s, after message {highest}"
            found.append(_evidence(offender, text, row["seq"], row["offset"]))
        highest = max(highest, row["seq"])
    return found[:PER_CLAIM]


def _evidence(offender: Offender, text: str, seq: int, offset: int | None) -> Evidence:
    way = offender.way
    return Evidence(offender.claim, way.topic, way.partition, way.producer, way.group, text, seq, offset)


def _repeated(session: SparkSession) -> list[Evidence]:
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
        text = f"received {row.n} times {where}, first at {row.at_ns / 1e9:.3f} s, last at {row.last_ns / 1e9:.3f} s"
        found.append(Evidence(claim, row.topic, row.part, row.producer, row.grp, text, row.seq, row.offset))
    return found


def _gaps(session: SparkSession) -> list[Evidence]:
    """Stretches of offsets that a group left out; looked for in words of 64 offsets, a bit for each."""
    rows = session.sql(f"""
        SELECT * FROM (
          SELECT *, lag(word) OVER (PARTITION BY topic, partition, grp ORDER BY word) AS before,
            lag(mask) OVER (PARTITION BY topic, partition, grp ORDER BY word) AS mask_before
          FROM (
            SELECT topic, partition, `group` AS grp, shiftright(offset, 6) AS word,
              bit_or(shiftleft(1L, cast(offset & 63 AS INT))) AS mask
            FROM received GROUP BY topic, partition, `group`, shiftright(offset, 6)))
        WHERE mask != -1 OR mask_before != -1 OR word > before + 1
        ORDER BY topic, partition, grp, word LIMIT {PER_CLAIM * 4}""").collect()
    found = []
    for row in rows:
        known = [] if row.before is None else _offsets_in(row.before, row.mask_before)[-1:]
        for last, following in pairwise([*known, *_offsets_in(row.word, row.mask)]):
            if following > last + 1:
                text = f"offsets {last + 1} to {following - 1} were never read"
                found.append(
                    Evidence("offset_gaps", row.topic, row.partition, "", row.grp, text, None, last + 1)
                )
    return found[:PER_CLAIM]


def _offsets_in(word: int, mask: int) -> list[int]:
    return [word << 6 | bit for bit in range(64) if mask >> bit & 1]
