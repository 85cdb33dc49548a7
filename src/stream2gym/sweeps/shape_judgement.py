"""Judges expectations on shapes: pass, fail or unknown, with the numbers that the answer rests on. Pure.

A shape over one axis is judged for every combination of the other axes, and for every item of a response, on its
own: each is a series. A fit leaves out values whose bounds are far apart; the other shapes use their bounds. Runs
without a value are always left out. What is left out is counted, and a series with fewer than three different values
of the axis is unknown.

The values of one point are its repeats. They have a mean and an interval: 95 % of confidence in the mean (Student's
t) if there are several, widened by the bounds of the single values. What holds for all numbers in the intervals
passes, what holds for none of them fails, anything else is unknown.
"""

from __future__ import annotations

import math
from collections.abc import Sequence, Set
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal

from stream2gym.figures.number_text import show
from stream2gym.jsonable import Jsonable
from stream2gym.judge.estimate import Estimate, decide
from stream2gym.judge.verdict import Outcome, pick_worst
from stream2gym.sweeps.axis_values import read_number_line
from stream2gym.sweeps.line_fit import FEWEST_PLACES, BoundedFit, Fit, fit_bounded, fit_line
from stream2gym.sweeps.response_table import ResponseRow
from stream2gym.sweeps.shape_grammar import ShapeExpectation
from stream2gym.sweeps.sweep_plan import describe_values

# Two-sided 95 % quantiles of Student's t distribution, by degrees of freedom; the last one is for all above.
_STUDENT = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
    2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip


@dataclass(frozen=True)
class Place:
    """One value of the axis in a series, with the mean of its usable repeats. Without any, ``mean`` is None."""

    x: float
    mean: float | None = None
    low: float = 0.0
    high: float = 0.0
    used: int = 0
    left_out: int = 0


@dataclass(frozen=True)
class Series:
    """A response over an axis, with the values of the other axes that it belongs to."""

    others: dict[str, Any]
    item: str
    rows: tuple[ResponseRow, ...]
    xs: tuple[float, ...]
    # The units of the axis and of the response, as figures call them.
    x_unit: str = ""
    unit: str = ""

    @property
    def name(self) -> str:
        return ", ".join(filter(None, (describe_values(self.others), self.item)))

    def places(self, *, with_wide: bool = False) -> list[Place]:
        """The values of the axis in ascending order. ``with_wide``: values with wide bounds count, too."""
        grouped: dict[float, list[ResponseRow]] = {}
        for x, row in zip(self.xs, self.rows, strict=True):
            grouped.setdefault(x, []).append(row)
        return [make_place(grouped[x], x, with_wide=with_wide) for x in sorted(grouped)]

    def show_x(self, place: Place) -> str:
        return show(place.x, self.x_unit)

    def show_y(self, place: Place) -> str:
        """The mean of a place with its interval."""
        if place.low == place.high:
            return show(place.mean, self.unit)
        return f"{show(place.mean, self.unit)} [{show(place.low, self.unit)} to {show(place.high, self.unit)}]"


@dataclass(frozen=True)
class SeriesJudgement(Jsonable):
    """One series, judged."""

    series: str
    outcome: Outcome
    reason: str
    used: int = 0
    left_out: int = 0
    fit: Fit | None = None


@dataclass(frozen=True)
class ShapeJudgement(Jsonable):
    """One expectation on a shape, judged: the worst of its series."""

    text: str
    outcome: Outcome
    reason: str
    series: tuple[SeriesJudgement, ...] = field(default=())


def judge_shape(
    expectation: ShapeExpectation, rows: Sequence[ResponseRow], unit: str = "", together: Set[str] = frozenset()
) -> ShapeJudgement:
    """Judge one expectation; never raises.

    ``unit`` is that of the response, as figures call it. ``together`` are axes that change with the one in question.
    """
    try:
        selected = _select_rows(expectation, rows)
        found = [_judge_series(expectation, one) for one in make_series(selected, expectation.axis, unit, together)]
    except Exception as error:  # a check that fails must not look like a pass
        why = f"the check itself failed: {type(error).__name__}: {error}"
        return ShapeJudgement(expectation.text, "unknown", why)
    if not found:
        return ShapeJudgement(expectation.text, "unknown", "no point has such values")
    outcome = pick_worst([one.outcome for one in found])
    worst = [one for one in found if one.outcome == outcome]
    told = worst[0].reason
    if len(found) > 1:
        told = f"{worst[0].series}: {told}"
        told = f"{told} ({len(worst)} of {len(found)} series {_VERBS[outcome]})"
    return ShapeJudgement(expectation.text, outcome, told, tuple(found))


