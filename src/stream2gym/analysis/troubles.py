"""When messages were lost, failed, doubled or put out of order, so that each can be held against a fault.

A message that its log lost belongs to the time at which it was acknowledged; one that a group left out, to the time
at which the group read on behind it; a failure to the time at which its message was due; a copy and a message out of
order to the time of their receipt. Spark counts them in short steps of time.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stream2gym.analysis.recoverytables import FaultRow
from stream2gym.analysis.sql import literal
from stream2gym.analysis.tables import Analysis
from stream2gym.record.messages import LANE_BITS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SLACK_S = 2.0  # losses and failures so close to a fault are attributed to it
_KINDS = ("lost", "failed", "doubled", "out_of_order")
_BEFORE_IT_SHOWS = ("lost", "failed")
_COUNTED_AS = {"left out": "lost"}
_FIRSTS = """SELECT topic, partition, `group` AS grp, producer, seq, min(at_ns) AS at_ns, min(offset) AS offset
    FROM received WHERE seq IS NOT NULL GROUP BY topic, partition, `group`, producer, seq"""


@dataclass(frozen=True)
class Trouble:
    """Messages of one topic that something happened to at a time."""

    kind: str
    topic: str
    at_s: float
    messages: int = 1


def find_troubles(session: SparkSession, found: Analysis, step_s: float) -> list[Trouble]:
    """Only what the audit counted is looked for."""
    queries = []
    for topic, group in sorted({(row.topic, row.group) for row in found.audit if row.lost}):
        queries.append(
            ("lost", f"SELECT topic, done_ns AS at_ns FROM ({_lost_sql(topic, group)}) WHERE NOT left_out")
        )
        queries.append(
            ("left out", f"SELECT topic, on_ns AS at_ns FROM ({_lost_sql(topic, group)}) WHERE left_out")
        )
    if any(row.failed for row in found.sent):
        queries.append(("failed", "SELECT topic, due_ns AS at_ns FROM sent WHERE status = 'failed'"))
    if any(row.duplicated for row in found.audit):
        queries.append(("doubled", _doubled_sql()))
    if any(row.out_of_order for row in found.audit):
        queries.append(("out_of_order", _disordered_sql()))
    step_ns = int(step_s * 1e9)
    return [
        Trouble(kind, row.topic, row.step * step_s, row.n)
        for kind, text in queries
        for row in session.sql(
            f"SELECT topic, at_ns div {step_ns} AS step, count(*) AS n FROM ({text}) GROUP BY topic, step"
        ).collect()
    ]


def attribute(troubles: Iterable[Trouble], fault: FaultRow) -> dict[str, int]:
    """How many messages of each kind of trouble fall into the time that a fault answers for."""
    counts = dict.fromkeys(_KINDS, 0)
    for trouble in troubles:
        belongs = _near if trouble.kind in _BEFORE_IT_SHOWS else _since
        if belongs(fault, trouble.at_s):
            counts[_COUNTED_AS.get(trouble.kind, trouble.kind)] += trouble.messages
    return counts


def _near(fault: FaultRow, at_s: float) -> bool:
    end = fault.horizon_s if fault.to_s is None else min(fault.to_s, fault.horizon_s)
    return fault.from_s - SLACK_S <= at_s <= end + SLACK_S


def _since(fault: FaultRow, at_s: float) -> bool:
    """Up to the next fault; what is received after the load is still the doing of the last one."""
    return fault.from_s <= at_s and (fault.last or at_s <= fault.horizon_s)


def _lost_sql(topic: str, group: str) -> str:
    """Lost messages; left out: nobody of the group read their place, and somebody read on behind it."""
    mine = f"topic = {literal(topic)} AND `group` = {literal(group)}"
    return f"""
        SELECT topic, done_ns, on_ns, NOT place_read AND on_ns IS NOT NULL AS left_out FROM (
          SELECT topic, done_ns, lost, max(NOT lost) OVER (PARTITION BY partition, offset) AS place_read,
            last_value(read_ns, true) OVER (PARTITION BY partition ORDER BY offset DESC
              ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS on_ns
          FROM (
            SELECT topic, partition, offset, done_ns, NULL AS read_ns, true AS lost
            FROM sent s LEFT ANTI JOIN (SELECT producer, seq FROM received WHERE {mine}) r
              ON r.producer = s.producer AND r.seq = s.seq
            WHERE s.status = 'acked' AND s.topic = {literal(topic)}
            UNION ALL
            SELECT topic, partition, offset, NULL, at_ns, false FROM received WHERE {mine}))
        WHERE lost"""


def _doubled_sql() -> str:
    return """
        SELECT topic, at_ns FROM (
          SELECT topic, at_ns, row_number() OVER (
            PARTITION BY topic, `group`, producer, seq ORDER BY at_ns, offset) AS nth
          FROM received WHERE seq IS NOT NULL)
        WHERE nth > 1"""


def _disordered_sql() -> str:
    return f"""
        SELECT topic, at_ns FROM (
          SELECT topic, at_ns, seq, max(seq) OVER (
            PARTITION BY partition, shiftright(seq, {LANE_BITS}), producer, grp, topic
            ORDER BY at_ns, offset ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
          FROM ({_FIRSTS}))
        WHERE seq < before"""
