"""A straight line by least squares, and what its slope and r2 can be where values have bounds. Pure.

The values lie in a box: each of them anywhere between its bounds. The slope is a weighted sum of the values, so that
its extremes are known at once. r2 is the square of the correlation with x. Where a line rises, the correlation is a
linear function of the values divided by a convex one, which is least at a corner of the box: every value at one of
its bounds. Where the slope may be zero, so may r2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from stream2gym.jsonable import Jsonable
from stream2gym.judge.estimate import Estimate

FEWEST_PLACES = 3
# Up to so many values every corner of the box is tried, which takes a tenth of a second.
MOST_EXACT = 14
_MOST_STEPS = 1000

Bounds = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Fit(Jsonable):
    """A straight line through the usable values of a series, in base units. r2 is None if the values do not vary."""

    slope: float
    intercept: float
    r2: float | None
    used: int


@dataclass(frozen=True)
class BoundedFit:
    """A line through values as they were measured, with what slope and r2 can be within the bounds of the values."""

    fit: Fit
    slope: Estimate
    r2: Estimate | None


def fit_line(xs: Sequence[float], ys: Sequence[float], fewest: int = FEWEST_PLACES) -> Fit | None:
    """Least squares. None: fewer different x than ``fewest``."""
    if len(set(xs)) < fewest:
        return None
    mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
    spread = sum((x - mean_x) ** 2 for x in xs)
    slope = sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True)) / spread
    intercept = mean_y - slope * mean_x
    total = sum((y - mean_y) ** 2 for y in ys)
    rest = sum((y - intercept - slope * x) ** 2 for x, y in zip(xs, ys, strict=True))
    varies = total > 1e-18 * max(1e-300, sum(y * y for y in ys))
    return Fit(slope, intercept, 1 - rest / total if varies else None, len(xs))


def fit_bounded(xs: Sequence[float], ys: Sequence[float], bounds: Bounds) -> BoundedFit | None:
    """The line through ``ys``, each of which lies between its bounds. None: fewer than three different x."""
    fit = fit_line(xs, ys)
    if fit is None:
        return None
    if all(low == high for low, high in bounds):
        r2 = None if fit.r2 is None else Estimate(fit.r2, fit.r2, fit.r2)
        return BoundedFit(fit, Estimate(fit.slope, fit.slope, fit.slope), r2)
    flattest, steepest = _tilt(xs, bounds, 1), _tilt(xs, bounds, -1)
    least, most = _regress(xs, flattest)[0], _regress(xs, steepest)[0]
    slope = Estimate(fit.slope, min(least, fit.slope), max(most, fit.slope))
    if fit.r2 is None:
        return BoundedFit(fit, slope, None)
    low = 0.0 if slope.low <= 0 <= slope.high else _find_least_r2(xs, bounds)
    high = max(_find_greatest_r2(xs, start, bounds) for start in (ys, flattest, steepest))
    return BoundedFit(fit, slope, Estimate(fit.r2, min(low, fit.r2), max(high, fit.r2)))


def _tilt(xs: Sequence[float], bounds: Bounds, sign: int) -> list[float]:
    """The corner with the smallest slope (sign 1), or with the largest (sign -1)."""
    mean = sum(xs) / len(xs)
    return [pair[sign * (x - mean) < 0] for x, pair in zip(xs, bounds, strict=True)]


def _regress(xs: Sequence[float], ys: Sequence[float]) -> tuple[float, float]:
    """Slope and r2; an r2 of 0 where the values do not vary."""
    fit = fit_line(xs, ys, fewest=2)
    assert fit is not None, "there are two different x"
    return fit.slope, fit.r2 or 0.0


def _find_least_r2(xs: Sequence[float], bounds: Bounds) -> float:
    """The smallest r2 of all corners. Of too many corners it is searched from several ones."""
    if sum(low != high for low, high in bounds) <= MOST_EXACT:
        return min(_regress(xs, corner)[1] for corner in product(*(sorted(set(pair)) for pair in bounds)))
    starts = [[pair[side] for pair in bounds] for side in (0, 1)]
    starts += [[pair[(number + side) % 2] for number, pair in enumerate(bounds)] for side in (0, 1)]
    starts += [_tilt(xs, bounds, sign) for sign in (1, -1)]
    return min(_descend(xs, start, bounds) for start in starts)


def _descend(xs: Sequence[float], corner: Sequence[float], bounds: Bounds) -> float:
    """The smallest r2 that is reached from a corner by moving one value at a time to its other bound."""
    least = _regress(xs, corner)[1]
    while True:
        neighbours = [
            [*corner[:number], low if corner[number] == high else high, *corner[number + 1 :]]
            for number, (low, high) in enumerate(bounds)
        ]
        best = min(neighbours, key=lambda one: _regress(xs, one)[1])
        if _regress(xs, best)[1] >= least:
            return least
        corner, least = best, _regress(xs, best)[1]


def _find_greatest_r2(xs: Sequence[float], ys: Sequence[float], bounds: Bounds) -> float:
    """The largest r2 of the box, found by turns: the line that tells x from y, then the values nearest to it.

    Each turn leaves less of x unexplained.
    """
    greatest = 0.0
    for _ in range(_MOST_STEPS):
        slope, r2 = _regress(xs, ys)
        if not slope or r2 - greatest < 1e-12:
            return max(greatest, r2)
        greatest = r2
        mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
        nearest = [mean_y + (x - mean_x) * slope / r2 for x in xs]
        ys = [min(max(y, low), high) for y, (low, high) in zip(nearest, bounds, strict=True)]
    return greatest