_VERBS: dict[Outcome, str] = {"pass": "pass", "fail": "fail", "unknown": "are unknown"}


def _select_rows(expectation: ShapeExpectation, rows: Sequence[ResponseRow]) -> list[ResponseRow]:
    """The rows that the expectation is about."""
    return [
        row
        for row in rows
        if row.response == expectation.response
        and all(str(row.axes.get(name)) == wanted for name, wanted in expectation.where.items())
    ]


def make_series(
    rows: Sequence[ResponseRow], axis: str, unit: str = "", together: Set[str] = frozenset()
) -> list[Series]:
    """Rows of one response as series over an axis, in the order in which they first come.

    Axes in ``together`` change with the axis, so that they do not tell one series from another.
    """
    line = read_number_line([row.axes[axis] for row in rows]) if rows else None
    if line is None:
        return []
    told_apart = _find_telling_axes(rows, axis)
    grouped: dict[str, tuple[dict[str, Any], str, list[ResponseRow], list[float]]] = {}
    for row, x in sorted(zip(rows, line.numbers, strict=True), key=lambda pair: pair[0].point):
        others = {name: row.axes[name] for name in told_apart if name not in together}
        group = grouped.setdefault(f"{others} {row.item}", (others, row.item, [], []))
        group[2].append(row)
        group[3].append(x)
    return [
        Series(others, item, tuple(members), tuple(xs), line.unit, unit)
        for others, item, members, xs in grouped.values()
    ]


def _find_telling_axes(rows: Sequence[ResponseRow], axis: str) -> list[str]:
    """The other axes without those whose values follow from an earlier one, as those of zipped axes do."""
    kept: list[str] = []
    for name in sorted((name for name in rows[0].axes if name != axis), key=lambda one: not _varies(rows, one)):
        pairs = [{(str(row.axes[earlier]), str(row.axes[name])) for row in rows} for earlier in kept]
        if not any(len(found) == len({first for first, _ in found}) for found in pairs):
            kept.append(name)
    return [name for name in rows[0].axes if name in kept]


def _varies(rows: Sequence[ResponseRow], axis: str) -> bool:
    return len({str(row.axes[axis]) for row in rows}) > 1


def is_judged_by_bounds(expectation: ShapeExpectation) -> bool:
    """Whether values with wide bounds count, by these bounds. A line is fitted to values with close bounds alone."""
    return expectation.shape != "linear"


def make_place(rows: Sequence[ResponseRow], x: float = 0.0, *, with_wide: bool = False) -> Place:
    """The repeats of one point as one place, with the mean of those that are usable."""
    usable = [row for row in rows if (row.is_bounded if with_wide else row.is_usable)]
    left_out = len(rows) - len(usable)
    if not usable:
        return Place(x, left_out=left_out)
    values = [float(row.value or 0.0) for row in usable]
    mean = sum(values) / len(values)
    low = sum(float(row.low or 0.0) for row in usable) / len(usable)
    high = sum(float(row.high or 0.0) for row in usable) / len(usable)
    spread = 0.0
    if len(values) > 1:
        deviation = math.sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - 1))
        spread = student_quantile(len(values) - 1) * deviation / math.sqrt(len(values))
    return Place(x, mean, low - spread, high + spread, len(values), left_out)


def student_quantile(degrees: int) -> float:
    """The two-sided 95 % quantile of Student's t distribution with so many degrees of freedom."""
    return _STUDENT[min(degrees, len(_STUDENT)) - 1]


def average_repeats(series: Series, what: Literal["value", "low", "high"]) -> tuple[list[float], list[float]]:
    """The different x of the usable values, and the mean of the repeats at each of them."""
    grouped: dict[float, list[float]] = {}
    for x, row in zip(series.xs, series.rows, strict=True):
        if row.is_usable:
            grouped.setdefault(x, []).append(float(getattr(row, what) or 0.0))
    return list(grouped), [sum(values) / len(values) for values in grouped.values()]


def fit_series(series: Series) -> Fit | None:
    """The line through the means of repeats, so that r2 tells how straight it is and not how it scatters."""
    return fit_line(*average_repeats(series, "value"))


def fit_series_bounded(series: Series) -> BoundedFit | None:
    """The same, with what slope and r2 can be within the bounds of the values, however repeats scatter."""
    xs, means = average_repeats(series, "value")
    lows, highs = (average_repeats(series, what)[1] for what in ("low", "high"))
    return fit_bounded(xs, means, list(zip(lows, highs, strict=True)))


