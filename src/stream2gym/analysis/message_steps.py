"""When the messages of each topic were due, acknowledged and delivered, counted by Spark in short steps of time.

A message counts on several *sides*: once for its acknowledgement, once for each group that should receive it (when
the group first did), and once for each trace through an engine (when its result was first received). Messages of the
warm-up do not count.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from stream2gym.analysis.delivery_audit import Way
from stream2gym.analysis.expected_delivery import DOUBTFUL, LOST, NOT_OWED, code, codes
from stream2gym.analysis.histogram import SERIES_ERROR, bucket_sql
from stream2gym.analysis.inputs import Inputs
from stream2gym.analysis.sql import OF_LOAD, Row, literal
from stream2gym.analysis.trace_pairs import trace_pairs_sql

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SideKind = Literal["acknowledged", "received", "result"]
# delivered: acknowledged, received, or its result recognised. unanswered: nobody waits for it any more, because the
# process of its producer ended. waiting: none of the others, so that it is still owed.
Fate = Literal["delivered", "failed", "unanswered", "lost", "waiting"]
# Steps in which the process of a producer's instance ended, by producer and instance.
Ends = dict[tuple[str, int], list[int]]
# Steps in which a group read from a partition, by topic and group, then by partition. None: from any partition.
Reads = dict[tuple[str, str], dict[int | None, list[int]]]


@dataclass(frozen=True)
class MessageCount:
    """Messages of one topic and side that were due, acknowledged and settled in the same steps.

    ``group`` is empty on the side of acknowledgements, and the source topic of the trace on the side of results.
    ``due`` is the step in which a message was due or, for a producer without a schedule, sent.
    ``settled`` is the step in which its fate was known. None: it is still owed.
    """

    side: SideKind
    topic: str
    group: str
    fate: Fate
    due: int
    acknowledged: int | None
    settled: int | None
    messages: int
    took_s: float = 0.0  # the longest time from due to delivered
    has_schedule: bool = True


@dataclass(frozen=True, order=True)
class Client:
    """A producer whose acknowledgements are counted, or a consumer whose receipts are."""

    side: Literal["acknowledged", "received"]
    topic: str
    client: str
    group: str


def count_clients(session: SparkSession, step_s: float) -> dict[Client, dict[int, int]]:
    """The acknowledgements or receipts of every client, by step."""
    rows = session.sql(f"""
        SELECT 'acknowledged' AS side, topic, producer AS client, '' AS grp, {_step("done_ns", step_s)} AS step,
          count(*) AS n
        FROM sent WHERE status = 'acked' AND {OF_LOAD} GROUP BY topic, producer, step
        UNION ALL
        SELECT 'received', topic, consumer, `group`, {_step("at_ns", step_s)} AS step, count(*)
        FROM received_in_load GROUP BY topic, consumer, `group`, step
    """).collect()
    counts: dict[Client, dict[int, int]] = defaultdict(dict)
    for row in rows:
        counts[Client(row["side"], row["topic"], row["client"], row["grp"])][row["step"]] = row["n"]
    return dict(counts)


def find_sending_ends(
    session: SparkSession,
    inputs: Inputs,
    counts: Sequence[MessageCount],
    clients: Iterable[Client],
    step_s: float,
) -> dict[Client, int]:
    """The step after the last one in which a message for each client was due.

    A consumer whose group is owed nothing at the end has no entry. A producer without a schedule whose messages
    failed or were unanswered would have sent until the load ended.
    """
    load_ends = -int(-inputs.load_s // step_s)
    unscheduled = inputs.unscheduled_producers
    by_producer: dict[tuple[str, str], int] = {}
    for row in session.sql(f"""
        SELECT topic, producer, max({_step("due_ns", step_s)}) AS due,
          count_if(coalesce(status, 'queued') NOT IN ('acked', 'unconfirmed')) AS unanswered
        FROM sent WHERE {OF_LOAD} GROUP BY topic, producer""").collect():
        was_stopped = row.producer in unscheduled and row.unanswered
        by_producer[row.topic, row.producer] = load_ends if was_stopped else row.due + 1
    by_topic: dict[str, int] = {}
    for (topic, _), step in by_producer.items():
        by_topic[topic] = max(step, by_topic.get(topic, step))
    whole_run = max(by_topic.values(), default=load_ends)
    traced = {count.topic for count in counts if count.side == "result"}
    owed = {
        (count.topic, count.group if count.side == "received" else "")
        for count in counts
        if count.side != "acknowledged" and count.settled is None
    }
    ends = {}
    for client in clients:
        topic, group = client.topic, client.group
        if client.side == "acknowledged":
            ends[client] = by_producer[topic, client.client]
        elif (topic, group) in owed or (topic, "") in owed or topic not in by_topic.keys() | traced:
            ends[client] = by_topic.get(topic, whole_run)
    return ends


def count_messages(session: SparkSession, inputs: Inputs, ways: Sequence[Way], step_s: float) -> list[MessageCount]:
    """Count the messages of every topic on every side."""
    unscheduled = inputs.unscheduled_producers
    ends = _find_producer_ends(inputs.events, step_s)
    counts = [
        *_count(session, "acknowledged", _acknowledged_sql(unscheduled), step_s, ends),
        *_count_results(session, inputs, step_s),
    ]
    if any(way.observed for way in ways):
        counts += _count(session, "received", _received_sql(unscheduled), step_s, ends)
    return counts


def _step(column: str, step_s: float) -> str:
    return f"CAST(floor({column} / {int(step_s * 1e9)}) AS BIGINT)"


# ---- SQL that gives a row for each message: topic, grp, has_schedule, fate, due_ns, acked_ns, known_ns, producer,
# instance, part


def _acknowledged_sql(unscheduled: Sequence[str]) -> str:
    """Messages on the side of acknowledgements, without those sent with acks 0."""
    return f"""
        SELECT topic, '' AS grp, {_schedule_sql("producer", unscheduled)} AS has_schedule,
          CASE status WHEN 'acked' THEN 'delivered' WHEN 'failed' THEN 'failed' ELSE 'unanswered' END AS fate,
          due_ns, if(status = 'acked', done_ns, NULL) AS acked_ns,
          if(status IN ('acked', 'failed'), done_ns, NULL) AS known_ns, producer, instance, partition AS part
        FROM sent WHERE coalesce(status, 'queued') != 'unconfirmed' AND {OF_LOAD}"""


def _received_sql(unscheduled: Sequence[str]) -> str:
    """Messages on the side of each group, from the audit's view ``fates``.

    Messages that the group was not to receive, or of which nobody knows whether it was, are left out.
    """
    return f"""
        SELECT topic, grp, {_schedule_sql("producer", unscheduled)} AS has_schedule, fate, due_ns,
          if(status IN ('acked', 'unconfirmed'), done_ns, NULL) AS acked_ns,
          CASE fate WHEN 'delivered' THEN at_ns WHEN 'failed' THEN done_ns END AS known_ns, producer, instance, part
        FROM (
          SELECT topic, grp, producer, instance, part, status, due_ns, done_ns, at_ns, CASE
            WHEN at_ns IS NOT NULL THEN 'delivered'
            WHEN audited IN ({codes(LOST)}) THEN 'lost'
            WHEN audited = {code("failed")} THEN 'failed'
            WHEN audited = {code("unanswered")} THEN 'unanswered'
            ELSE 'waiting' END AS fate
          FROM (
            SELECT f.topic, f.grp, f.producer, f.instance, if(f.part < 0, NULL, f.part) AS part, f.status, f.due_ns,
              f.done_ns, r.at_ns, f.fate AS audited
            FROM fates f LEFT JOIN (
              SELECT topic, `group` AS grp, producer, seq, min(at_ns) AS at_ns FROM received
              WHERE seq IS NOT NULL GROUP BY topic, `group`, producer, seq) r
            ON f.topic = r.topic AND f.grp = r.grp AND f.producer = r.producer AND f.seq = r.seq)
          WHERE {OF_LOAD} AND (at_ns IS NOT NULL OR audited NOT IN ({codes((*NOT_OWED, *DOUBTFUL))})))"""


def _result_sql(source: str, target: str, by: str) -> str:
    """Messages on the side of a trace, with the first receipts of their results. Failed messages are left out."""
    pairs = trace_pairs_sql(source, target, by, given="coalesce(status, 'queued') != 'failed'", loose=False)
    return f"""
        SELECT {literal(target)} AS topic, {literal(source)} AS grp, true AS has_schedule,
          if(at_ns IS NULL, 'waiting', 'delivered') AS fate, due_ns, if(status = 'acked', done_ns, NULL) AS acked_ns,
          at_ns AS known_ns, '' AS producer, 1 AS instance, 0 AS part
        FROM ({pairs}) WHERE {OF_LOAD}"""


def _schedule_sql(column: str, unscheduled: Sequence[str]) -> str:
    return f"{column} NOT IN ({', '.join(map(literal, unscheduled))})" if unscheduled else "true"


# ---- counting


def _count_results(session: SparkSession, inputs: Inputs, step_s: float) -> list[MessageCount]:
    counts = []
    for trace in inputs.experiment.trace:
        if any(sub.topic == trace.to and sub.observed for sub in inputs.subscriptions()):
            counts += _count(session, "result", _result_sql(trace.from_, trace.to, trace.by), step_s, {})
    return counts


def _count(session: SparkSession, side: SideKind, messages: str, step_s: float, ends: Ends) -> list[MessageCount]:
    rows = session.sql(f"""
        SELECT topic, grp, has_schedule, fate, due, acked, known, bucket, part, producer, instance,
          count(*) AS n, max(took) AS took
        FROM (
          SELECT topic, grp, has_schedule, fate, {_step("due_ns", step_s)} AS due,
            {_step("acked_ns", step_s)} AS acked,
            {_step("known_ns", step_s)} AS known, if(fate = 'lost', part, NULL) AS part,
            if(fate = 'unanswered', producer, NULL) AS producer, if(fate = 'unanswered', instance, NULL) AS instance,
            known_ns - due_ns AS took, {bucket_sql("known_ns - due_ns", SERIES_ERROR)} AS bucket
          FROM ({messages}))
        GROUP BY topic, grp, has_schedule, fate, due, acked, known, bucket, part, producer, instance""").collect()
    reads = _read_steps(session, step_s) if any(row.fate == "lost" for row in rows) else {}
    return [_make_count(side, row, reads, ends) for row in rows]


def _make_count(side: SideKind, row: Row, reads: Reads, ends: Ends) -> MessageCount:
    fate, settled = row.fate, row.known
    if fate == "lost":
        steps = reads.get((row.topic, row.grp), {}).get(row.part, [])
        settled = _find_next(steps, row.due if row.acked is None else row.acked)
    elif fate == "unanswered":
        settled = _find_next(ends.get((row.producer, row.instance), []), row.due)
        fate = "waiting" if settled is None else "unanswered"
    took_s = (row.took or 0) / 1e9 if fate == "delivered" else 0.0
    return MessageCount(side, row.topic, row.grp, fate, row.due, row.acked, settled, row.n, took_s, row.has_schedule)


def _find_next(steps: Sequence[int], step: int) -> int | None:
    """The first of the sorted steps that is not before this one."""
    place = bisect_left(steps, step)
    return steps[place] if place < len(steps) else None


def _read_steps(session: SparkSession, step_s: float) -> Reads:
    """The steps in which each group read from each partition.

    A message that its log lost is settled when the group next reads from the partition.
    """
    rows = session.sql(f"""
        SELECT DISTINCT topic, `group` AS grp, partition AS part, {_step("at_ns", step_s)} AS step FROM received
        ORDER BY step""").collect()
    reads: Reads = defaultdict(lambda: defaultdict(list))
    for row in rows:
        # A message that was not acknowledged may have no known partition. Then any partition counts.
        for part in (row.part, None):
            reads[row.topic, row.grp][part].append(row.step)
    return reads


def _find_producer_ends(events: Sequence[Mapping[str, Any]], step_s: float) -> Ends:
    """The steps in which processes of producers died or were stopped: nobody waits for their unanswered messages."""
    ends: Ends = defaultdict(list)
    for event in events:
        if event["event"] in ("died", "stopped"):
            place = (str(event.get("component", "")), int(event.get("instance") or 1))
            ends[place].append(int(event["t_s"] // step_s))
    return {place: sorted(steps) for place, steps in ends.items()}
