"""What each fault cost: time without service, time to recover, backlog, losses, changes of the cluster.

Spark counts acknowledgements and deliveries in short steps of time; everything else is decided here from those
counts, purely. A fault answers for what happens until the next fault begins or the load ends.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from statistics import median
from typing import TYPE_CHECKING, Any

from stream2gym.analysis.inputs import Inputs
from stream2gym.analysis.recoverytables import FaultRow, OutageRow, RecoveryRow
from stream2gym.analysis.sql import literal
from stream2gym.analysis.tables import Analysis, Change, LatencyPoint

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STEP_S, MOST_STEPS = 0.05, 20_000
BEFORE_S = 5.0  # what counts as before a fault
SMOOTH_S = 1.0  # throughput is looked at over this time
RECOVERED = 0.95
DENSE = 3.0  # messages a step from which on an empty step is a sign of trouble
SLACK_S = 2.0  # losses so close to a fault are attributed to it

Counts = dict[int, int]  # messages by step


@dataclass(frozen=True, order=True)
class Flow:
    """Whose messages are counted."""

    side: str  # acknowledged, received
    topic: str
    client: str
    group: str


def with_recovery(session: SparkSession, inputs: Inputs, found: Analysis) -> Analysis:
    """The analysis with what its faults cost; without faults it is as it was."""
    faults = fault_rows(inputs.events, found.load_s, found.changes)
    if not faults:
        return found
    step_s = max(STEP_S, found.load_s / MOST_STEPS)
    flows = count_flows(session, step_s)
    lost = lost_times(session, found) if any(row.lost for row in found.audit) else {}
    rows = [row for fault in faults for row in recovery_rows(fault, flows, step_s, found, lost)]
    ends = sending_ends(found)
    outages = [row for fault in faults for row in outage_rows(fault, flows, step_s, ends)]
    return replace(found, faults=tuple(faults), recovery=tuple(rows), outages=tuple(outages))


# ---- from the record


def count_flows(session: SparkSession, step_s: float) -> dict[Flow, Counts]:
    """Acknowledgements and deliveries in every step of time."""
    step_ns = int(step_s * 1e9)
    rows = session.sql(f"""
        SELECT 'acknowledged' AS side, topic, producer AS client, '' AS grp,
               CAST(floor(done_ns / {step_ns}) AS BIGINT) AS step, count(*) AS n
        FROM sent WHERE status = 'acked' GROUP BY topic, producer, floor(done_ns / {step_ns})
        UNION ALL
        SELECT 'received', topic, consumer, `group`, CAST(floor(at_ns / {step_ns}) AS BIGINT), count(*)
        FROM received GROUP BY topic, consumer, `group`, floor(at_ns / {step_ns})
    """).collect()
    flows: dict[Flow, Counts] = defaultdict(dict)
    for row in rows:
        flows[Flow(row["side"], row["topic"], row["client"], row["grp"])][int(row["step"])] = int(row["n"])
    return dict(flows)


def lost_times(session: SparkSession, found: Analysis) -> dict[str, list[float]]:
    """When the lost messages of each topic were acknowledged."""
    times: dict[str, list[float]] = defaultdict(list)
    for topic, group in sorted({(row.topic, row.group) for row in found.audit if row.lost}):
        rows = session.sql(f"""
            SELECT s.done_ns FROM sent s LEFT ANTI JOIN received r
            ON r.topic = s.topic AND r.producer = s.producer AND r.seq = s.seq AND r.`group` = {literal(group)}
            WHERE s.status = 'acked' AND s.topic = {literal(topic)}
        """).collect()
        times[topic] += [row["done_ns"] / 1e9 for row in rows]
    return dict(times)


# ---- decided purely


def fault_rows(
    events: Iterable[Mapping[str, Any]], load_s: float, changes: Sequence[Change] = ()
) -> list[FaultRow]:
    """Every occurrence that was in force, in the order of their beginnings."""
    begun: dict[tuple[str, int], Mapping[str, Any]] = {}
    ended: dict[tuple[str, int], float] = {}
    for event in events:
        key = (str(event.get("fault", "")), int(event.get("instance") or 1))
        if event["event"] == "fault-applied":
            begun[key] = event
        elif event["event"] == "fault-healed":
            ended[key] = float(event["t_s"])
    order = sorted(begun, key=lambda key: float(begun[key]["t_s"]))
    rows = []
    for number, key in enumerate(order):
        event = begun[key]
        from_s = float(event["t_s"])
        later = (float(begun[other]["t_s"]) for other in order[number + 1 :])
        horizon = min([at for at in later if at > from_s] + [max(load_s, ended.get(key, 0.0))])
        mine = [change for change in changes if from_s <= change.at_s <= horizon]
        elected = [c.at_s - from_s for c in mine if c.what == "leader" and c.after >= 0]
        planned = event.get("planned_ns")
        rows.append(
            FaultRow(
                fault=key[0],
                instance=key[1],
                kind=str(event.get("do", "")),
                on=tuple(map(str, event.get("on", ()))),
                from_s=from_s,
                to_s=ended.get(key),
                horizon_s=horizon,
                planned_from_s=None if planned is None else from_s - (int(event["at_ns"]) - planned) / 1e9,
                leader_changes=sum(c.what == "leader" for c in mine),
                isr_shrinks=sum(c.what == "isr" and c.after < c.before for c in mine),
                controller_changes=sum(c.what == "controller" for c in mine),
                rebalances=sum(c.what == "rebalance" for c in mine),
                election_s=min(elected, default=None),
            )
        )
    return rows


def sending_ends(found: Analysis) -> dict[str, float]:
    """Up to when each topic was written to: a silence after that is nobody's fault."""
    ends: dict[str, float] = {}
    for point in found.flow:
        if point.kind == "sent" and point.messages:
            ends[point.topic] = max(point.at_s, ends.get(point.topic, 0.0))
    return ends


