"""When messages were lost, failed, duplicated or out of order, so that each can be attributed to a fault.

Spark counts these anomalies in short steps of time. Each belongs to one moment:

- a message that its log lost: when it was acknowledged; where it is known with which leader it went, any fault until
  the next leader was there may have caused it
- a message that a group left out: when the group first read a later offset of the partition
- a message that failed: when it was due
- a duplicate, and a message out of order: when it was received
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stream2gym.analysis.delivery_audit import disorder_sql
from stream2gym.analysis.expected_delivery import LOST, codes
from stream2gym.analysis.result_tables import Analysis, FaultRow
from stream2gym.analysis.sql import create_small_table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Losses and failures that are at most this far from the time of a fault are attributed to it.
SLACK_S = 2.0
_KINDS = ("lost", "failed", "doubled", "out_of_order")
# Kinds whose moment may lie shortly before the fault that caused them.
_BEFORE_IT_SHOWS = ("lost", "failed")
_COUNTED_AS = {"left out": "lost"}


# A message is left out when the group never read its offset and read a later one of the partition.
_LOST = f"""
    SELECT if(NOT place_read AND on_ns IS NOT NULL, 'left out', 'lost') AS kind, topic,
      if(NOT place_read AND on_ns IS NOT NULL, on_ns, done_ns) AS at_ns
    FROM (
      SELECT topic, done_ns, lost, max(NOT lost) OVER (PARTITION BY topic, grp, part, offset) AS place_read,
        last_value(read_ns, true) OVER (PARTITION BY topic, grp, part ORDER BY offset DESC
          ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS on_ns
      FROM (
        SELECT f.topic, f.grp, f.part, f.offset, f.done_ns, NULL AS read_ns, true AS lost
        FROM fates f LEFT SEMI JOIN losers o ON f.topic = o.topic AND f.grp = o.grp
        LEFT ANTI JOIN received r
          ON r.topic = f.topic AND r.`group` = f.grp AND r.producer = f.producer AND r.seq = f.seq
        WHERE f.status = 'acked' AND f.fate IN ({codes(LOST)})
        UNION ALL
        SELECT r.topic, r.`group`, r.partition, r.offset, NULL, r.at_ns, false
        FROM received r LEFT SEMI JOIN losers o ON r.topic = o.topic AND r.`group` = o.grp))
    WHERE lost"""
_AUDITED = """LEFT SEMI JOIN ways l
      ON r.topic = l.topic AND r.partition = l.part AND r.grp = l.grp AND r.producer = l.producer"""
_DOUBLED = f"""
    SELECT 'doubled' AS kind, r.topic, r.at_ns FROM (
      SELECT topic, partition, `group` AS grp, producer, at_ns, row_number() OVER (
        PARTITION BY topic, partition, `group`, producer, seq ORDER BY at_ns, offset) AS nth
      FROM received WHERE seq IS NOT NULL) r {_AUDITED} WHERE r.nth > 1"""
_DISORDERED = f"""
    SELECT 'out_of_order' AS kind, r.topic, r.at_ns FROM ({disorder_sql(repeated=True)}) r {_AUDITED}"""


@dataclass(frozen=True)
class DeliveryAnomaly:
    """Messages of one topic that were lost, failed, duplicated or out of order at one time."""

    kind: str
    topic: str
    at_s: float
    messages: int = 1
    # Until when a fault may have caused it; None: the moment is known.
    until_s: float | None = None


def find_anomalies(session: SparkSession, found: Analysis, step_s: float) -> list[DeliveryAnomaly]:
    """Find the times of the anomalies that the audit counted, from its views ``ways`` and ``fates``."""
    losers = sorted({(row.topic, row.group) for row in found.audit if row.lost})
    queries = []
    if losers:
        create_small_table(session, "losers", ["topic", "grp"], losers)
        queries.append(_LOST)
    if any(row.failed for row in found.sent):
        queries.append("SELECT 'failed' AS kind, topic, due_ns AS at_ns FROM sent WHERE status = 'failed'")
    if any(row.duplicated for row in found.audit):
        queries.append(_DOUBLED)
    if any(row.out_of_order for row in found.audit):
        queries.append(_DISORDERED)
    if not queries:
        return []
    rows = session.sql(f"""
        SELECT kind, topic, at_ns div {int(step_s * 1e9)} AS step, count(*) AS n
        FROM ({" UNION ALL ".join(queries)}) GROUP BY kind, topic, step""").collect()
    return [DeliveryAnomaly(row.kind, row.topic, row.step * step_s, row.n) for row in rows]


def attribute_anomalies(anomalies: Iterable[DeliveryAnomaly], fault: FaultRow) -> dict[str, int]:
    """How many messages of each kind of anomaly are attributed to a fault."""
    counts = dict.fromkeys(_KINDS, 0)
    for anomaly in anomalies:
        belongs = _is_near if anomaly.kind in _BEFORE_IT_SHOWS else _is_after
        if belongs(fault, anomaly.at_s) or (anomaly.until_s is not None and _overlaps(fault, anomaly)):
            counts[_COUNTED_AS.get(anomaly.kind, anomaly.kind)] += anomaly.messages
    return counts


def _is_near(fault: FaultRow, at_s: float) -> bool:
    end = fault.horizon_s if fault.to_s is None else min(fault.to_s, fault.horizon_s)
    return fault.from_s - SLACK_S <= at_s <= end + SLACK_S


def _overlaps(fault: FaultRow, anomaly: DeliveryAnomaly) -> bool:
    """Whether a fault began while it could still cause the anomaly."""
    return anomaly.at_s <= fault.from_s <= (anomaly.until_s or anomaly.at_s)


def _is_after(fault: FaultRow, at_s: float) -> bool:
    """Whether a time lies between the beginnings of a fault and of the next one; the last fault has no next one."""
    return fault.from_s <= at_s and (fault.last or at_s <= fault.horizon_s)
