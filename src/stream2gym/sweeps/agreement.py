"""Judges agreement with published values: agrees, differs or unknown, with both numbers. Pure.

Both numbers are computed in the same way. Ours has bounds. A line *agrees* if all of them lie within the tolerance,
*differs* if none does, and is *unknown* otherwise, and also where a point is missing, failed or has bounds that are
too far apart for a mean, or where a point with several repeats has fewer than two usable ones. A line without a
tolerance is *shown*: nothing is claimed.

The other number need not be published: it may be what the experiment sets, an ideal, what documentation promises, or
another number of ours. Such lines are counted apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stream2gym.figures.number_text import show
from stream2gym.jsonable import Jsonable
from stream2gym.judge.estimate import Estimate
from stream2gym.judge.verdict import Outcome, count_nouns
from stream2gym.spec.findings import Finding
from stream2gym.sweeps import series_quantities as quantities
from stream2gym.sweeps.agreement_grammar import (
    ERRORS,
    Agreement,
    Tolerance,
    parse_compared,
    parse_tolerances,
    series_names,
)
from stream2gym.sweeps.agreement_numbers import (
    NOTHING,
    AgreementOutcome,
    Compared,
    combine_errors,
    compare_error,
    measure_quantity,
    pick_best,
    show_difference,
    show_estimate,
    show_number,
    show_percent,
    show_r2,
)
from stream2gym.sweeps.agreement_orders import judge_order
from stream2gym.sweeps.agreement_sides import AgreementInput, ComparedSides, NoValue
from stream2gym.sweeps.axis_values import read_number_line
from stream2gym.sweeps.line_fit import FEWEST_PLACES
from stream2gym.sweeps.published_values import PUBLISHED, PublishedTable
from stream2gym.sweeps.response_table import ResponseRow
from stream2gym.sweeps.shape_grammar import parse_shape
from stream2gym.sweeps.shape_judgement import (
    Place,
    is_judged_by_bounds,
    judge_shape,
    make_place,
)
from stream2gym.units import Quantity, Share

OURS = "ours"
# What a line compares our number with, in words.
_REFERENCES = {
    PUBLISHED: ("the published value", "comparison", "with published values"),
    "setting": ("what is set", "comparison", "with what the experiment sets"),
    "ideal": ("the ideal", "comparison", "with an ideal"),
    "documentation": ("what is documented", "comparison", "with what documentation promises"),
    OURS: ("the other number", "comparison", "of two numbers of ours"),
    "": ("", "number", "of ours alone"),
}


@dataclass(frozen=True)
class AgreementJudgement(Jsonable):
    """One line, judged. ``ours`` and ``published`` are for people, the numbers are in base units."""

    name: str
    what: str
    of: str
    outcome: AgreementOutcome
    ours: str = NOTHING
    published: str = NOTHING
    tolerance: str = ""
    # What ours is compared with: a kind of published values, OURS, or nothing.
    reference: str = PUBLISHED
    reason: str = ""
    note: str = ""
    sources: tuple[str, ...] = ()
    value: float | None = None
    low: float | None = None
    high: float | None = None
    published_value: float | None = None


def judge_agreement(line: Agreement, given: AgreementInput) -> AgreementJudgement:
    """Judge one line; never raises."""
    tolerance = " or ".join(line.within) or line.shape or ("same order" if "order" in line.what else "")
    head: dict[str, Any] = {
        "name": line.label,
        "what": line.what,
        "of": line.of,
        "tolerance": tolerance,
        "note": line.note,
    }
    try:
        head["reference"] = _find_reference(line, given)
        sources = [value.source for name in _list_series(line, given) for value in given.table.series(name)]
        head["sources"] = tuple(dict.fromkeys(sources))
        found = _Judge(line, given).judge()
    except NoValue as why:
        return AgreementJudgement(**head, outcome="unknown", reason=str(why))
    except Exception as error:  # a check that fails must not look like an agreement
        why_not = f"the check itself failed: {type(error).__name__}: {error}"
        return AgreementJudgement(**head, outcome="unknown", reason=why_not)
    ours = found.value
    return AgreementJudgement(
        **head, outcome=found.outcome, ours=found.ours, published=found.published, reason=found.reason,
        value=None if ours is None else ours.measured, low=None if ours is None else ours.low,
        high=None if ours is None else ours.high, published_value=found.published_value,
    )  # fmt: skip


def _list_series(line: Agreement, given: AgreementInput) -> list[str]:
    compared = parse_compared(line.of, given.quantities, given.axes)
    values = [row.axes[compared.by] for row in given.rows] if compared.by else []
    return [*dict.fromkeys(series_names(line, compared.by, values).values()), *line.original]


def _find_reference(line: Agreement, given: AgreementInput) -> str:
    """What a line compares our number with: a key of ``_REFERENCES``."""
    if line.against:
        return OURS
    if not line.published:
        return ""
    kinds = [value.kind for name in _list_series(line, given) for value in given.table.series(name)]
    return kinds[0] if kinds else PUBLISHED


class _Judge:
    """Judges one line."""

    def __init__(self, line: Agreement, given: AgreementInput) -> None:
        self._line = line
        self._given = given
        self._sides = ComparedSides(line, given)
        self._of = self._sides.of
        self._unit = self._sides.unit
        self._tolerances: tuple[Tolerance, ...] = parse_tolerances(line, self._sides.quantity)

    def judge(self) -> Compared:
        match self._line.what:
            case "value":
                return self._judge_value()
            case "order" | "slope order":
                return judge_order(self._line, self._given, self._sides)
            case "shape":
                return self._judge_shape()
            case "mean error" | "worst error":
                return self._judge_errors()
            case _:
                return self._judge_quantity()

    # ---- quantities

    def _judge_value(self) -> Compared:
        ours, complaint = _measure_point(self._sides)
        return self._compare(ours, complaint, self._show_value)

    def _judge_quantity(self) -> Compared:
        series = self._sides.series()
        ours = measure_quantity(self._line.what, series)
        places = series.places()
        is_line = self._line.what in ("slope", "intercept", "r2")
        if self._line.what == "rise":  # what lies between the ends does not matter
            places = [places[0], places[-1]] if len(places) > 1 else places
        complaint = self._sides.complain(places, FEWEST_PLACES if is_line else 2)
        if ours is None:
            raise NoValue(complaint or "it cannot be computed from these values")
        shown = {"slope": self._show_slope, "intercept": self._show_value, "r2": show_r2}.get(
            self._line.what, show_number
        )
        return self._compare(ours, complaint, shown)

    def _compare(self, ours: Estimate, complaint: str, shown: Callable[[float], str]) -> Compared:
        """Our number beside the other one, if there is one."""
        if self._line.against:
            theirs, why_not = self._measure_against()
            return self._decide(ours, theirs, complaint or why_not, shown)
        if not self._line.published:
            return _show_alone(ours, complaint, shown)
        published = self._measure_published()
        return self._decide(ours, Estimate(published, published, published), complaint, shown)

    def _measure_published(self) -> float:
        if self._line.what == "value":
            values = self._given.table.series(self._line.published)
            return self._sides.read(next(one for one in values if one.x == (self._line.at or "")))
        published = measure_quantity(self._line.what, self._sides.published_series(self._line.published))
        if published is None:
            raise NoValue("it cannot be computed from the published values")
        return published.measured

    def _measure_against(self) -> tuple[Estimate, str]:
        """The other number of ours that the line names, and why no claim can rest on it."""
        named = self._line.model_copy(update={"what": "value", "of": self._line.against})
        found, complaint = _measure_point(ComparedSides(named, self._given))
        times = self._line.times
        return Estimate(times * found.measured, times * found.low, times * found.high), complaint

    def _decide(self, ours: Estimate, theirs: Estimate, complaint: str, shown: Callable[[float], str]) -> Compared:
        texts = show_estimate(ours, shown), show_estimate(theirs, shown)
        beside = theirs.measured
        if complaint:
            return Compared("unknown", *texts, complaint, ours, beside)
        difference = show_difference((ours.measured - beside) / abs(beside)) if beside else ""
        name = _REFERENCES[_find_reference(self._line, self._given)][0]
        reason = f"{difference} beside {name}" if difference else ""
        if not self._tolerances:
            return Compared("shown", *texts, reason, ours, beside)
        allowed = max(one.allowed(beside) for one in self._tolerances)
        if theirs.high - allowed <= ours.low and ours.high <= theirs.low + allowed:
            return Compared("agrees", *texts, reason, ours, beside)
        if ours.low > theirs.high + allowed or ours.high < theirs.low - allowed:
            return Compared("differs", *texts, reason, ours, beside)
        return Compared("unknown", *texts, "the bounds of our value leave it open", ours, beside)

    def _judge_shape(self) -> Compared:
        axis, response = self._of.axis, self._of.response
        expectation = parse_shape(f"{response} over {axis}: {self._line.shape}", [response], [axis])
        series = self._sides.series()
        ours = judge_shape(expectation, series.rows, self._unit, self._given.together(axis))
        published = self._sides.published_series(self._line.published)
        theirs = judge_shape(expectation, published.rows, self._unit)
        texts = _SHAPE_WORDS[ours.outcome], _SHAPE_WORDS[theirs.outcome]
        complaint = self._sides.complain(series.places(with_wide=is_judged_by_bounds(expectation)))
        reason = f"{self._line.shape}: {ours.reason}"
        if "unknown" in (ours.outcome, theirs.outcome) or complaint:
            why = f"published: {theirs.reason}" if theirs.outcome == "unknown" else complaint or reason
            return Compared("unknown", *texts, why)
        if theirs.outcome == ours.outcome == "fail":
            return Compared("unknown", *texts, "neither has this shape, so that nothing is compared")
        return Compared("agrees" if ours.outcome == theirs.outcome else "differs", *texts, reason)

    def _judge_errors(self) -> Compared:
        places = self._sides.series().places()
        published = self._sides.published(self._line.published)
        if self._line.at is not None:
            x = self._sides.read_x(self._line.at)
            places = [place for place in places if place.x == x]
            published = {x: published[x]}
            if not places:
                raise NoValue("no point of this pass has these values")
        errors = quantities.measure_errors(places, published)
        complaint = self._complain_of_errors(places, published)
        if not errors or any(wanted == 0 for _, _, wanted in errors):
            raise NoValue(complaint or "no point has a published value other than zero")
        is_mean = self._line.what == ERRORS[0]
        shares = [Estimate(e.measured / abs(w), e.low / abs(w), e.high / abs(w)) for _, e, w in errors]
        ours = combine_errors(shares, is_mean=is_mean)
        absolute = combine_errors([error for _, error, _ in errors], is_mean=is_mean)
        theirs = self._measure_original(is_mean=is_mean)
        texts = (
            f"{show_estimate(absolute, self._show_value)}, {show_estimate(ours, show_percent)}",
            NOTHING if theirs is None else show_percent(theirs),
        )
        reason = f"at {len(errors)} of {len(published)} published points" if self._line.at is None else ""
        if complaint:
            return Compared("unknown", *texts, complaint, ours, theirs)
        if not self._tolerances:
            return Compared("shown", *texts, reason, ours, theirs)
        if is_mean:
            answers = [
                compare_error(absolute, one.absolute) if one.absolute else compare_error(ours, one.share)
                for one in self._tolerances
            ]
            return Compared(pick_best(answers), *texts, reason, ours, theirs)
        every = [
            compare_error(error, max(one.allowed(wanted) for one in self._tolerances)) for _, error, wanted in errors
        ]
        outcome: AgreementOutcome = "differs" if "differs" in every else "unknown" if "unknown" in every else "agrees"
        return Compared(outcome, *texts, reason, ours, theirs)

    def _complain_of_errors(self, places: Sequence[Place], published: Mapping[float, float]) -> str:
        """Why no claim can rest on the points that both sides have."""
        complaint = self._sides.complain([place for place in places if place.x in published])
        passed = [x for x in published if places[0].x < x < places[-1].x and x not in {place.x for place in places}]
        if complaint or not passed:
            return complaint
        return f"{len(passed)} of {len(published)} published points lie between ours and were not measured"

    def _measure_original(self, *, is_mean: bool) -> float | None:
        """The error of others, as they published it or computed from two published series as ours is."""
        if len(self._line.original) < 2:
            stated = [one for name in self._line.original for one in self._given.table.series(name) if not one.x]
            return stated[0].read_as(Share) if stated else None
        series = [self._given.table.series(name) for name in self._line.original]
        first, second = ({one.x: self._sides.read(one) for one in values} for values in series)
        shares = [
            abs(first[x] - wanted) / abs(wanted)
            for x, wanted in second.items()
            if x in first and self._line.at in (None, x)
        ]
        return sum(shares) / len(shares) if is_mean else max(shares)

    def _show_value(self, value: float) -> str:
        return show(value, self._unit)

    def _show_slope(self, value: float) -> str:
        axis = read_number_line([row.axes[self._of.axis] for row in self._given.rows])
        x_unit = axis.unit if axis is not None else ""
        if x_unit == self._unit:
            return f"{value:.3g}"
        return f"{show(value, self._unit)} per {x_unit}" if x_unit else show(value, self._unit)


def _measure_point(sides: ComparedSides) -> tuple[Estimate, str]:
    """The value of the one point that a line is about, and why no claim can rest on it."""
    rows = sides.select()
    points = {row.point for row in rows}
    items = {row.item for row in rows if row.value is not None}
    if len(points) > 1 or len(items) > 1:
        raise NoValue(f"{max(len(points), len(items))} values fit, not one; 'where' selects")
    place = make_place(rows, with_wide=True)
    if place.mean is None:
        raise NoValue(rows[0].reason or "the point has no value")
    return quantities.as_estimate(place), sides.complain([make_place(rows)])


def _show_alone(ours: Estimate, complaint: str, shown: Callable[[float], str]) -> Compared:
    """Our value where nothing was published."""
    return Compared("unknown" if complaint else "shown", show_estimate(ours, shown), NOTHING, complaint, ours)


_SHAPE_WORDS: dict[Outcome, str] = {"pass": "yes", "fail": "no", "unknown": "unknown"}


def count_agreement(lines: Sequence[AgreementJudgement]) -> str:
    """How many lines agree, in words; those that compare with something else than published values apart."""
    told = []
    for reference, (_, noun, words) in _REFERENCES.items():
        own = [line for line in lines if line.reference == reference]
        if own:
            told.append(f"of {count_nouns(len(own), noun)} {words} {count_outcomes(own)}")
    return "; ".join(told)


def count_outcomes(lines: Sequence[AgreementJudgement]) -> str:
    """How many lines have which outcome, in words."""
    counts = Counter[str](line.outcome for line in lines)
    words = {"agrees": "agree", "differs": "differ", "unknown": "are unknown", "shown": "only shown"}
    return ", ".join(f"{counts[kind]} {word}" for kind, word in words.items() if counts[kind])


def find_shapes_that_were_not_published(
    lines: Sequence[Agreement],
    quantities: Mapping[str, type[Quantity]],
    axes: Mapping[str, Sequence[Any]],
    table: PublishedTable,
) -> Iterator[Finding]:
    """Lines on a shape that the published values do not have, so that nothing could agree."""
    for number, line in enumerate(lines):
        if line.what != "shape":
            continue
        of = parse_compared(line.of, quantities, axes)
        rows = [
            ResponseRow(0, 1, 0, {of.axis: value}, of.response, "", None, None, None, "unknown", "", "", "")
            for value in axes[of.axis]
        ]
        sides = ComparedSides(line, AgreementInput(rows, table, quantities, list(axes)))
        theirs = judge_shape(
            parse_shape(f"{of.response} over {of.axis}: {line.shape}", [of.response], [of.axis]),
            sides.published_series(line.published).rows,
            sides.unit,
        )
        if theirs.outcome == "fail":
            what = f"the published values do not have this shape: {theirs.reason}"
            yield Finding(("agreement", number, "shape"), what, "a shape that they have")