def recovery_rows(
    fault: FaultRow,
    flows: Mapping[Flow, Counts],
    step_s: float,
    found: Analysis,
    lost: Mapping[str, Sequence[float]],
) -> list[RecoveryRow]:
    """One row a topic that had traffic before the fault."""
    rows = []
    for topic in sorted({flow.topic for flow in flows}):
        acked = _sum(
            counts for flow, counts in flows.items() if (flow.side, flow.topic) == ("acknowledged", topic)
        )
        groups = sorted({flow.group for flow in flows if flow.side == "received" and flow.topic == topic})
        got = [
            _sum(counts for flow, counts in flows.items() if (flow.topic, flow.group) == (topic, group))
            for group in groups
        ]
        watched = got or [acked]
        until_s = min(fault.horizon_s, sending_ends(found).get(topic, fault.horizon_s))
        offered = offered_per_s(found, topic, fault.from_s)
        cases = [recover(counts, fault.from_s, until_s, step_s, offered) for counts in watched]
        known = [case for case in cases if case is not None]
        if not known:
            continue
        worst = max(known, key=lambda case: float("inf") if case.recovery_s is None else case.recovery_s)
        signs = [case.detection_s for case in known if case.detection_s is not None]
        signs += [c.at_s - fault.from_s for c in found.changes if fault.from_s <= c.at_s <= fault.horizon_s]
        waits = [backlog(acked, counts, fault, step_s) for counts in got]
        most = max(waits, key=lambda wait: wait[0], default=(0, None))
        points = [p for p in found.latency_series if p.kind == "latency" and p.topic == topic]
        rows.append(
            RecoveryRow(
                fault=fault.fault,
                instance=fault.instance,
                topic=topic,
                before_per_s=worst.before_per_s,
                lowest_per_s=worst.lowest_per_s,
                recovery_s=worst.recovery_s,
                detection_s=min(signs, default=None),
                backlog=most[0],
                drain_s=most[1],
                lost=sum(_near(fault, at_s) for at_s in lost.get(topic, ())),
                latency_before_s=_worst(points, fault.from_s - BEFORE_S, fault.from_s - 2 * found.step_s),
                latency_during_s=_worst(points, fault.from_s - found.step_s, _end(fault)),
                latency_after_s=_worst(points, _end(fault), fault.horizon_s),
            )
        )
    return rows


@dataclass(frozen=True)
class Recovery:
    before_per_s: float
    lowest_per_s: float
    recovery_s: float | None
    detection_s: float | None


def offered_per_s(found: Analysis, topic: str, from_s: float) -> float:
    """What producers sent in a second before the fault; infinite where nobody recorded it."""
    points = [p for p in found.flow if p.kind == "sent" and p.topic == topic]
    steps = {p.at_s for p in points if from_s - BEFORE_S <= p.at_s <= from_s - found.step_s}
    total = sum(p.messages for p in points if p.at_s in steps)
    return total / (len(steps) * found.step_s) if steps else inf


