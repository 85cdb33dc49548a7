"""What the sections about engines share: the samples of one source, as charts over time and as rows of a table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

from stream2gym.analysis.result_tables import SeriesPoint
from stream2gym.analysis.sample_statistics import compute_statistic
from stream2gym.figures.figure import Axis, Chart, Series
from stream2gym.report.facts import Facts
from stream2gym.report.series import make_sample_series, pick_busiest

# Name and title of a chart, its axis, and its lines.
ChartLines = tuple[str, str, Axis, list[Series]]


def pick_source(facts: Facts, source: str) -> list[SeriesPoint]:
    """The points of one source, such as ``"spark "``. Their objects are named without it."""
    gauges = facts.analysis.gauges if facts.analysis else ()
    return [
        replace(point, object=point.object.removeprefix(source))
        for point in gauges
        if point.object.startswith(source)
    ]


def make_lines(points: Iterable[SeriesPoint], metric: str) -> list[Series]:
    """A line for each object that has more than one point."""
    return [one for one in make_sample_series(points, metric) if len(one.x) > 1]


def make_charts(facts: Facts, wanted: Iterable[ChartLines]) -> list[Chart]:
    """The charts that have lines, each with the busiest of its lines."""
    charts = []
    for name, title, axis, series in wanted:
        shown, note = pick_busiest(series)
        if shown:
            charts.append(Chart(name, title, facts.time, axis, shown, facts.fault_bands, note=note))
    return charts


class ObjectSamples:
    """The samples of every object, in the order of their times."""

    def __init__(self, points: Iterable[SeriesPoint]) -> None:
        self._values: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        for point in sorted(points, key=lambda point: point.at_s):
            self._values[point.object][point.metric].append(point.value)

    def objects(self) -> list[str]:
        return list(self._values)

    def count(self, name: str, metric: str) -> float:
        """How often a metric of an object was sampled."""
        return float(len(self._values[name][metric]))

    def pick(self, name: str, metric: str, stat: str, factor: float = 1.0) -> float | None:
        """A statistic of a metric of an object, such as its mean; None if it was never sampled."""
        found = compute_statistic(self._values[name][metric], stat)
        return None if found is None else found * factor
