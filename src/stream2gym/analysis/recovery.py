"""What each fault cost: time without service, time to recover, backlog, losses, changes of the cluster.

Spark counts acknowledgements and deliveries in short steps of time; everything else is decided here from those
counts, purely. A fault answers for what happens until the next fault begins or the load ends.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING, Any

from stream2gym.analysis.inputs import Inputs
from stream2gym.analysis.recoverytables import FaultRow, OutageRow, RecoveryRow
from stream2gym.analysis.tables import Analysis, Change, LatencyPoint
from stream2gym.analysis.throughput import BEFORE_S, Counts, Span, recover
from stream2gym.analysis.troubles import Trouble, attribute, find_troubles

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STEP_S, MOST_STEPS = 0.05, 20_000
SETTLED_S = 2.0  # of load, before which nothing can be compared with


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
    troubles = find_troubles(session, found, step_s)
    rows = [row for fault in faults for row in recovery_rows(fault, flows, step_s, found, troubles)]
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


# ---- decided purely


def fault_rows(
    events: Sequence[Mapping[str, Any]], load_s: float, changes: Sequence[Change] = ()
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
    spans = [(float(begun[key]["t_s"]), ended.get(key)) for key in order]
    rows = []
    for number, key in enumerate(order):
        event = begun[key]
        from_s = float(event["t_s"])
        later = (float(begun[other]["t_s"]) for other in order[number + 1 :])
        end = max(load_s, ended.get(key, 0.0))
        horizon = min([at for at in later if at > from_s] + [end])
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
                query_failures=_counted(events, "query-failed", from_s, horizon),
                query_restarts=_counted(events, "query-started", from_s, horizon),
                last=horizon >= end,
                sound_s=sound_until(from_s, spans),
            )
        )
    return rows


def sound_until(from_s: float, spans: Sequence[tuple[float, float | None]]) -> float:
    """Where the time before a fault ends in which no other one was at work, or had been shortly before."""
    earlier = sorted((span for span in spans if span[0] < from_s), reverse=True)
    for begun_s, ended_s in earlier:
        if begun_s >= SETTLED_S and (ended_s is None or ended_s > from_s - BEFORE_S):
            from_s = begun_s
    return from_s


def _counted(events: Sequence[Mapping[str, Any]], kind: str, from_s: float, to_s: float) -> int:
    return sum(event["event"] == kind and from_s <= float(event["t_s"]) <= to_s for event in events)


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
    troubles: Sequence[Trouble],
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
        offered = offered_per_s(found, topic, fault.well_until_s)
        span = Span(fault.from_s, _end(fault), until_s, fault.well_until_s)
        cases = [recover(counts, span, step_s, offered) for counts in watched]
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
                **attribute([trouble for trouble in troubles if trouble.topic == topic], fault),
                latency_before_s=_before(points, fault.well_until_s, found.step_s),
                latency_during_s=_worst(points, _first_hurt(fault.from_s, found.step_s), _end(fault)),
                latency_after_s=_worst(points, _end(fault), _last_whole(fault, found.step_s)),
            )
        )
    return rows


def offered_per_s(found: Analysis, topic: str, from_s: float) -> float:
    """What producers sent in a second before the fault; infinite where nobody recorded it."""
    points = [p for p in found.flow if p.kind == "sent" and p.topic == topic]
    steps = {p.at_s for p in points if from_s - BEFORE_S <= p.at_s <= from_s - found.step_s}
    total = sum(p.messages for p in points if p.at_s in steps)
    return total / (len(steps) * found.step_s) if steps else inf


def backlog(acked: Counts, got: Counts, fault: FaultRow, step_s: float) -> tuple[int, float | None]:
    """Messages that waited because of a fault, and how long after its end they were worked off.

    What was still waiting when the load ended is followed into the time after it.
    """
    first, last = int(fault.from_s / step_s), int(fault.horizon_s / step_s)
    if fault.last:
        last = max([last, *(step + 1 for step in got)])
    waits = sum(acked.get(step, 0) - got.get(step, 0) for step in acked.keys() | got.keys() if step < first)
    usual = max(0, waits)
    begin = max(0, first - round(BEFORE_S / step_s))
    known = sum(acked.get(step, 0) for step in range(begin, first))
    at_once = max(1.0, known / max(1, first - begin))  # what is on its way in one step
    most, clear = 0, None
    end = int(_end(fault) / step_s)
    for step in range(first, last):
        waits += acked.get(step, 0) - got.get(step, 0)
        if waits - usual > most:
            most, clear = waits - usual, None
        if clear is None and step >= end and waits <= usual + at_once:
            clear = max(0.0, (step + 1) * step_s - _end(fault))
    return most, clear if most else 0.0


def outage_rows(
    fault: FaultRow, flows: Mapping[Flow, Counts], step_s: float, ends: Mapping[str, float]
) -> list[OutageRow]:
    """The silences of every client that had traffic before the fault, while its topic was written to."""
    rows = []
    first = int(fault.from_s / step_s)
    for flow, counts in sorted(flows.items()):
        last = int(min(fault.horizon_s, ends.get(flow.topic, fault.horizon_s)) / step_s)
        sound = int(fault.well_until_s / step_s)
        begin = max(0, sound - round(BEFORE_S / step_s))
        seen = [step for step in range(begin, sound) if counts.get(step)]
        if not seen:
            continue
        usual = (sound - begin) / len(seen)  # steps from one message to the next where traffic is thin
        silences = gaps(counts, seen[-1] + 1 if sound == first else first, last)
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


def _first_hurt(from_s: float, step_s: float) -> float:
    """What was due just before a fault was still on its way when it came, so its time step counts too."""
    return (from_s // step_s - 1) * step_s


def _last_whole(fault: FaultRow, step_s: float) -> float:
    """Up to where the time after a fault is not another one's already."""
    return fault.horizon_s if fault.last else _first_hurt(fault.horizon_s, step_s)


def _before(points: Sequence[LatencyPoint], well_until_s: float, step_s: float) -> float | None:
    return _worst(points, well_until_s - BEFORE_S, well_until_s - 2 * step_s)


def _worst(points: Sequence[LatencyPoint], from_s: float, to_s: float) -> float | None:
    return max((point.p99_s for point in points if from_s <= point.at_s < to_s), default=None)
