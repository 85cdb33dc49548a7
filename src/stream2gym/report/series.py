"""Makes series of figures from the rows of an analysis, and picks those that a figure shows when there are many."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable

from stream2gym.analysis.histogram import Histogram
from stream2gym.analysis.result_tables import Analysis, FlowPoint, SeriesPoint
from stream2gym.figures.figure import Series
from stream2gym.plan.natural_order import natural

MOST = 8  # lines that a person can tell apart
_FINEST = 0.01  # of a decade of the percentile axis
_SHORTEST_S = 1e-7


def make_rate_series(
    points: Iterable[FlowPoint],
    name: Callable[[FlowPoint], str],
    amount: Callable[[FlowPoint], float],
    analysis: Analysis,
) -> list[Series]:
    """One series of rates for each name. A step of load in which nothing was counted has the rate 0."""
    step_s = analysis.step_s
    totals: dict[str, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    first, last = 0, max(0, math.ceil(analysis.load_s / step_s - 1e-6) - 1)
    for point in points:
        step = round(point.at_s / step_s)
        first, last = min(first, step), max(last, step)
        totals[name(point)][step] += amount(point)
    moments = tuple(round(step * step_s, 6) for step in range(first, last + 1))
    return [
        Series(key, moments, tuple(counted.get(step, 0.0) / step_s for step in range(first, last + 1)), "step")
        for key, counted in sorted(totals.items(), key=lambda item: natural(item[0]))
    ]


def make_sample_series(points: Iterable[SeriesPoint], metric: str) -> list[Series]:
    """One series for each object, with its samples of one metric."""
    found: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for point in points:
        if point.metric == metric:
            found[point.object].append((point.at_s, point.value))
    return [
        Series(name, tuple(at for at, _ in sorted(values)), tuple(value for _, value in sorted(values)))
        for name, values in found.items()
    ]


def make_percentile_curve(name: str, histogram: Histogram) -> Series:
    """The latency below which each share of the values lies. The last point is the highest value."""
    seen, count, drawn = 0, histogram.count, -1.0
    xs, ys = [0.0], [lift_above_zero(histogram.min_ns / 1e9)]
    for largest, number in histogram.buckets:
        seen += number
        place = math.log10(count / max(count - seen, 0.5))
        if place - drawn >= _FINEST or seen == count:
            xs.append(seen / count)
            ys.append(lift_above_zero(largest / 1e9))
            drawn = place
    ys[-1] = max(ys[-1], histogram.max_ns / 1e9)
    return Series(name, tuple(xs), tuple(ys))


def lift_above_zero(seconds: float) -> float:
    """The value, or the lowest one that an axis of logarithms can show."""
    return max(seconds, _SHORTEST_S)


def pick_busiest(series: Iterable[Series], most: int = MOST, word: str = "busiest") -> tuple[tuple[Series, ...], str]:
    """The series with the largest sums, in their given order, and a note about the others."""
    every = list(series)
    if len(every) <= most:
        return tuple(every), ""
    ranked = sorted(range(len(every)), key=lambda index: (-_weight(every[index]), index))[:most]
    return tuple(every[index] for index in sorted(ranked)), f"The {most} {word} of {len(every)} are drawn."


def _weight(series: Series) -> float:
    return sum(value for value in series.y if value is not None)
