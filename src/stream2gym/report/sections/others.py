"""Whatever else was sampled: lag, numbers of engines, numbers that programs of the experiment printed."""

from __future__ import annotations

from stream2gym.figures.model import Axis, Chart
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
    every = list(dict.fromkeys(point.metric for point in gauges))
    parts: list[Part] = []
    for number, metric in enumerate(every[:_MOST_CHARTS], 1):
        series, note = busiest(sampled(gauges, metric))
        parts.append(
            Chart(
                f"gauge-{number}-{metric}", metric, facts.time, Axis(metric), series, facts.windows, note=note
            )
        )
    if len(every) > _MOST_CHARTS:
        parts.append(paragraph(f"Not drawn: {listed(every[_MOST_CHARTS:], 30)}.", "soft"))
    return Section("others", "Other measurements", tuple(parts))
