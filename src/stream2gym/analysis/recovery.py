"""What each fault cost: outages, time to recover, backlog, losses, changes of the cluster.

Spark counts messages in short steps of time (``message_steps``). Everything else is decided from those counts,
purely. A fault answers for what happens until the next fault begins or the drain ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING, Any

from stream2gym.analysis.client_outages import find_outages
from stream2gym.analysis.debt import (
    BEFORE_S,
    LEAST_BEFORE_S,
    NOTHING_OFFERED,
    Counts,
    FaultPeriod,
    cumulate,
    sum_counts,
)
from stream2gym.analysis.delivery_anomalies import DeliveryAnomaly, attribute_anomalies, find_anomalies
from stream2gym.analysis.delivery_audit import Way
from stream2gym.analysis.elections import find_election
from stream2gym.analysis.fault_costs import (
    Percentile,
    TopicCounts,
    find_group_backlog,
    find_topic_recovery,
    measure_fault_latency,
    measure_throughput,
)
from stream2gym.analysis.inputs import Inputs
from stream2gym.analysis.message_steps import (
    Client,
    MessageCount,
    count_clients,
    count_messages,
    find_sending_ends,
)
from stream2gym.analysis.result_tables import (
    Analysis,
    BacklogRow,
    Change,
    DebtPoint,
    FaultRow,
    LeaderSpan,
    RecoveryRow,
)
from stream2gym.analysis.run_history import FaultWindow, find_fault_windows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# The length of a step. Long runs have longer steps, so that there are at most ``MOST_STEPS`` of them.
STEP_S = 0.1
MOST_STEPS = 10_000
# The most points of one line of a figure.
MOST_POINTS = 600
# A fault that begins before this moment of the load has no undisturbed time that a later fault could be compared
# with.
SETTLED_S = 2.0


@dataclass(frozen=True)
class RunCounts:
    """What was counted of a run in steps of ``step_s`` seconds."""

    step_s: float
    # The ends of the drain and of the load.
    end_s: float
    load_s: float
    messages: Sequence[MessageCount] = ()
    # Acknowledgements or receipts of each client, and the step after the last one in which a message for it was due.
    clients: Mapping[Client, Counts] | None = None
    sending_ends: Mapping[Client, int] | None = None

    def topics(self) -> list[TopicCounts]:
        """What was counted of each topic."""
        by_topic: dict[str, list[MessageCount]] = {client.topic: [] for client in self.clients or {}}
        for count in self.messages:
            by_topic.setdefault(count.topic, []).append(count)
        load_ends = -int(-self.load_s // self.step_s)
        return [
            TopicCounts.of(name, counts, self.receipts(name).values(), load_ends, self.step_s)
            for name, counts in sorted(by_topic.items())
        ]

    def receipts(self, topic: str) -> dict[str, Counts]:
        """The receipts of a topic, by group."""
        mine = {c: n for c, n in (self.clients or {}).items() if (c.side, c.topic) == ("received", topic)}
        groups = sorted({client.group for client in mine})
        return {group: sum_counts(n for client, n in mine.items() if client.group == group) for group in groups}

    def acknowledgements(self, topic: str) -> Counts:
        return sum_counts(
            counts
            for client, counts in (self.clients or {}).items()
            if (client.side, client.topic) == ("acknowledged", topic)
        )


def add_recovery(
    session: SparkSession,
    inputs: Inputs,
    found: Analysis,
    ways: Sequence[Way],
    unread_losses: Sequence[DeliveryAnomaly] = (),
) -> Analysis:
    """The analysis with the tables of what its faults cost. An analysis without faults is returned as it is.

    ``unread_losses`` are losses in topics that no group of the audit reads.
    """
    end_s = inputs.drain_end_s
    faults = make_fault_rows(inputs.events, end_s, found.changes, found.leaders)
    if not faults:
        return found
    step_s = max(STEP_S, found.load_s / MOST_STEPS)
    messages = count_messages(session, inputs, ways, step_s)
    clients = count_clients(session, step_s)
    ends = find_sending_ends(session, inputs, messages, clients, step_s)
    counted = RunCounts(step_s, end_s, found.load_s, messages, clients, ends)
    anomalies = [*find_anomalies(session, found, step_s), *unread_losses]
    topics = counted.topics()
    rows, backlogs = make_recovery_rows(faults, topics, counted, found.changes, anomalies)
    return replace(
        found,
        faults=tuple(faults),
        recovery=tuple(rows),
        backlogs=tuple(backlogs),
        outages=tuple(row for fault in faults for row in find_outages(fault, clients, ends, step_s)),
        debts=tuple(make_debt_points(topics, counted)),
    )


def make_fault_rows(
    events: Sequence[Mapping[str, Any]],
    end_s: float,
    changes: Sequence[Change] = (),
    leaders: Sequence[LeaderSpan] = (),
) -> list[FaultRow]:
    """A row for every occurrence of a fault, in the order of their beginnings. The drain ended at ``end_s``."""
    windows = find_fault_windows(events)
    rows = []
    for window in windows:
        from_s = window.from_s
        end = max(end_s, from_s, window.to_s or 0.0)
        horizon = min([later.from_s for later in windows if later.from_s > from_s] + [end])
        mine = [change for change in changes if from_s <= change.at_s <= horizon]
        election_s, election_open = find_election(from_s, window.to_s, horizon, changes, leaders)
        planned = window.applied.get("planned_ns")
        rows.append(
            FaultRow(
                fault=window.fault,
                instance=window.instance,
                kind=window.kind,
                on=window.on,
                from_s=from_s,
                to_s=window.to_s,
                horizon_s=horizon,
                planned_from_s=None if planned is None else from_s - (int(window.applied["at_ns"]) - planned) / 1e9,
                leader_changes=sum(c.what == "leader" for c in mine),
                isr_shrinks=sum(c.what == "isr" and c.after < c.before for c in mine),
                controller_changes=sum(c.what == "controller" for c in mine),
                rebalances=sum(c.what == "rebalance" for c in mine),
                election_s=election_s,
                election_open=election_open,
                query_failures=_count_events(events, "query-failed", from_s, horizon),
                query_restarts=_count_events(events, "query-started", from_s, horizon),
                last=horizon >= end,
                sound_s=find_undisturbed_end(from_s, windows),
            )
        )
    return rows


def find_undisturbed_end(from_s: float, windows: Sequence[FaultWindow]) -> float:
    """The end of the undisturbed time before a fault.

    That is the beginning of the fault, or of the first of the faults before it that were undone less than five
    seconds before the next one began.
    """
    earlier = [window for window in windows if window.from_s < from_s]
    for window in reversed(earlier):
        if window.from_s >= SETTLED_S and (window.to_s is None or window.to_s > from_s - BEFORE_S):
            from_s = window.from_s
    return from_s


def _count_events(events: Sequence[Mapping[str, Any]], kind: str, from_s: float, to_s: float) -> int:
    return sum(event["event"] == kind and from_s <= float(event["t_s"]) <= to_s for event in events)


def make_recovery_rows(
    faults: Sequence[FaultRow],
    topics: Sequence[TopicCounts],
    counted: RunCounts,
    changes: Sequence[Change],
    anomalies: Sequence[DeliveryAnomaly],
) -> tuple[list[RecoveryRow], list[BacklogRow]]:
    """One row for every fault and topic that had messages, and one for every fault, topic and group with a
    backlog."""
    rows: list[RecoveryRow] = []
    backlogs: list[BacklogRow] = []
    # For each topic the earlier faults, with the seconds that the topic took to recover. None: unknown.
    earlier: dict[str, list[tuple[FaultRow, float | None]]] = {topic.topic: [] for topic in topics}
    for fault in faults:
        signs = [c.at_s - fault.from_s for c in changes if fault.from_s <= c.at_s <= fault.horizon_s]
        for topic in topics:
            since_s, until_s = find_undisturbed_time(fault, earlier[topic.topic])
            period = FaultPeriod(fault.from_s, fault.to_s, fault.horizon_s, until_s, fault.last, since_s)
            row = _make_recovery_row(fault, topic, period, counted)
            waiting = _make_backlog_rows(fault, topic, period, counted.step_s)
            drained = [one.drain_s for one in waiting if one.drain_s is not None]
            counts = attribute_anomalies((one for one in anomalies if one.topic == topic.topic), fault)
            told = [*signs, *([] if row.detection_s is None else [row.detection_s])]
            rows.append(
                replace(
                    row,
                    detection_s=min(told, default=None),
                    backlog=max((one.backlog for one in waiting), default=None),
                    drain_s=max(drained) if drained and len(drained) == len(waiting) else None,
                    drain_open=any(one.drain_open for one in waiting),
                    lost=counts["lost"],
                    failed=counts["failed"],
                    doubled=counts["doubled"],
                    out_of_order=counts["out_of_order"],
                )
            )
            backlogs += waiting
            over_s = 0.0 if row.why_unknown == NOTHING_OFFERED else row.recovery_s
            earlier[topic.topic].append((fault, None if row.recovery_open else over_s))
    return rows, backlogs


def make_debt_points(topics: Iterable[TopicCounts], counted: RunCounts) -> list[DebtPoint]:
    """The debt of every side of every topic over time, with at most ``MOST_POINTS`` points each."""
    last = -int(-counted.end_s // counted.step_s)
    points = []
    for topic in topics:
        for side in topic.sides:
            first = min(side.curve.due, default=last)
            levels = list(cumulate(side.curve.due, side.curve.settled, first, last).values())
            wide = -(-len(levels) // MOST_POINTS)
            points += [
                DebtPoint(
                    side.kind, topic.topic, side.group, min(first + place + wide, last) * counted.step_s,
                    max(levels[place : place + wide]),
                )
                for place in range(0, len(levels), wide or 1)
            ]  # fmt: skip
    return points


def find_undisturbed_time(fault: FaultRow, earlier: Sequence[tuple[FaultRow, float | None]]) -> tuple[float, float]:
    """The earliest beginning and the end of the undisturbed time that a fault is compared with for one topic.

    It ends where the fault begins. It begins where the fault before it was undone and the topic had recovered. When
    that leaves less than a second, it ends where the earlier fault began.
    """
    until_s = fault.from_s
    for other, recovery_s in reversed(earlier):
        is_near = other.to_s is None or other.to_s > until_s - BEFORE_S
        if not is_near or other.from_s >= until_s:
            continue
        if other.to_s is not None and recovery_s is not None:
            over_s = max(other.to_s, other.from_s + recovery_s)
            if over_s <= until_s - LEAST_BEFORE_S:
                return over_s, until_s
        if other.from_s >= SETTLED_S:
            until_s = other.from_s
    return -inf, until_s


def _make_recovery_row(fault: FaultRow, topic: TopicCounts, period: FaultPeriod, counted: RunCounts) -> RecoveryRow:
    """The row as far as the counts of the topic's messages tell it."""
    found = find_topic_recovery(topic, period, counted.step_s)
    before_per_s, lowest_per_s = _find_lowest_throughput(topic.topic, period, counted)
    sides = [side for side in topic.sides if side.kind != "acknowledged"]
    latencies = [measure_fault_latency(side, period, counted.end_s, counted.step_s) for side in sides]
    during = pick_worst_percentile(latency.during for latency in latencies)
    after = pick_worst_percentile(latency.after for latency in latencies)
    return RecoveryRow(
        fault=fault.fault,
        instance=fault.instance,
        topic=topic.topic,
        before_per_s=before_per_s,
        lowest_per_s=lowest_per_s,
        recovery_s=found.recovery_s,
        recovery_open=found.is_open,
        why_unknown=found.why,
        detection_s=found.detection_s,
        latency_before_s=pick_worst_percentile(latency.before for latency in latencies).seconds,
        latency_during_s=during.seconds,
        latency_during_open=during.is_open,
        latency_after_s=after.seconds,
        latency_after_open=after.is_open,
    )


