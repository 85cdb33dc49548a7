"""From the rows of an analysis to series of a figure."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import TypeVar

from stream2gym.analysis.histogram import Histogram
from stream2gym.analysis.tables import SeriesPoint
from stream2gym.figures.model import Series

T = TypeVar("T")

_FINEST = 0.01  # of a decade of the percentile axis
_SHORTEST_S = 1e-7


def steps(last_s: float, step_s: float) -> tuple[float, ...]:
    """The beginnings of the time steps from the start of load to ``last_s``."""
    if step_s <= 0:
        return ()
    return tuple(round(index * step_s, 6) for index in range(int(last_s / step_s + 1e-6) + 1))


def rates(
    points: Iterable[T],
    name: Callable[[T], str],
    at: Callable[[T], float],
    amount: Callable[[T], float],
    step_s: float,
) -> list[Series]:
    """What was counted in each step as a rate, by name; a step in which nothing was counted is a zero."""
    totals: dict[str, dict[float, float]] = defaultdict(lambda: defaultdict(float))
    last, first = 0.0, 0.0
    for point in points:
        moment = round(round(at(point) / step_s) * step_s, 6)
        first, last = min(first, moment), max(last, moment)
        totals[name(point)][moment] += amount(point)
    before = tuple(round(-index * step_s, 6) for index in range(round(-first / step_s), 0, -1))
    moments = before + steps(last, step_s)
    return [
        Series(key, moments, tuple(counted.get(moment, 0.0) / step_s for moment in moments), "step")
        for key, counted in sorted(totals.items())
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
