"""The section of other samples: lag, numbers that monitors and programs of the experiment reported."""

from __future__ import annotations

from stream2gym.figures.figure import Axis, Chart, Column, Series, Table
from stream2gym.report.blocks import join_names, paragraph
from stream2gym.report.facts import Facts
from stream2gym.report.page import Part, Section
from stream2gym.report.sections.kafka_streams import is_of_streams
from stream2gym.report.sections.spark import is_of_spark
from stream2gym.report.series import make_sample_series, pick_busiest

_MOST_CHARTS = 12
# The cluster is drawn beside the leaders, the machine beside the resources.
_DRAWN_ELSEWHERE = ("kafka cluster", "kafka group ", "machine-use ")


def make_other_measurements_section(facts: Facts) -> Section | None:
    """The section. None when there are no other samples."""
    gauges = [
        point
        for point in (facts.analysis.gauges if facts.analysis else ())
        if not (is_of_spark(point) or is_of_streams(point)) and not point.object.startswith(_DRAWN_ELSEWHERE)
    ]
    if not gauges:
        return None
    every = {metric: make_sample_series(gauges, metric) for metric in dict.fromkeys(point.metric for point in gauges)}
    once = {metric for metric, all_ in every.items() if all(len(series.x) == 1 for series in all_)}
    parts: list[Part] = [_make_once_table({metric: every.pop(metric) for metric in sorted(once)})] if once else []
    for number, (metric, all_) in enumerate(list(every.items())[:_MOST_CHARTS], 1):
        series, note = pick_busiest(all_)
        parts.append(
            Chart(f"gauge-{number}-{metric}", metric, facts.time, Axis(metric), series, facts.fault_bands, note=note)
        )
    if len(every) > _MOST_CHARTS:
        parts.append(paragraph(f"Not drawn: {join_names(list(every)[_MOST_CHARTS:], 30)}.", "soft"))
    return Section("others", "Other measurements", tuple(parts))


def _make_once_table(found: dict[str, list[Series]]) -> Table:
    """A table of the numbers that were reported once."""
    rows = [(series.name, metric, series.y[0]) for metric, all_ in found.items() for series in all_]
    columns = (Column("by"), Column("what"), Column("value", ""))
    return Table("told-once", "Told once", columns, tuple(sorted(rows)))
