"""What one fault cost one topic, from counts of its messages in short steps of time. Pure.

``TopicCounts`` holds what was counted of a topic. The functions compute the recovery, the backlog, the throughput and
the latency in the period of one fault. ``debt`` defines when a topic has recovered.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf
from statistics import median

from stream2gym.analysis.debt import (
    NOTHING_OFFERED,
    RATE_OVER_S,
    Counts,
    DebtCurve,
    FaultPeriod,
    Recovery,
    compute_rates,
    cumulate,
    find_first_disturbed,
    find_lasting_calm,
    find_recovery,
    is_long_enough,
)
from stream2gym.analysis.message_steps import MessageCount, SideKind

# An engine filters messages when it had no result for more than this share of the earlier ones.
LEFT_OUT = 0.05
LEAVES_OUT = "the engine has no result for some messages anyway, so what it owes is unknown"


@dataclass(frozen=True)
class Backlog:
    """The most messages that were acknowledged and not yet delivered at one moment, and how long they took to drain.

    ``drain_s`` None: there is no such figure. ``is_open``: it took at least ``drain_s``.
    """

    messages: int
    drain_s: float | None
    is_open: bool = False


@dataclass(frozen=True)
class Side:
    """Messages of a topic with regard to one group, or to their acknowledgement, in the order of their due times."""

    kind: SideKind
    group: str
    counts: tuple[MessageCount, ...]
    curve: DebtCurve


@dataclass(frozen=True)
class TopicCounts:
    """What was counted of a topic's messages.

    Where nobody recorded who wrote to the topic, only ``rates`` are known: how fast each group received.
    """

    topic: str
    sides: tuple[Side, ...] = ()
    rates: tuple[DebtCurve, ...] = ()

    @classmethod
    def of(
        cls,
        topic: str,
        counts: Iterable[MessageCount],
        receipts: Iterable[Counts],
        load_ends: int,
        step_s: float,
    ) -> TopicCounts:
        """Make the counts from the messages of a topic, or from its receipts where nobody recorded who wrote."""
        by_side: dict[tuple[SideKind, str], list[MessageCount]] = defaultdict(list)
        for count in counts:
            by_side[count.side, count.group].append(count)
        sides = tuple(
            Side(kind, group, tuple(sorted(of_side, key=_due)), make_debt_curve(kind, of_side, load_ends, step_s))
            for (kind, group), of_side in sorted(by_side.items())
        )
        rates = [DebtCurve(rate=one, rate_ends=_find_rate_end(one, False, load_ends, step_s)) for one in receipts]
        return cls(topic, sides, () if sides else tuple(rates))


def _due(count: MessageCount) -> int:
    return count.due


def make_debt_curve(kind: str, counts: Iterable[MessageCount], load_ends: int, step_s: float) -> DebtCurve:
    """The curve of one side.

    A message with a schedule is owed from its due time on. One without is owed from its acknowledgement on, and its
    producer is expected to keep up the rate of acknowledgements.
    """
    due: dict[int, int] = defaultdict(int)
    settled: dict[int, int] = defaultdict(int)
    failed: dict[int, int] = defaultdict(int)
    rate: dict[int, int] = defaultdict(int)
    is_done = True
    for count in counts:
        owed_from = count.due if count.has_schedule else count.acknowledged
        if count.fate in ("failed", "unanswered"):
            failed[count.due] += count.messages
        if not count.has_schedule and kind == "acknowledged":
            if count.acknowledged is None:
                is_done = False
            else:
                rate[count.acknowledged] += count.messages
        elif owed_from is not None:
            due[owed_from] += count.messages
            if count.settled is not None:
                settled[max(owed_from, count.settled)] += count.messages
    return DebtCurve(due, settled, failed, rate, _find_rate_end(rate, is_done, load_ends, step_s))


def _find_rate_end(rate: Counts, is_done: bool, load_ends: int, step_s: float) -> int | None:
    """The step after which a flow without a schedule need not keep up its rate.

    That is the step after its last message, at most the end of the load. None: the flow fell silent before the load
    ended, so it was never done.
    """
    ends = min(max(rate, default=0) + 1, load_ends)
    return ends if is_done or ends >= load_ends - round(RATE_OVER_S / step_s) else None


def find_topic_recovery(topic: TopicCounts, period: FaultPeriod, step_s: float) -> Recovery:
    """The worst recovery of all sides.

    A side that has not recovered is worse than any that has, and worse than one of which nobody can tell.
    """
    found = [
        Recovery(None, why=LEAVES_OUT)
        if _is_filtered(side, period, step_s)
        else find_recovery(side.curve, period, step_s)
        for side in topic.sides
    ]
    found += [find_recovery(curve, period, step_s) for curve in topic.rates]
    signs = [case.detection_s for case in found if case.detection_s is not None]
    detection_s = min(signs, default=None)
    known = [case.recovery_s for case in found if case.recovery_s is not None]
    is_open = any(case.is_open for case in found)
    why = next((case.why for case in found if case.why and case.why != NOTHING_OFFERED), "")
    if known and (is_open or not why):
        return Recovery(max(known), is_open, detection_s)
    return Recovery(None, False, detection_s, why or NOTHING_OFFERED)


def _is_filtered(side: Side, period: FaultPeriod, step_s: float) -> bool:
    """Whether an engine filters messages, so that its debt grows without any fault."""
    if side.kind != "result":
        return False
    before = period.undisturbed_steps(side.curve, step_s)
    early = [count for count in side.counts if count.due < (before.start + before.stop) // 2]
    missing = sum(count.messages for count in early if count.settled is None)
    return missing > LEFT_OUT * sum(count.messages for count in early)


def find_group_backlog(side: Side, period: FaultPeriod, step_s: float) -> Backlog:
    """The backlog of a group because of a fault.

    The time to drain counts from the end of the fault, or from its beginning when it was never undone.
    """
    acknowledged: dict[int, int] = defaultdict(int)
    delivered: dict[int, int] = defaultdict(int)
    for count in side.counts:
        if count.acknowledged is not None:
            acknowledged[count.acknowledged] += count.messages
            if count.settled is not None:
                delivered[max(count.acknowledged, count.settled)] += count.messages
    steps = period.steps(step_s)
    before = period.undisturbed_steps(DebtCurve(acknowledged), step_s)
    waits = cumulate(acknowledged, delivered, min(before.start, steps.start), steps.stop)
    has_usual = is_long_enough(before, step_s)
    usual = median(waits[step] for step in before) if has_usual else 0
    offer = sum(acknowledged.get(step, 0) for step in before) / max(1, len(before))
    calm = {
        step: waits[step] <= usual + max(1.0, offer, acknowledged.get(step, 0), acknowledged.get(step - 1, 0))
        for step in steps
    }
    disturbed = find_first_disturbed(calm, period, step_s)
    if disturbed is None:
        return Backlog(0, 0.0 if has_usual else None)
    most = max(waits[step] for step in range(disturbed, steps.stop))
    if not has_usual:
        return Backlog(most, None)
    ended_s = period.from_s if period.to_s is None else min(period.to_s, period.until_s)
    drained = find_lasting_calm(calm, disturbed, period, step_s)
    if drained is None:
        return Backlog(most, period.until_s - ended_s, is_open=True)
    return Backlog(most, max(0.0, (drained + 1) * step_s - ended_s))


def measure_throughput(
    counts: Counts, period: FaultPeriod, sending_ends: int, step_s: float
) -> tuple[float | None, float | None]:
    """Messages a second before a fault, and in the poorest second of its period before sending ended."""
    before = period.undisturbed_steps(DebtCurve(rate=counts), step_s)
    steps = period.steps(step_s)
    messages = sum(counts.get(step, 0) for step in before)
    during = compute_rates(counts, range(steps.start, min(steps.stop, sending_ends)), step_s)
    before_per_s = messages / (len(before) * step_s) if before else None
    return before_per_s, min(during, default=None)


@dataclass(frozen=True)
class Percentile:
    """A percentile of latencies. ``seconds`` None: there were no messages.

    ``is_open``: the percentile is at least ``seconds``, because some messages never arrived.
    """

    seconds: float | None = None
    is_open: bool = False


@dataclass(frozen=True)
class FaultLatency:
    """The 99th percentile of the latency before, during and after a fault."""

    before: Percentile = Percentile()
    during: Percentile = Percentile()
    after: Percentile = Percentile()


def measure_fault_latency(side: Side, period: FaultPeriod, end_s: float, step_s: float) -> FaultLatency:
    """Latencies to one group.

    Before the fault, only messages count that were delivered by the end of the undisturbed time, because the fault
    may have held up the others. During and after it, all messages count that were due then, except failed ones.
    """
    steps = period.steps(step_s)
    undisturbed = period.undisturbed_steps(side.curve, step_s)
    healed = steps.stop if period.to_s is None else min(steps.stop, int(period.to_s / step_s + 1e-9))
    before: list[MessageCount] = []
    during: list[MessageCount] = []
    after: list[MessageCount] = []
    for count in _select_due(side.counts, min(undisturbed.start, steps.start), steps.stop):
        if count.fate == "delivered" and count.due in undisturbed and (count.settled or 0) < undisturbed.stop:
            before.append(count)
        if count.due in steps and count.fate != "failed":
            (during if count.due < max(healed, steps.start + 1) else after).append(count)
    return FaultLatency(
        _compute_p99(before, end_s, step_s), _compute_p99(during, end_s, step_s), _compute_p99(after, end_s, step_s)
    )


def _select_due(counts: Sequence[MessageCount], first: int, last: int) -> Sequence[MessageCount]:
    return counts[bisect_left(counts, first, key=_due) : bisect_left(counts, last, key=_due)]


def _compute_p99(counts: Iterable[MessageCount], end_s: float, step_s: float) -> Percentile:
    """The 99th percentile, where a message that never arrived took at least until the drain ended."""
    values, with_missing = [], []
    for count in counts:
        arrived = count.fate == "delivered"
        values.append((count.took_s if arrived else end_s - (count.due + 1) * step_s, count.messages))
        with_missing.append((count.took_s if arrived else inf, count.messages))
    low, high = _find_rank(values, 0.99), _find_rank(with_missing, 0.99)
    return Percentile(low, low != high)


def _find_rank(values: Iterable[tuple[float, int]], share: float) -> float | None:
    ordered = sorted(values)
    rank = math.ceil(sum(number for _, number in ordered) * share - 1e-9)
    seen = 0
    for value, number in ordered:
        seen += number
        if seen >= rank:
            return max(0.0, value)
    return None
