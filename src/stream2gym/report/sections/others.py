"""Whatever else was sampled: lag, numbers of engines, numbers that programs of the experiment printed."""

from __future__ import annotations

from stream2gym.figures.model import Axis, Chart, Column, Series, Table
from stream2gym.report.blocks import paragraph
from stream2gym.report.choose import busiest, listed
from stream2gym.report.facts import Facts
from stream2gym.report.page import Part, Section
from stream2gym.report.series import sampled

_MOST_CHARTS = 12


def others(facts: Facts) -> Section | None:
    """None when there is nothing else: this part has no promised content."""
    if facts.analysis is None or not facts.analysis.gauges:
        return None
    gauges = facts.analysis.gauges
    every = {metric: sampled(gauges, metric) for metric in dict.fromkeys(point.metric for point in gauges)}
    once = {metric for metric, all_ in every.items() if all(len(series.x) == 1 for series in all_)}
    parts: list[Part] = [_told_once({metric: every.pop(metric) for metric in sorted(once)})] if once else []
    for number, (metric, all_) in enumerate(list(every.items())[:_MOST_CHARTS], 1):
        series, note = busiest(all_)
        parts.append(
            Chart(
                f"gauge-{number}-{metric}", metric, facts.time, Axis(metric), series, facts.windows, note=note
            )
        )
    if len(every) > _MOST_CHARTS:
        parts.append(paragraph(f"Not drawn: {listed(list(every)[_MOST_CHARTS:], 30)}.", "soft"))
    return Section("others", "Other measurements", tuple(parts))


def _told_once(found: dict[str, list[Series]]) -> Table:
    """What a check or a program said one time: a number, no course of time."""
    rows = [(series.name, metric, series.y[0]) for metric, all_ in found.items() for series in all_]
    columns = (Column("by"), Column("what"), Column("value", ""))
    return Table("told-once", "Told once", columns, tuple(sorted(rows)))
