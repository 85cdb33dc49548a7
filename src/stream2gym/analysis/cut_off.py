"""Acknowledged messages that went with a leader: the next leader of their partition never had a copy of them.

Whoever reads the topic, an engine too, this can be seen from what was sent alone. Kafka gives every offset of a
partition once. Where two messages were acknowledged at one offset, the leader that acknowledged the earlier one died
or was cut off before its followers had it, and the next leader gave the offset away again. The same happened to a
message at or beyond the end of the log that was acknowledged before the partition last changed its leader.

Messages that nobody recorded may have taken offsets, too. So there may be more messages that went this way, never
fewer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stream2gym.analysis.delivery_anomalies import DeliveryAnomaly
from stream2gym.analysis.expected_delivery import FAR
from stream2gym.analysis.inputs import Inputs
from stream2gym.analysis.positions import TopicPartition, read_kafka_offsets
from stream2gym.analysis.result_tables import CutOffRow, Evidence, LeaderSpan
from stream2gym.analysis.sql import create_small_table
from stream2gym.components.cluster import node_ids

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# A new leader may have acknowledged messages for this long before the watch of the cluster saw it.
SEEN_LATE_NS = 10_000_000_000
STEP_NS = 100_000_000
EVIDENCE = 5


@dataclass(frozen=True)
class CutOff:
    """What went with leaders: by partition, producer and leader; the first messages; and when they were
    acknowledged."""

    rows: tuple[CutOffRow, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    losses: tuple[DeliveryAnomaly, ...] = ()


def find_cut_off(session: SparkSession, inputs: Inputs, spans: Sequence[LeaderSpan]) -> CutOff:
    """Find the messages. Spark is asked only about partitions that had more than one leader."""
    led = _find_changed(inputs, spans)
    if not led:
        return CutOff()
    ends = {place: end for place, (_, end) in read_kafka_offsets(inputs).items()}
    create_small_table(
        session,
        "leader_changes",
        ["topic", "part", "since_ns", "log_end", "last_ns"],
        [
            (*place, _ns(own[1].from_s) - SEEN_LATE_NS, ends.get(place, FAR), _ns(own[-1].from_s))
            for place, own in led.items()
        ],
    )
    # Below the lowest offset that was acknowledged since shortly before the first change, nothing was given twice.
    session.sql("""
        SELECT a.*, a.done_ns < max(a.done_ns) OVER (PARTITION BY a.topic, a.part, a.offset) AS given_again,
          a.offset >= a.log_end AND a.done_ns <= a.last_ns AS beyond_end
        FROM (
          SELECT s.topic, s.partition AS part, s.producer, s.seq, s.offset, s.done_ns, c.log_end, c.last_ns
          FROM sent s JOIN leader_changes c ON s.topic = c.topic AND s.partition = c.part
          WHERE s.status = 'acked' AND s.offset IS NOT NULL) a
        JOIN (
          SELECT s.topic, s.partition AS part, min(s.offset) AS lowest
          FROM sent s JOIN leader_changes c ON s.topic = c.topic AND s.partition = c.part
          WHERE s.status = 'acked' AND s.offset IS NOT NULL AND s.done_ns >= c.since_ns
          GROUP BY s.topic, s.partition) l
        ON a.topic = l.topic AND a.part = l.part WHERE a.offset >= l.lowest""").createOrReplaceTempView("near_change")
    found = session.sql(f"""
        SELECT topic, part, producer, done_ns div {STEP_NS} AS step, count(*) AS n, min(offset) AS low,
          max(offset) AS high, min(done_ns) AS first_ns, max(done_ns) AS last_ns, min(seq) AS seq
        FROM near_change WHERE given_again OR beyond_end
        GROUP BY topic, part, producer, step ORDER BY topic, part, producer, step""").collect()
    if not found:
        return CutOff()
    names = _name_brokers(inputs, {span.leader for own in led.values() for span in own})
    return CutOff(
        tuple(_make_rows(found, led, names)),
        tuple(_make_evidence(session, led, names)),
        tuple(_make_loss(row, led[row.topic, row.part]) for row in found),
    )


def _find_changed(inputs: Inputs, spans: Iterable[LeaderSpan]) -> dict[TopicPartition, list[LeaderSpan]]:
    """The leaders of the partitions that had several, one after the other. A topic that was deleted began anew."""
    led: dict[TopicPartition, list[LeaderSpan]] = {}
    for span in sorted(spans, key=lambda span: span.from_s):
        own = led.setdefault((span.topic, span.partition), [])
        if span.leader >= 0 and (not own or own[-1].leader != span.leader):
            own.append(span)
    return {place: own for place, own in led.items() if len(own) > 1 and place[0] not in inputs.deletions}


def _make_rows(
    found: Iterable[Any], led: dict[TopicPartition, list[LeaderSpan]], names: dict[int, str]
) -> Iterable[CutOffRow]:
    rows: dict[tuple[str, int, str, int], CutOffRow] = {}
    for one in found:
        own = led[one.topic, one.part]
        number = _find_leader(own, one.first_ns)
        key = (one.topic, one.part, one.producer, number)
        before = rows.get(key)
        rows[key] = CutOffRow(
            topic=one.topic,
            partition=one.part,
            producer=one.producer,
            leader=names[own[number].leader],
            successor=names[own[number + 1].leader],
            led_from_s=own[number + 1].from_s,
            messages=one.n + (before.messages if before else 0),
            first_offset=min(one.low, before.first_offset if before else one.low),
            last_offset=max(one.high, before.last_offset if before else one.high),
            first_s=before.first_s if before else one.first_ns / 1e9,
            last_s=one.last_ns / 1e9,
        )
    return rows.values()


def _make_loss(one: Any, own: Sequence[LeaderSpan]) -> DeliveryAnomaly:
    """A message may be copied until its leader is gone, so the faults until then have caused its loss."""
    successor = own[_find_leader(own, one.first_ns) + 1]
    return DeliveryAnomaly("lost", one.topic, one.step * STEP_NS / 1e9, one.n, successor.from_s)


def _make_evidence(
    session: SparkSession, led: dict[TopicPartition, list[LeaderSpan]], names: dict[int, str]
) -> Iterable[Evidence]:
    rows = session.sql(f"""
        SELECT topic, part, producer, seq, offset, done_ns, given_again FROM near_change
        WHERE given_again OR beyond_end ORDER BY done_ns, seq LIMIT {EVIDENCE}""").collect()
    for row in rows:
        own = led[row.topic, row.part]
        number = _find_leader(own, row.done_ns)
        leader, successor = names[own[number].leader], names[own[number + 1].leader]
        now = "gave its offset to another message" if row.given_again else "has no such offset"
        text = f"acknowledged at {row.done_ns / 1e9:.3f} s while {leader} led; the next leader {successor} {now}"
        yield Evidence("lost", row.topic, row.part, row.producer, "", text, row.seq, row.offset)


def _find_leader(own: Sequence[LeaderSpan], at_ns: int) -> int:
    """Who led a partition at a moment, by number. The last leader took nothing with it."""
    later = [number for number, span in enumerate(own) if _ns(span.from_s) <= at_ns]
    return min(max(later, default=0), len(own) - 2)


def _name_brokers(inputs: Inputs, numbers: Iterable[int]) -> dict[int, str]:
    brokers = [part for part in inputs.plan.components if part.kind == "broker"]
    known = dict(zip(node_ids([part.host for part in brokers]), (part.name for part in brokers), strict=True))
    return {number: known.get(number, f"broker {number}") for number in numbers}


def _ns(seconds: float) -> int:
    return round(seconds * 1e9)
