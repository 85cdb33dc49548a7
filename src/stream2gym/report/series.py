"""From the rows of an analysis to series of a figure."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable

from stream2gym.analysis.histogram import Histogram
from stream2gym.analysis.tables import Analysis, FlowPoint, SeriesPoint
from stream2gym.figures.model import Series
from stream2gym.plan.names import natural

_FINEST = 0.01  # of a decade of the percentile axis
_SHORTEST_S = 1e-7


def rates(
    points: Iterable[FlowPoint],
    name: Callable[[FlowPoint], str],
    amount: Callable[[FlowPoint], float],
    analysis: Analysis,
) -> list[Series]:
    """What was counted in each step as a rate, by name; a step of load in which nothing was counted is a zero."""
    step_s = analysis.step_s
    totals: dict[str, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    first, last = 0, max(0, math.ceil(analysis.load_s / step_s - 1e-6) - 1)
    for point in points:
        step = round(point.at_s / step_s)
        first, last = min(first, step), max(last, step)
        totals[name(point)][step] += amount(point)
    moments = tuple(round(step * step_s, 6) for step in range(first, last + 1))
    return [
        Series(
            key, moments, tuple(counted.get(step, 0.0) / step_s for step in range(first, last + 1)), "step"
        )
        for key, counted in sorted(totals.items(), key=lambda item: natural(item[0]))
    ]


def sampled(points: Iterable[SeriesPoint], metric: str) -> list[Series]:
    """Samples of one metric, a series an object."""
    found: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for point in points:
        if point.metric == metric:
            found[point.object].append((point.at_s, point.value))
    return [
        Series(name, tuple(at for at, _ in sorted(values)), tuple(value for _, value in sorted(values)))
        for name, values in found.items()
    ]


def percentile_curve(name: str, histogram: Histogram) -> Series:
    """Seconds by share of the values, in points as far apart as the eye can tell; the last is the highest value."""
    seen, count, drawn = 0, histogram.count, -1.0
    xs, ys = [0.0], [above_zero(histogram.min_ns / 1e9)]
    for largest, number in histogram.buckets:
        seen += number
        place = math.log10(count / max(count - seen, 0.5))
        if place - drawn >= _FINEST or seen == count:
            xs.append(seen / count)
            ys.append(above_zero(largest / 1e9))
            drawn = place
    ys[-1] = max(ys[-1], histogram.max_ns / 1e9)
    return Series(name, tuple(xs), tuple(ys))


def above_zero(seconds: float) -> float:
    """A log axis has no zero."""
    return max(seconds, _SHORTEST_S)
