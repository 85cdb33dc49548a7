"""Judges whether our values, or the slopes of our series, come in the published order. Pure."""

from __future__ import annotations

from itertools import combinations

from stream2gym.judge.estimate import Estimate
from stream2gym.sweeps import series_quantities as quantities
from stream2gym.sweeps.agreement_grammar import Agreement, parse_tolerances, series_names
from stream2gym.sweeps.agreement_numbers import Compared
from stream2gym.sweeps.agreement_sides import AgreementInput, ComparedSides, NoValue
from stream2gym.sweeps.line_fit import FEWEST_PLACES
from stream2gym.sweeps.shape_judgement import Place, make_place, make_series

# Of both sides by their names, and why no claim can rest on ours.
Ranked = tuple[dict[str, Estimate], dict[str, float], str]


def judge_order(line: Agreement, given: AgreementInput, sides: ComparedSides) -> Compared:
    """Judge whether our values come in the published order, those that are closer than the tolerance aside."""
    ours, published, complaint = _rank_slopes(line, given, sides) if sides.of.by else _rank_places(line, given, sides)
    if len(ours) < 2:
        raise NoValue(complaint or "fewer than two values to rank")
    largest = max(abs(value) for value in published.values())
    slack = max((one.allowed(largest) for one in parse_tolerances(line, sides.quantity)), default=0.0)
    pairs = [(a, b) for a, b in combinations(sorted(published, key=lambda name: published[name]), 2)
             if published[b] - published[a] > slack]  # fmt: skip
    exact = {name: Estimate(value, value, value) for name, value in published.items()}
    blurred = {name: Estimate(one.measured, one.low - slack / 2, one.high + slack / 2) for name, one in exact.items()}
    texts = quantities.rank(ours), quantities.rank(blurred)
    if complaint:
        return Compared("unknown", *texts, complaint)
    if not pairs:
        return Compared("unknown", *texts, "the published values are all of one rank")
    wrong = [(a, b) for a, b in pairs if ours[a].low > ours[b].high]
    if wrong:
        return Compared("differs", *texts, f"{len(wrong)} of {len(pairs)} pairs are the other way round: "
                         f"{wrong[0][1]} < {wrong[0][0]}")  # fmt: skip
    doubtful = [(a, b) for a, b in pairs if not ours[a].high < ours[b].low]
    if doubtful:
        told = f"{len(doubtful)} of {len(pairs)} pairs are open: {doubtful[0][0]} and {doubtful[0][1]}"
        return Compared("unknown", *texts, told)
    return Compared("agrees", *texts, f"all {len(pairs)} pairs that differ are in the same order")


def _rank_slopes(line: Agreement, given: AgreementInput, sides: ComparedSides) -> Ranked:
    rows = sides.select()
    values = list(dict.fromkeys(str(row.axes[sides.of.by]) for row in rows))
    ours: dict[str, Estimate] = {}
    published: dict[str, float] = {}
    complaint = ""
    for value, name in series_names(line, sides.of.by, values).items():
        if not given.table.series(name):
            continue
        own = [row for row in rows if str(row.axes[sides.of.by]) == value]
        made = make_series(own, sides.of.axis, sides.unit, given.together(sides.of.axis))
        if len(made) != 1:
            raise NoValue(f"{len(made)} series fit {value}, not one; 'where' selects")
        slope = quantities.measure_slope(made[0])
        theirs = quantities.measure_slope(sides.published_series(name))
        problem = sides.complain(made[0].places(), FEWEST_PLACES)
        complaint = complaint or (f"{value}: {problem}" if problem else "")
        if slope is None or theirs is None:
            raise NoValue(f"{value}: {problem or 'it has no slope'}")
        ours[value], published[value] = slope, theirs.measured
    return ours, published, complaint


def _rank_places(line: Agreement, given: AgreementInput, sides: ComparedSides) -> Ranked:
    rows = sides.select()
    theirs = {one.x: sides.read(one) for one in given.table.series(line.published) if one.x}
    places: dict[str, Place] = {}
    for value in dict.fromkeys(str(row.axes[sides.of.axis]) for row in rows):
        own = [row for row in rows if str(row.axes[sides.of.axis]) == value]
        if len({(row.point, row.item) for row in own if row.value is not None}) > 1:
            raise NoValue(f"several values fit {value}; 'where' selects")
        if value in theirs:
            places[value] = make_place(own, with_wide=True)
    complaint = sides.complain(list(places.values()), 2)
    ours = {name: quantities.as_estimate(place) for name, place in places.items() if place.mean is not None}
    return ours, {name: value for name, value in theirs.items() if name in places}, complaint