def recover(
    counts: Counts, from_s: float, horizon_s: float, step_s: float, offered_per_s: float = inf
) -> Recovery | None:
    """When throughput was back at 95 % of before and stayed there; None without traffic before the fault.

    Looked at over a second that ends at each step: with the first steps of a fault that second still reaches back
    before it, so a dip shows up by and by, and is over when a whole second was good again.
    """
    wide = max(1, round(SMOOTH_S / step_s))
    first = int(from_s / step_s)
    begin = max(0, first - round(BEFORE_S / step_s))
    if first - begin < wide:
        return None
    # The middle one of the seconds before, so that a burst after an earlier fault does not raise the bar.
    seconds = range(first - wide, begin - 1, -wide)
    before = median(sum(counts.get(one, 0) for one in range(s, s + wide)) for s in seconds) / wide
    before = min(before, offered_per_s * step_s)  # what was caught up with is not the usual either
    if before <= 0:
        return None
    wanted = RECOVERED * before * wide - 1  # one message may fall on the other side of an edge
    last = int(horizon_s / step_s)
    sums = {
        step: sum(counts.get(one, 0) for one in range(step - wide + 1, step + 1))
        for step in range(first, last)
    }
    low = [step for step, total in sums.items() if total < wanted]
    lowest = min(sums.values(), default=0) / (wide * step_s)
    if not low:
        return Recovery(before / step_s, lowest, 0.0, None)
    over = low[-1] + 1
    # The second that ends at ``over`` is the first good one; the dip ended when that began, or with the last empty
    # step where a burst of what had waited made up for it.
    silent = [step for step in range(first, over) if not counts.get(step)] if before >= DENSE else []
    good = max([over - wide + 1, *(step + 1 for step in silent[-1:])])
    back = None if over >= last else max(0.0, good * step_s - from_s)
    empty = next((step for step in range(first, low[0] + 1) if not counts.get(step)), low[0])
    return Recovery(before / step_s, lowest, back, max(0.0, empty * step_s - from_s))


def backlog(acked: Counts, got: Counts, fault: FaultRow, step_s: float) -> tuple[int, float | None]:
    """Messages that waited because of a fault, and how long after its end they were worked off."""
    first, last = int(fault.from_s / step_s), int(fault.horizon_s / step_s)
    waits = sum(acked.get(step, 0) - got.get(step, 0) for step in acked.keys() | got.keys() if step < first)
    usual = max(0, waits)
    most, clear = 0, None
    end = int(_end(fault) / step_s)
    for step in range(first, last):
        waits += acked.get(step, 0) - got.get(step, 0)
        most = max(most, waits - usual)
        if step >= end and clear is None and waits <= usual + max(1, acked.get(step, 0)):
            clear = (step + 1) * step_s - _end(fault)
    return most, clear if most else 0.0


def outage_rows(
    fault: FaultRow, flows: Mapping[Flow, Counts], step_s: float, ends: Mapping[str, float]
) -> list[OutageRow]:
    """The silences of every client that had traffic before the fault, while its topic was written to."""
    rows = []
    first = int(fault.from_s / step_s)
    for flow, counts in sorted(flows.items()):
        last = int(min(fault.horizon_s, ends.get(flow.topic, fault.horizon_s)) / step_s)
        begin = max(0, first - round(BEFORE_S / step_s))
        seen = [step for step in range(begin, first) if counts.get(step)]
        if not seen:
            continue
        usual = (first - begin) / len(seen)  # steps from one message to the next where traffic is thin
        silences = gaps(counts, seen[-1] + 1, last)
        long = [gap for gap in silences if gap > 2 * usual + 1]
        rows.append(
            OutageRow(
                fault.fault,
                fault.instance,
                "acknowledged" if flow.side == "acknowledged" else "received",
                flow.topic,
                flow.client,
                flow.group,
                longest_s=max(long, default=0) * step_s,
                total_s=sum(long) * step_s,
            )
        )
    return rows


def gaps(counts: Counts, first: int, last: int) -> list[int]:
    """The lengths of the runs of empty steps."""
    found, run = [], 0
    for step in range(first, last):
        if counts.get(step):
            found.append(run)
            run = 0
        else:
            run += 1
    return [gap for gap in [*found, run] if gap]


def _sum(many: Iterable[Counts]) -> Counts:
    total: Counts = defaultdict(int)
    for counts in many:
        for step, number in counts.items():
            total[step] += number
    return dict(total)


def _end(fault: FaultRow) -> float:
    return fault.horizon_s if fault.to_s is None else min(fault.to_s, fault.horizon_s)


def _near(fault: FaultRow, at_s: float) -> bool:
    return fault.from_s - SLACK_S <= at_s <= _end(fault) + SLACK_S


def _worst(points: Sequence[LatencyPoint], from_s: float, to_s: float) -> float | None:
    return max((point.p99_s for point in points if from_s <= point.at_s < to_s), default=None)