def _make_backlog_rows(fault: FaultRow, topic: TopicCounts, period: FaultPeriod, step_s: float) -> list[BacklogRow]:
    rows = []
    for side in topic.sides:
        if side.kind == "received":
            found = find_group_backlog(side, period, step_s)
            who = (fault.fault, fault.instance, topic.topic, side.group)
            rows.append(BacklogRow(*who, found.messages, found.drain_s, found.is_open))
    return rows


def _find_lowest_throughput(topic: str, period: FaultPeriod, counted: RunCounts) -> tuple[float | None, float | None]:
    """Messages a second before the fault and in its poorest second.

    They are those of the group with the poorest second, or of acknowledgements where no group was observed.
    """
    flows = [*counted.receipts(topic).values()] or [counted.acknowledgements(topic)]
    ends = max(
        [step for client, step in (counted.sending_ends or {}).items() if client.topic == topic],
        default=-int(-counted.load_s // counted.step_s),
    )
    found = [measure_throughput(flow, period, ends, counted.step_s) for flow in flows]
    return min(found, key=lambda pair: inf if pair[1] is None else pair[1])


def pick_worst_percentile(many: Iterable[Percentile]) -> Percentile:
    """The longest of several percentiles. It is open when one of them is: that one may be the longest."""
    known = [one for one in many if one.seconds is not None]
    return Percentile(
        max((one.seconds for one in known if one.seconds is not None), default=None),
        any(one.is_open for one in known),
    )
