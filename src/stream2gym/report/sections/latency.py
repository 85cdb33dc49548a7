"""Latency: over time, by percentile, and as numbers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from itertools import pairwise

from stream2gym.analysis.histogram import Histogram, merge
from stream2gym.analysis.tables import Analysis, LatencyPoint, LatencyRow
from stream2gym.figures.model import Axis, Chart, Column, Series, Table
from stream2gym.plan.names import natural
from stream2gym.report.blocks import missing, paragraph
from stream2gym.report.choose import MOST, busiest
from stream2gym.report.facts import Facts
from stream2gym.report.page import Part, Section
from stream2gym.report.series import above_zero, percentile_curve

WORDS = {
    "latency": "end to end",
    "ack_latency": "to acknowledgement",
    "ack_latency_sent": "to acknowledgement, from sending",
    "sync_latency": "until all subscribers had it",
    "trace_latency": "through an engine",
    "send_delay": "sent later than due",
}
_STATS = ("mean", "p50", "p90", "p99", "p99.9", "p99.99", "max")
_LATENCY = Axis("latency", "s", "log")


def latency(facts: Facts) -> Section:
    analysis = facts.analysis
    if analysis is None or not any(row.histogram.count for row in analysis.latency):
        return Section("latency", "Latency", (missing("No message made its way, so there is no latency."),))
    parts: list[Part] = [
        paragraph(
            "From the moment when a message was due, so that a stalled sender does not hide its delay.",
            "soft",
        )
    ]
    parts += _over_time(facts, analysis)
    parts += _by_percentile(analysis)
    parts.append(_numbers(analysis))
    return Section("latency", "Latency", tuple(parts))


def _over_time(facts: Facts, analysis: Analysis) -> list[Part]:
    ways: dict[str, list[LatencyPoint]] = defaultdict(list)
    for point in analysis.latency_series:
        if point.kind == "latency":
            ways[f"{point.topic} → {point.group}"].append(point)
    if not ways:
        return []
    worst: dict[float, float] = defaultdict(float)
    for points in ways.values():
        for point in points:
            worst[point.at_s] = max(worst[point.at_s], point.max_s)
    moments = _moments(worst, analysis.step_s)
    series: tuple[Series, ...]
    if len(ways) == 1:
        (points,) = ways.values()
        series, note = (_line("p50", points, moments), _line("p99", points, moments)), ""
    else:
        series, note = busiest(
            (_line(name, ways[name], moments, "p99") for name in sorted(ways, key=natural)),
            MOST - 1,
            "slowest",
        )
    values = tuple(above_zero(worst[at]) if at in worst else None for at in moments)
    highest = Series("highest", moments, values, "step")
    what = "p50, p99 and highest" if len(ways) == 1 else "p99 by topic and group, and the highest of all"
    title = f"End to end over time: {what}"
    return [
        Chart(
            "latency-time",
            title,
            facts.time,
            _LATENCY,
            (*series, highest),
            facts.windows,
            facts.deaths,
            note,
            wide=True,
        )
    ]


def _moments(seen: Iterable[float], step_s: float) -> tuple[float, ...]:
    """The steps in which messages were due, and those between, in which none arrived: gaps in the lines."""
    known = sorted(seen)
    filled = {at + step_s for at, after in pairwise(known) if after - at > 1.5 * step_s}
    return tuple(sorted({*known, *filled}))


def _line(name: str, points: list[LatencyPoint], moments: tuple[float, ...], stat: str = "") -> Series:
    values = {point.at_s: point.p50_s if (stat or name) == "p50" else point.p99_s for point in points}
    heights = tuple(above_zero(values[at]) if at in values else None for at in moments)
    return Series(name, moments, heights, "step")


def _by_percentile(analysis: Analysis) -> list[Part]:
    kinds = _merged(analysis, lambda row: WORDS[row.kind])
    charts: list[Part] = [_percentiles("latency-percentiles", "By percentile", kinds)]
    topics = _merged(analysis, lambda row: row.topic if row.kind == "latency" else "")
    if len(topics) > 1:
        charts.append(_percentiles("latency-topics", "End to end by percentile, topic by topic", topics))
    return charts


def _merged(analysis: Analysis, name: Callable[[LatencyRow], str]) -> dict[str, Histogram]:
    groups: dict[str, list[Histogram]] = defaultdict(list)
    for row in analysis.latency:
        if name(row) and row.kind != "ack_latency_sent" and row.histogram.count:
            groups[name(row)].append(row.histogram)
    return {key: merge(histograms) for key, histograms in groups.items()}


def _percentiles(name: str, title: str, found: dict[str, Histogram]) -> Chart:
    series, note = busiest((percentile_curve(key, found[key]) for key in found), word="slowest")
    return Chart(name, title, Axis("share of messages", "share", "percentile"), _LATENCY, series, note=note)


def _numbers(analysis: Analysis) -> Table:
    groups: dict[tuple[str, str, str], list[Histogram]] = defaultdict(list)
    for row in analysis.latency:
        groups[WORDS[row.kind], _way(row), row.group].append(row.histogram)
    rows = []
    for (words, topic, group), histograms in groups.items():
        whole = merge(histograms)
        if whole.count:
            rows.append((words, topic, group, float(whole.count), *(whole.value(stat) for stat in _STATS)))
    columns = (Column("latency"), Column("topic"), Column("group"), Column("messages", ""))
    return Table(
        "latency-numbers", "In numbers", (*columns, *(Column(stat, "s") for stat in _STATS)), tuple(rows)
    )


def _way(row: LatencyRow) -> str:
    return f"{row.source} → {row.topic}" if row.source else row.topic
