"""The bounds of a figure that a slow machine may have moved. Pure.

The *best case* of a figure is what a machine that kept up could have made of it. A metric declares how a slow machine
moves it:

- up: the truth lies between the best case and what was measured.
- down: the truth lies between what was measured and the best case.
- either: nothing is known of the truth if suspect time overlaps what was measured. Batches of an engine are told
  apart (``batch_bounds``): nothing is known of those that suspect time may have shaped.

The best case is measured by the same meter, over tables in which what happened in suspect time is as good as it can
be. Latencies of suspect time are what the links of the path take by themselves. Durations are 0. Rates are what was
offered. Latencies of other time lose the lateness of their packets. Changes of the cluster in suspect time are left
out, because a machine that kept up may not have caused them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf

from stream2gym.analysis.histogram import Histogram
from stream2gym.analysis.result_tables import (
    Analysis,
    AuditRow,
    FaultRow,
    Fidelity,
    FlowPoint,
    LatencyRow,
    MissingRow,
    SentRow,
    SuspectSpan,
)
from stream2gym.analysis.run_history import find_drain_end_s
from stream2gym.analysis.suspect import summarise_reasons
from stream2gym.analysis.thresholds import LATE_MESSAGE_S, PACKETS_OF_A_MESSAGE
from stream2gym.judge.batch_bounds import bound_batch_time
from stream2gym.judge.engine_metrics import BATCH_MS, collect_progress
from stream2gym.judge.measurement import Events, Measurement, matches
from stream2gym.judge.meters import measure
from stream2gym.kinds.expectation_grammar import Expectation

# Metrics of durations that a fault caused.
_OF_FAULTS = ("recovery", "unavailable", "drain_time")
_SHOWN_SPANS = 5


@dataclass(frozen=True)
class WidenedMeasurement:
    """A measurement with the bounds that a slow machine gives it.

    ``why`` says what the bounds rest on. "": the machine has no part in the figure.
    """

    measured: Measurement
    why: str = ""


def widen(expectation: Expectation, measured: Measurement, analysis: Analysis, events: Events) -> WidenedMeasurement:
    """The measurement with bounds that hold what a machine that kept up would have measured."""
    movement = expectation.definition.moved_by_slow_machine(expectation.stat)
    if movement == "none" or not measured.values:
        return WidenedMeasurement(measured)
    suspect = SuspectTime(analysis)
    estimates = measured.estimates()
    bounds = {name: (estimate.low, estimate.high) for name, estimate in estimates.items()}
    if expectation.metric == "partitions_led":
        # Who leads is known whatever the machine did. Only a change in suspect time may be the machine's doing.
        if any(c.what == "leader" and suspect.has_part_in(c.at_s, c.at_s + 1e-9) for c in analysis.changes):
            bounds = dict.fromkeys(bounds, (0.0, inf))
    elif expectation.definition.about == "events":
        if suspect.is_anywhere():
            best = measure(
                expectation, _remove_suspect_changes(analysis, suspect), _remove_suspect_events(events, suspect)
            )
            low = {name: best.values.get(name, 0.0) for name in bounds}
            bounds = {name: (min(low[name], bounds[name][0]), inf) for name in bounds}
    elif expectation.metric == "batch_time":
        for name, points in collect_progress(BATCH_MS, expectation, analysis, events).items():
            batches = [(point.at_s, point.value / 1e3) for point in points]
            best_value, worst_value = bound_batch_time(batches, expectation.stat, suspect.has_part_in)
            bounds[name] = (min(bounds[name][0], best_value), max(bounds[name][1], worst_value))
    elif movement == "either":
        if suspect.is_during_load():
            bounds = dict.fromkeys(bounds, (-inf, inf))
    elif movement == "up":
        for name, best_value in _find_best_cases(expectation, measured, analysis, events, suspect).items():
            bounds[name] = (min(bounds[name][0], best_value), bounds[name][1])
    elif suspect.is_during_load():
        # Together the consumers of a group receive each message once; one of them alone may receive them all.
        by_consumer = "consumer" in expectation.filters
        best = measure(expectation, _raise_rates_to_offered(analysis, suspect, by_consumer=by_consumer), events)
        for name, (low_value, high_value) in bounds.items():
            bounds[name] = (low_value, max(high_value, best.values.get(name, inf)))
    if bounds == {name: (estimate.low, estimate.high) for name, estimate in estimates.items()}:
        return WidenedMeasurement(measured)
    return WidenedMeasurement(replace(measured, bounds=bounds), explain_bounds(analysis.fidelity))


def explain_bounds(fidelity: Fidelity) -> str:
    """Which time is suspect and why, and what would help."""
    if fidelity.suspect is None:
        return f"the machine may have shaped it: {fidelity.lacks}; run the experiment again"
    spans = [span for span in fidelity.suspect if span.to_s > 0]
    if not spans:
        return f"packets left up to {fidelity.lateness_s * 1e3:.3g} ms late"
    reasons = summarise_reasons(reason for span in spans for reason in span.reasons)
    remedy = f"; {fidelity.remedy}" if fidelity.remedy else ""
    return f"the machine may have shaped it: suspect {show_times(spans)} ({', '.join(reasons)}){remedy}"


def show_times(spans: Sequence[SuspectSpan]) -> str:
    """Spans in words, with neighbouring spans as one: "from 3 to 4.5 s and from 7 to 7.5 s"."""
    joined: list[tuple[float, float]] = []
    for span in spans:
        if joined and joined[-1][1] >= span.from_s:
            joined[-1] = (joined[-1][0], span.to_s)
        else:
            joined.append((max(span.from_s, 0.0), span.to_s))
    words = [f"from {from_s:g} to {to_s:g} s" for from_s, to_s in joined[:_SHOWN_SPANS]]
    if len(joined) > _SHOWN_SPANS:
        words.append(f"{len(joined) - _SHOWN_SPANS} times more")
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


@dataclass(frozen=True)
class SuspectTime:
    """Tells whether time is suspect. All time is, where the record does not tell."""

    analysis: Analysis

    @property
    def spans(self) -> tuple[SuspectSpan, ...] | None:
        return self.analysis.fidelity.suspect

    def has_part_in(self, from_s: float, to_s: float) -> bool:
        if self.spans is None:
            return True
        return any(span.from_s < to_s and span.to_s > from_s for span in self.spans)

    def is_during_load(self) -> bool:
        return self.has_part_in(0.0, self.analysis.load_s)

    def is_anywhere(self) -> bool:
        """Whether any time of the load or the drain is suspect."""
        return self.has_part_in(0.0, inf)


# ---- what a slow machine raises


def _find_best_cases(
    expectation: Expectation, measured: Measurement, analysis: Analysis, events: Events, suspect: SuspectTime
) -> dict[str, float]:
    """The best case of every value of a metric that a slow machine raises."""
    if expectation.metric in _OF_FAULTS:
        touched = any(
            suspect.has_part_in(*_find_window(expectation.metric, row, max(measured.values.values())))
            for row in analysis.faults
            if matches(row, {k: v for k, v in expectation.filters.items() if k == "fault"})
        )
        return dict.fromkeys(measured.values, 0.0) if touched else {}
    if expectation.metric == "first_receipt":
        began_s = analysis.began_s or 0.0
        return {name: 0.0 for name, value in measured.values.items() if suspect.has_part_in(began_s, began_s + value)}
    best = replace(
        analysis,
        latency=tuple(compute_best_latency(row, analysis.fidelity) for row in analysis.latency),
        missing=tuple(compute_best_missing(row, analysis) for row in analysis.missing),
        audit=_count_least_late(analysis),
        phases=tuple(
            replace(row, to_s=row.from_s)
            if row.to_s is not None and suspect.has_part_in(row.from_s, row.to_s)
            else row
            for row in analysis.phases
        ),
    )
    found = measure(expectation, best, events)
    lows = {name: estimate.low for name, estimate in found.estimates().items()}
    return {name: lows.get(name, 0.0) for name in measured.values}


def _find_window(metric: str, fault: FaultRow, value_s: float) -> tuple[float, float]:
    """The time in which a slow machine could have lengthened what a metric of a fault measures."""
    if metric == "recovery":
        return fault.from_s, min(fault.horizon_s, fault.from_s + value_s)
    if metric == "drain_time":
        return fault.from_s, min(fault.horizon_s, (fault.to_s or fault.from_s) + value_s)
    return fault.from_s, fault.horizon_s


def compute_best_latency(row: LatencyRow, fidelity: Fidelity) -> LatencyRow:
    """The best case of a row of latencies.

    Messages of suspect time take ``floor_s``. The others lose the lateness of their packets.
    """
    if row.earliest is not None:
        # Nobody knows which of these messages met suspect time.
        least = replace(row, histogram=row.earliest, clear=None if row.clear is None else Histogram(), earliest=None)
        best_least = compute_best_latency(least, fidelity).histogram
        return replace(compute_best_latency(replace(row, earliest=None), fidelity), earliest=best_least)
    floor_ns = round(row.floor_s * 1e9)
    if fidelity.suspect is None:
        return replace(row, histogram=_make_histogram(floor_ns, row.histogram.count))
    clear = row.histogram if row.clear is None else row.clear
    late_ns = round(PACKETS_OF_A_MESSAGE * fidelity.lateness_s * 1e9)
    # A few packets were even later. Any of the slowest messages may have waited for one of them.
    tail = min(clear.count, math.ceil(PACKETS_OF_A_MESSAGE * fidelity.late_share * clear.count - 1e-9))
    kept, removed_ns = _remove_slowest(clear, tail)
    at_floor = row.histogram.count - sum(count for _, count in kept)
    counts: dict[int, int] = {floor_ns: at_floor} if at_floor else {}
    for value_ns, count in kept:
        best_ns = max(min(floor_ns, value_ns), value_ns - late_ns)
        counts[best_ns] = counts.get(best_ns, 0) + count
    kept_count = sum(count for _, count in kept)
    rest_ns = max(clear.total_ns - removed_ns - late_ns * kept_count, 0.0)
    least_ns = max(min(floor_ns, clear.min_ns), clear.min_ns - late_ns)
    lowest = [floor_ns] * bool(at_floor) + [least_ns] * bool(kept_count)
    best = Histogram(
        tuple(sorted(counts.items())),
        rest_ns + floor_ns * at_floor,
        min(lowest, default=0),
        max(counts, default=0),
    )
    return replace(row, histogram=best)


def compute_best_missing(row: MissingRow, analysis: Analysis) -> MissingRow:
    """The best case of a row of messages that never arrived.

    A message that was waited for in suspect time counts as 0, because a machine that kept up may have delivered it.
    """
    spans, histogram = analysis.fidelity.suspect, row.histogram
    if spans is None or not histogram.count:
        return replace(row, histogram=_make_histogram(0, histogram.count))
    end_s = find_drain_end_s(analysis.phases, analysis.load_s)
    last_s = max((min(span.to_s, end_s) for span in spans if not span.mild), default=-inf)
    if last_s <= end_s - histogram.max_ns / 1e9:
        return row
    counts: dict[int, int] = {}
    for waited_ns, count in histogram.buckets:
        least_ns = 0 if end_s - waited_ns / 1e9 < last_s else waited_ns
        counts[least_ns] = counts.get(least_ns, 0) + count
    total_ns = float(sum(value * count for value, count in counts.items()))
    return replace(row, histogram=Histogram(tuple(sorted(counts.items())), total_ns, min(counts), max(counts)))


def _make_histogram(value_ns: int, count: int) -> Histogram:
    return Histogram(((value_ns, count),), float(value_ns * count), value_ns, value_ns) if count else Histogram()


def _remove_slowest(histogram: Histogram, number: int) -> tuple[list[tuple[int, int]], float]:
    """The buckets without the ``number`` largest values, and the sum of those values."""
    kept: list[tuple[int, int]] = []
    removed_ns = 0.0
    for value_ns, count in reversed(histogram.buckets):
        taken = min(number, count)
        number -= taken
        removed_ns += value_ns * taken
        if count > taken:
            kept.append((value_ns, count - taken))
    return kept[::-1], removed_ns


def _count_least_late(analysis: Analysis) -> tuple[AuditRow, ...]:
    """The audit with the number of messages that are late even in the best case."""
    late: dict[tuple[str, int, str, str], int] = {}
    for row in analysis.latency:
        if row.kind in ("latency", "latency_sent"):
            best = compute_best_latency(row, analysis.fidelity).histogram
            number = sum(count for value_ns, count in best.buckets if value_ns > LATE_MESSAGE_S * 1e9)
            key = (row.topic, row.partition, row.producer, row.group)
            late[key] = late.get(key, 0) + number
    return tuple(
        replace(row, late=min(row.late, late.get((row.topic, row.partition, row.producer, row.group), 0)))
        for row in analysis.audit
    )


# ---- what a slow machine lowers


def _raise_rates_to_offered(analysis: Analysis, suspect: SuspectTime, *, by_consumer: bool) -> Analysis:
    """The analysis with the rates of suspect time raised to what was offered.

    A flow that a producer without a schedule writes to has no limit. What a group may have received more is counted
    once, with its first consumer; ``by_consumer`` counts it with each of them.
    """
    step_s = analysis.step_s
    steps = [
        step
        for step in range(max(1, math.ceil(analysis.load_s / step_s)))
        if suspect.has_part_in(step * step_s, (step + 1) * step_s)
    ]
    offered: dict[tuple[str, str], dict[int, FlowPoint]] = {}
    for point in analysis.offered:
        offered.setdefault((point.topic, point.client), {})[round(point.at_s / step_s)] = point
    flow = list(analysis.flow)
    by_place = {(p.kind, p.topic, p.client, p.group, round(p.at_s / step_s)): p for p in analysis.flow}
    gained: dict[tuple[str, str], float] = {}
    for (kind, topic, group), members in _find_raised_flows(analysis, by_consumer=by_consumer):
        client = members[0]
        writers = [key for key in offered if key[0] == topic and (kind == "received" or key[1] == client)]
        everyone = {
            key for key in _find_writers(analysis) if key[0] == topic and (kind == "received" or key[1] == client)
        }
        is_limited = bool(writers) and everyone <= set(writers)
        for step in steps:
            there = [by_place[place] for name in members if (place := (kind, topic, name, group, step)) in by_place]
            due = [offered[key][step] for key in writers if step in offered[key]]
            messages = sum(p.messages for p in due) if is_limited else inf
            size = sum(p.bytes for p in due) if is_limited else inf
            had = (sum(p.messages for p in there), sum(p.bytes for p in there))
            more = (max(0, messages - had[0]), max(0, size - had[1]))
            if kind == "acknowledged":
                gained[topic, client] = gained.get((topic, client), 0) + more[0]
            # An infinite rate is no whole number. That does no harm, because flow points are only summed and divided.
            flow.append(FlowPoint(kind, topic, client, group, step * step_s, *more))  # type: ignore[arg-type]
    best = replace(analysis, flow=tuple(flow), sent=tuple(_acknowledge_more(row, gained) for row in analysis.sent))
    # A load that ended later than its schedule was lengthened by what held its producers up.
    ended_s = max((point.at_s + step_s for point in analysis.offered), default=inf)
    return replace(best, load_s=min(analysis.load_s, ended_s))


def _find_raised_flows(analysis: Analysis, *, by_consumer: bool) -> list[tuple[tuple[str, str, str], list[str]]]:
    """Kind, topic and group of each flow, with the clients that share it: one, or all consumers of the group."""
    found: dict[tuple[str, str, str, str], list[str]] = {}
    for kind, topic, client, group in sorted({(p.kind, p.topic, p.client, p.group) for p in analysis.flow}):
        if kind in ("acknowledged", "received"):
            alone = client if kind == "acknowledged" or by_consumer else ""
            found.setdefault((kind, topic, group, alone), []).append(client)
    return [((kind, topic, group), members) for (kind, topic, group, _), members in found.items()]


def _find_writers(analysis: Analysis) -> set[tuple[str, str]]:
    return {(row.topic, row.producer) for row in analysis.sent}


def _acknowledge_more(row: SentRow, gained: dict[tuple[str, str], float]) -> SentRow:
    """The row with more messages acknowledged: as many as suspect time may have cost, and at most all that were
    sent."""
    more = gained.get((row.topic, row.producer), 0)
    if more == inf:
        return replace(row, acknowledged=inf, acknowledged_bytes=inf)  # type: ignore[arg-type]
    if not more:
        return row
    share = min(1.0, more / max(1, row.sent - row.acknowledged))
    return replace(
        row,
        acknowledged=row.acknowledged + round(share * (row.sent - row.acknowledged)),
        acknowledged_bytes=row.acknowledged_bytes + round(share * (row.bytes - row.acknowledged_bytes)),
    )


# ---- changes of the cluster


def _remove_suspect_changes(analysis: Analysis, suspect: SuspectTime) -> Analysis:
    changes = tuple(c for c in analysis.changes if not suspect.has_part_in(c.at_s, c.at_s + 1e-9))

    def number(fault: FaultRow, what: str) -> int:
        mine = (c for c in changes if c.what == what and fault.from_s <= c.at_s <= fault.horizon_s)
        return sum(c.after < c.before for c in mine) if what == "isr" else sum(1 for _ in mine)

    faults = tuple(
        replace(
            fault,
            leader_changes=number(fault, "leader"),
            isr_shrinks=number(fault, "isr"),
            controller_changes=number(fault, "controller"),
            rebalances=number(fault, "rebalance"),
        )
        for fault in analysis.faults
    )
    return replace(analysis, changes=changes, faults=faults)


def _remove_suspect_events(events: Events, suspect: SuspectTime) -> Events:
    return [
        event for event in events if "t_s" not in event or not suspect.has_part_in(event["t_s"], event["t_s"] + 1e-9)
    ]
