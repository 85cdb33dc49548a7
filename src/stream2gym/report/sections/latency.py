"""The latency section: over time, by percentile, and in numbers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from itertools import pairwise

from stream2gym.analysis.histogram import Histogram, merge_histograms
from stream2gym.analysis.result_tables import Analysis, LatencyPoint, LatencyRow, MissingRow
from stream2gym.figures.figure import Axis, Chart, Column, Series, Table
from stream2gym.figures.time_charts import LATENCY
from stream2gym.plan.natural_order import natural
from stream2gym.report.blocks import missing, paragraph
from stream2gym.report.facts import Facts
from stream2gym.report.page import Part, Section
from stream2gym.report.series import MOST, lift_above_zero, make_percentile_curve, pick_busiest

WORDS = {
    "latency": "end to end",
    "ack_latency": "to acknowledgement",
    "ack_latency_sent": "to acknowledgement, from send",
    "sync_latency": "until all subscribers had it",
    "trace_latency": "through an engine",
    "send_delay": "sent later than due",
    "latency_sent": "end to end, from send",
    "sync_latency_sent": "until all subscribers had it, from send",
    "trace_latency_sent": "through an engine, from send",
}
_STATS = ("mean", "p50", "p90", "p99", "p99.9", "p99.99", "max")
_FROM_DUE = {"latency", "ack_latency", "sync_latency", "trace_latency", "send_delay"}
_LATENCY = LATENCY.y
# What is added to the name of a way or a topic.
_END_TO_END = {"latency": "", "latency_sent": ", from send"}


def make_latency_section(facts: Facts) -> Section:
    analysis = facts.analysis
    if analysis is None or not any(row.histogram.count for row in analysis.latency):
        gone = sum(row.histogram.count for row in analysis.missing if row.kind == "latency") if analysis else 0
        never = f" {gone:,} messages never arrived." if gone else ""
        words = f"No message was received, so there is no latency.{never}"
        return Section("latency", "Latency", (missing(words),))
    parts: list[Part] = [paragraph(_explain_origin(analysis), "soft")]
    parts += _make_time_charts(facts, analysis)
    parts += _make_percentile_charts(analysis)
    parts.append(_make_table(analysis))
    return Section("latency", "Latency", tuple(parts))


def _explain_origin(analysis: Analysis) -> str:
    """From when the latencies of this run count."""
    kinds = {row.kind for row in analysis.latency if row.histogram.count}
    if not kinds & _FROM_DUE:
        return "Messages of programs have no due time: latency counts from the moment when a message was sent."
    words = "Latency counts from the moment when a message was due: a stalled producer does not hide its delay."
    if "latency_sent" in kinds:
        words += " Messages of programs have no due time: their figures say from send, and stand apart."
    return words


def _make_time_charts(facts: Facts, analysis: Analysis) -> list[Part]:
    ways: dict[str, list[LatencyPoint]] = defaultdict(list)
    for point in analysis.latency_series:
        if point.kind in _END_TO_END:
            ways[f"{point.topic} → {point.group}{_END_TO_END[point.kind]}"].append(point)
    if not ways:
        return []
    worst: dict[float, float] = defaultdict(float)
    for points in ways.values():
        for point in points:
            worst[point.at_s] = max(worst[point.at_s], point.max_s)
    moments = _fill_gaps(worst, analysis.step_s)
    series: tuple[Series, ...]
    if len(ways) == 1:
        (points,) = ways.values()
        series, note = (_make_line("p50", points, moments), _make_line("p99", points, moments)), ""
    else:
        series, note = pick_busiest(
            (_make_line(name, ways[name], moments, "p99") for name in sorted(ways, key=natural)),
            MOST - 1,
            "slowest",
        )
    values = tuple(lift_above_zero(worst[at]) if at in worst else None for at in moments)
    highest = Series("highest", moments, values, "step")
    what = "p50, p99 and highest" if len(ways) == 1 else "p99 by topic and group, and the highest of all"
    title = f"{LATENCY.title}: {what}"
    return [
        Chart(
            "latency-time",
            title,
            facts.time,
            _LATENCY,
            (*series, highest),
            facts.fault_bands,
            facts.death_marks,
            note,
            wide=True,
        )
    ]


def _fill_gaps(seen: Iterable[float], step_s: float) -> tuple[float, ...]:
    """The steps in which messages were due, and one step in each gap between them, so that lines break there."""
    known = sorted(seen)
    filled = {at + step_s for at, after in pairwise(known) if after - at > 1.5 * step_s}
    return tuple(sorted({*known, *filled}))


def _make_line(name: str, points: list[LatencyPoint], moments: tuple[float, ...], stat: str = "") -> Series:
    values = {point.at_s: point.p50_s if (stat or name) == "p50" else point.p99_s for point in points}
    heights = tuple(lift_above_zero(values[at]) if at in values else None for at in moments)
    return Series(name, moments, heights, "step")


def _make_percentile_charts(analysis: Analysis) -> list[Part]:
    kinds = _merge_by(analysis, lambda row: WORDS[row.kind])
    charts: list[Part] = [_make_percentile_chart("latency-percentiles", "By percentile", kinds)] if kinds else []
    topics = _merge_by(analysis, lambda row: f"{row.topic}{_END_TO_END[row.kind]}" if row.kind in _END_TO_END else "")
    if len(topics) > 1:
        charts.append(_make_percentile_chart("latency-topics", "End to end by percentile, topic by topic", topics))
    return charts


def _merge_by(analysis: Analysis, name: Callable[[LatencyRow], str]) -> dict[str, Histogram]:
    groups: dict[str, list[Histogram]] = defaultdict(list)
    # Where messages have due times, the way to the acknowledgement is drawn from these alone.
    left_out = {"ack_latency_sent"} if any(row.kind == "ack_latency" for row in analysis.latency) else set()
    for row in analysis.latency:
        if name(row) and row.kind not in left_out and row.histogram.count:
            groups[name(row)].append(row.histogram)
    return {key: merge_histograms(histograms) for key, histograms in groups.items()}


def _make_percentile_chart(name: str, title: str, found: dict[str, Histogram]) -> Chart:
    series, note = pick_busiest((make_percentile_curve(key, found[key]) for key in found), word="slowest")
    return Chart(name, title, Axis("share of messages", "share", "percentile"), _LATENCY, series, note=note)


def _make_table(analysis: Analysis) -> Table:
    groups: dict[tuple[str, str, str], list[Histogram]] = defaultdict(list)
    never: dict[tuple[str, str, str], int] = defaultdict(int)
    for row in analysis.latency:
        groups[WORDS[row.kind], _name_way(row), row.group].append(row.histogram)
    for lacking in analysis.missing:
        never[WORDS[lacking.kind], _name_way(lacking), lacking.group] += lacking.histogram.count
    rows = []
    for key in {**groups, **never}:
        whole = merge_histograms(groups[key])
        if whole.count or never[key]:
            values = (whole.value(stat) for stat in _STATS)
            rows.append((*key, float(whole.count), float(never[key]), *values))
    columns = (
        Column("latency"), Column("topic"), Column("group"), Column("arrived", ""),
        Column("never arrived", "", alarm=True, quiet=True),
    )  # fmt: skip
    return Table(
        "latency-numbers",
        "In numbers, of the messages that arrived",
        (*columns, *(Column(stat, "s") for stat in _STATS)),
        tuple(rows),
    )


def _name_way(row: LatencyRow | MissingRow) -> str:
    return f"{row.source} → {row.topic}" if row.source else row.topic