def _judge_series(expectation: ShapeExpectation, series: Series) -> SeriesJudgement:
    places = series.places(with_wide=is_judged_by_bounds(expectation))
    usable = [place for place in places if place.mean is not None]
    used = sum(place.used for place in usable)
    left_out = sum(place.left_out for place in places)
    told = _count_values(series, used, left_out, is_fit=expectation.shape == "linear")
    if len(usable) < FEWEST_PLACES:
        distinct = f"{len(usable)} of {len(places)} values of {expectation.axis} have a usable response"
        why = f"{distinct}; a shape needs {FEWEST_PLACES}"
        return SeriesJudgement(series.name, "unknown", f"{why}; {told}", used, left_out)
    if expectation.shape == "linear":
        outcome, why = _judge_line(expectation, series, places)
    elif expectation.shape in ("increasing", "decreasing"):
        outcome, why = _judge_order(expectation, series, places, 1 if expectation.shape == "increasing" else -1)
    elif expectation.shape == "constant":
        outcome, why = _judge_constant(expectation.within, series, places)
    else:
        outcome, why = _judge_plateau(expectation, series, places)
    return SeriesJudgement(series.name, outcome, f"{why}; {told}", used, left_out, fit_series(series))


def _count_values(series: Series, used: int, left_out: int, *, is_fit: bool) -> str:
    """How many values the answer rests on, and how many it does not."""
    wide = sum(row.is_bounded and not row.is_usable for row in series.rows)
    told = f"{used} values used"
    if wide and not is_fit:
        told += f", {wide} of them by wide bounds"
    if left_out:
        told += f", {left_out} left out"
    if wide and is_fit:
        told += f" ({wide} with bounds too far apart)"
    return told


def _judge_line(expectation: ShapeExpectation, series: Series, places: Sequence[Place]) -> tuple[Outcome, str]:
    """Judge slope and r2 by all that they can be within the bounds of the values.

    Where an end of the axis has no value the answer is unknown, because one point at an end may decide a fit.
    """
    line = fit_series_bounded(series)
    assert line is not None, "there are enough places"
    if line.r2 is None:
        return "unknown", f"the response does not vary (slope {line.fit.slope:.4g}), so r2 says nothing"
    told = (
        f"slope {_show_fitted(line.slope, '.4g')}, intercept {line.fit.intercept:.4g}, "
        f"r2 {_show_fitted(line.r2, '.4f')}"
    )
    if places[0].mean is None or places[-1].mean is None:
        return "unknown", f"an end of the axis has no usable value; {told} of the rest"
    estimates = {"slope": line.slope, "r2": line.r2}
    answers = [(bound, decide(bound.op, bound.number, estimates[bound.what])) for bound in expectation.bounds]
    broken = [str(bound) for bound, answer in answers if answer == "fail"]
    if broken:
        return "fail", f"{told}: not {' and '.join(broken)}"
    if any(answer == "unknown" for _, answer in answers):
        return "unknown", f"the bounds of the values leave it open; {told}"
    return "pass", told


def _show_fitted(number: Estimate, form: str) -> str:
    """A number of the fit, with its bounds where they differ."""
    if number.is_exact:
        return format(number.measured, form)
    return f"{number.measured:{form}} [{number.low:{form}} to {number.high:{form}}]"


def _judge_order(
    expectation: ShapeExpectation, series: Series, places: Sequence[Place], sign: int
) -> tuple[Outcome, str]:
    """Every value above (below) the one before it, or lower by at most the tolerance; the last above the first."""
    usable = [place for place in places if place.mean is not None]
    word = "rise" if sign > 0 else "fall"
    doubts = []
    for before, after in pairwise(usable):
        outcome = _compare_steps(before, after, sign, expectation.within)
        step = f"from {series.show_x(before)} to {series.show_x(after)}"
        step = f"{step} ({series.show_y(before)} to {series.show_y(after)})"
        if outcome == "fail":
            return "fail", f"it does not {word} {step}"
        if outcome == "unknown":
            doubts.append(f"whether it does {word} {step} is open")
    ends = _compare_steps(usable[0], usable[-1], sign, 0.0)
    if ends == "fail":
        return (
            "fail",
            f"it does not {word} from end to end ({series.show_y(usable[0])} to {series.show_y(usable[-1])})",
        )
    if ends == "unknown":
        doubts.append(f"whether it does {word} from end to end is open")
    if doubts:
        return "unknown", doubts[0]
    missing = len(places) - len(usable)
    if missing:
        return "unknown", f"{missing} of {len(places)} values of {expectation.axis} have no usable response"
    return "pass", f"from {series.show_y(usable[0])} to {series.show_y(usable[-1])}"


