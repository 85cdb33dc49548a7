"""Quantities of a series that are compared with published ones: slope, intercept, r2, rise, spread. Pure.

A quantity has bounds: the truth of every value lies between the bounds of its place, and a fitted line has a
confidence of 95 % (Student's t). Published values are taken as they are, without bounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

from stream2gym.judge.estimate import Estimate
from stream2gym.sweeps.line_fit import fit_line
from stream2gym.sweeps.measure_responses import combine_estimates
from stream2gym.sweeps.shape_judgement import Place, Series, fit_series_bounded, student_quantile


def measure_slope(series: Series) -> Estimate | None:
    """The slope of the straight line in base units. None: fewer than two different x."""
    return _measure_line(
        series, lambda x, mean, spread, count: (x - mean) / spread, lambda mean, spread, count: 1 / spread
    )


def measure_intercept(series: Series) -> Estimate | None:
    """The value of the straight line at zero."""
    return _measure_line(
        series,
        lambda x, mean, spread, count: 1 / count - mean * (x - mean) / spread,
        lambda mean, spread, count: 1 / count + mean**2 / spread,
    )


def _measure_line(
    series: Series,
    weigh: Callable[[float, float, float, int], float],
    variance: Callable[[float, float, int], float],
) -> Estimate | None:
    """A number of the fitted line, which is a weighted sum of the values.

    So it is lowest with the low bounds where weights are positive and the high ones elsewhere. ``variance`` is that
    of the number, for values that vary by one around the line.
    """
    usable = [(x, row) for x, row in zip(series.xs, series.rows, strict=True) if row.is_usable]
    xs = [x for x, _ in usable]
    if len(set(xs)) < 2:
        return None
    mean, count = sum(xs) / len(xs), len(xs)
    spread = sum((x - mean) ** 2 for x in xs)
    weights = [weigh(x, mean, spread, count) for x in xs]
    values = [float(row.value or 0.0) for _, row in usable]
    bounds = [(float(row.low or 0.0), float(row.high or 0.0)) for _, row in usable]
    measured = sum(weight * value for weight, value in zip(weights, values, strict=True))
    low = sum(weight * pair[weight < 0] for weight, pair in zip(weights, bounds, strict=True))
    high = sum(weight * pair[weight >= 0] for weight, pair in zip(weights, bounds, strict=True))
    margin = 0.0
    if count > 2:
        fit = fit_line(xs, values, fewest=2)
        assert fit is not None, "there are two different x"
        rest = sum((y - fit.intercept - fit.slope * x) ** 2 for x, y in zip(xs, values, strict=True))
        margin = student_quantile(count - 2) * math.sqrt(rest / (count - 2) * variance(mean, spread, count))
    return Estimate(measured, low - margin, high + margin)


def measure_r2(series: Series) -> Estimate | None:
    """How well the straight line through the means of repeats fits, whatever their truth within their bounds is.

    None: fewer than three different x, or values that do not vary.
    """
    line = fit_series_bounded(series)
    return None if line is None else line.r2


def measure_rise(places: Sequence[Place]) -> Estimate | None:
    """The last value divided by the first. None: one of them is missing, or the first may be zero."""
    first, last = places[0], places[-1]
    if first.mean is None or last.mean is None or first is last or first.low <= 0:
        return None
    return Estimate(last.mean / first.mean, last.low / first.high, last.high / first.low)


def measure_spread(places: Sequence[Place]) -> Estimate | None:
    """The largest value divided by the smallest."""
    several = {str(place.x): as_estimate(place) for place in places if place.mean is not None}
    return combine_estimates("spread", several)[""] if len(several) > 1 else None


def as_estimate(place: Place) -> Estimate:
    return Estimate(float(place.mean or 0.0), place.low, place.high)


def measure_errors(places: Sequence[Place], published: dict[float, float]) -> list[tuple[float, Estimate, float]]:
    """The distance of every place from the published value at its x: x, distance, and the published value."""
    found = []
    for place in places:
        if place.mean is not None and place.x in published:
            wanted = published[place.x]
            farthest = max(abs(place.low - wanted), abs(place.high - wanted))
            nearest = (
                0.0 if place.low <= wanted <= place.high else min(abs(place.low - wanted), abs(place.high - wanted))
            )
            found.append((place.x, Estimate(abs(place.mean - wanted), nearest, farthest), wanted))
    return found


def rank(ranked: dict[str, Estimate]) -> str:
    """The names by their values, smallest first: ``h1 < h3 = h2`` where the bounds of two meet."""
    names = sorted(ranked, key=lambda name: ranked[name].measured)
    signs = [" < " if ranked[one].high < ranked[other].low else " ≈ " for one, other in pairwise(names)]
    return names[0] + "".join(sign + name for sign, name in zip(signs, names[1:], strict=True)) if names else ""