def _compare_steps(before: Place, after: Place, sign: int, within: float) -> Outcome:
    """Whether ``after`` lies above ``before`` (below, if the sign is negative), or beyond it by the tolerance."""
    slack = within * abs(before.mean or 0.0)
    if sign > 0:
        surely, never = after.low - before.high + slack, after.high - before.low + slack
    else:
        surely, never = before.low - after.high + slack, before.high - after.low + slack
    if surely > 0 or (within and surely >= 0):
        return "pass"
    return "fail" if never < 0 or (never == 0 and not within) else "unknown"


def _judge_constant(within: float, series: Series, places: Sequence[Place]) -> tuple[Outcome, str]:
    """No value farther from the mean of all than the tolerance, wherever in their intervals all values are."""
    usable = [place for place in places if place.mean is not None]
    centre = _average(usable)
    farthest = max(usable, key=lambda place: abs((place.mean or 0.0) - centre.measured))
    told = (
        f"mean {show(centre.measured, series.unit)}, farthest {series.show_y(farthest)} at {series.show_x(farthest)}"
    )
    distances = [_measure_distance(place, usable) for place in usable]
    if any(nearest > within * _find_size(centre)[1] for nearest, _ in distances):
        return "fail", f"{told}: not within {show(within, 'share')} of the mean"
    if any(farthest > within * _find_size(centre)[0] for _, farthest in distances):
        return "unknown", f"the intervals leave it open; {told}"
    missing = len(places) - len(usable)
    if missing:
        return "unknown", f"{missing} of {len(places)} values of the axis have no usable response; {told}"
    return "pass", told


def _average(places: Sequence[Place]) -> Estimate:
    """The mean of places, with what it can be within their intervals."""
    columns = ([float(getattr(place, name) or 0.0) for place in places] for name in ("mean", "low", "high"))
    return Estimate(*(sum(column) / len(column) for column in columns))


def _measure_distance(place: Place, places: Sequence[Place]) -> tuple[float, float]:
    """The smallest and the largest distance of a place, one of ``places``, from the mean of them all."""
    rest = [other for other in places if other is not place]
    low = ((len(rest) * place.low) - sum(other.high for other in rest)) / len(places)
    high = ((len(rest) * place.high) - sum(other.low for other in rest)) / len(places)
    return _find_size(Estimate(low, low, high))


def _find_size(number: Estimate) -> tuple[float, float]:
    """The smallest and the largest absolute value that a number can have."""
    sizes = sorted((abs(number.low), abs(number.high)))
    return (0.0 if number.low <= 0 <= number.high else sizes[0]), sizes[1]


def _judge_plateau(expectation: ShapeExpectation, series: Series, places: Sequence[Place]) -> tuple[Outcome, str]:
    """Constant from the given value of the axis on, and different from that at the lowest value of the axis."""
    line = read_number_line([row.axes[expectation.axis] for row in series.rows])
    assert line is not None, "a series has numbers on its axis"
    after = line.read(expectation.after)
    flat = [place for place in places if place.x >= after]
    if len([place for place in flat if place.mean is not None]) < 2:
        return "unknown", f"fewer than two values from {expectation.after} on have a usable response"
    outcome, why = _judge_constant(expectation.within, series, flat)
    if outcome != "pass":
        return outcome, f"from {expectation.after} on: {why}"
    first = places[0]
    if first.x >= after:
        return "unknown", f"no point lies before {expectation.after}, so nothing shows that a plateau begins there"
    if first.mean is None:
        return "unknown", "the lowest value of the axis has no usable response"
    level = _average(flat)
    told = f"{series.show_y(first)} at {series.show_x(first)}, then {show(level.measured, series.unit)}"
    told = f"{told} from {expectation.after} on"
    nearest, farthest = _find_size(Estimate(first.low - level.high, first.low - level.high, first.high - level.low))
    if nearest > expectation.within * _find_size(level)[1]:
        return "pass", told
    if farthest <= expectation.within * _find_size(level)[0]:
        return "fail", f"{told}: it is as flat before ('constant' says so)"
    return "unknown", f"the intervals leave open whether it differs before; {told}"
