"""Shapes are judged pass, fail or unknown, and never wrongly: values in doubt decide nothing by themselves."""

from __future__ import annotations

from math import inf, nan
from random import Random

import pytest

from stream2gym.sweeps.line_fit import MOST_EXACT, fit_bounded, fit_line
from stream2gym.sweeps.point import MeasuredResponse, PointResult
from stream2gym.sweeps.response_table import ResponseRow, fill_missing_items, judge_value, make_rows
from stream2gym.sweeps.shape_grammar import parse_shape
from stream2gym.sweeps.shape_judgement import ShapeJudgement, fit_series, judge_shape, make_series
from stream2gym.sweeps.sweep_plan import PlannedPointRun
from tests.unit.sweeps.sweeps_support import row


def judge(form: str, rows: list[ResponseRow], *, axes: tuple[str, ...] = ("x",)) -> ShapeJudgement:
    return judge_shape(parse_shape(f"y over x{form}", ["y"], axes), rows)


def over(*pairs: tuple[float, float]) -> list[ResponseRow]:
    return [row(x, y) for x, y in pairs]


# ---- the grammar


def test_the_parts_of_an_expectation_are_read() -> None:
    found = parse_shape(
        "link_throughput.mean(port=s1:2) over link.latency where acks=all, site=h2: linear(r2 > 0.98, slope <= 3)",
        ["link_throughput.mean(port=s1:2)"],
        ["link", "link.latency", "acks", "site"],
    )
    assert (found.response, found.axis) == ("link_throughput.mean(port=s1:2)", "link.latency")
    assert found.where == {"acks": "all", "site": "h2"}
    assert [str(bound) for bound in found.bounds] == ["r2 > 0.98", "slope <= 3"]


def test_shapes_have_defaults_and_tolerances() -> None:
    assert [str(bound) for bound in parse_shape("y over x: linear", ["y"], ["x"]).bounds] == ["r2 >= 0.95"]
    plateau = parse_shape("y over x: plateau after 8 ms (within 5 %)", ["y"], ["x"])
    assert (plateau.after, plateau.within) == ("8 ms", 0.05)
    assert parse_shape("y over x: increasing(within 2 %)", ["y"], ["x"]).within == 0.02


# ---- lines


def test_a_straight_line_passes_and_a_bent_one_fails() -> None:
    straight = judge(": linear(r2 > 0.98)", over((0, 1), (1, 3), (2, 5.01), (3, 7)))
    assert straight.outcome == "pass"
    fit = straight.series[0].fit
    assert fit is not None
    assert fit.slope == pytest.approx(2, abs=0.01)
    assert judge(": linear(r2 > 0.98)", over((0, 0), (1, 1), (2, 10), (3, 2))).outcome == "fail"


def test_a_slope_is_part_of_the_line() -> None:
    rows = over((0, 1), (1, 3), (2, 5))
    assert judge(": linear(slope > 1.9)", rows).outcome == "pass"
    assert judge(": linear(slope > 2.1)", rows).outcome == "fail"


@pytest.mark.parametrize("count", [0, 1, 2])
@pytest.mark.parametrize("form", ["linear", "increasing", "decreasing", "constant", "plateau after 1"])
def test_fewer_than_three_values_of_the_axis_are_unknown(form: str, count: int) -> None:
    rows = [row(x, float(x), repeat=repeat) for x in range(count) for repeat in (1, 2, 3)]
    assert judge(f": {form}", rows).outcome == "unknown"


def test_a_response_that_does_not_vary_has_no_r2() -> None:
    found = judge(": linear", over((0, 5), (1, 5), (2, 5)))
    assert found.outcome == "unknown"
    assert "does not vary" in found.reason


def test_values_with_wide_bounds_are_left_out_of_a_fit_and_counted() -> None:
    wide = row(1.5, 100.0, 3.0, 100.0, state="wide")
    found = judge(": linear(r2 > 0.98)", [*over((0, 1), (1, 3), (2, 5), (3, 7)), wide])
    assert found.outcome == "pass"
    assert "4 values used, 1 left out (1 with bounds too far apart)" in found.reason


def test_a_fit_without_a_value_at_an_end_of_the_axis_is_unknown() -> None:
    rows = [*over((0, 1), (1, 3), (2, 5)), row(3, None)]
    assert judge(": linear", rows).outcome == "unknown"
    failing = [*over((0, 0), (1, 1), (2, -4)), row(30, None)]
    assert judge(": linear", failing).outcome == "unknown"


def test_a_fit_whose_bounds_disagree_is_unknown() -> None:
    rows = [row(0, 1.0, 0.0, 1.0), row(1, 2.0, 2.0, 2.0), row(2, 3.0, 2.9, 6.0)]
    assert judge(": linear(r2 > 0.999)", rows).outcome == "unknown"


def test_a_line_that_only_values_at_mixed_bounds_bend_does_not_pass() -> None:
    """With all values at their low bounds, and with all at their high ones, the line is straight."""
    rows = [row(x, 10.0 * x, 10.0 * x - 4, 10.0 * x + 4) for x in range(5)]
    found = judge(": linear(r2 > 0.98)", rows)
    assert found.outcome == "unknown"
    assert "r2 1.0000 [0.9232 to 1.0000]" in found.reason
    assert judge(": linear(r2 > 0.9)", rows).outcome == "pass"
    assert judge(": linear(slope > 9)", rows).outcome == "unknown"
    assert judge(": linear(r2 > 0.9, slope > 7.5)", rows).outcome == "pass"


def test_a_bent_line_fails_unless_values_within_their_bounds_make_it_straight() -> None:
    def bent(margin: float) -> list[ResponseRow]:
        return [row(x, y, y - margin, y + margin) for x, y in ((0, 0.0), (1, 1.0), (2, 10.0), (3, 2.0))]

    assert judge(": linear(r2 > 0.98)", bent(0.5)).outcome == "fail"
    assert judge(": linear(r2 > 0.98)", bent(5.0)).outcome == "unknown"


def test_a_slope_that_may_be_zero_leaves_r2_open_down_to_zero() -> None:
    fit = fit_bounded([0, 1, 2], [1.0, 1.1, 1.2], [(0.8, 1.2), (1.0, 1.2), (1.0, 1.4)])
    assert fit is not None
    assert fit.r2 is not None
    assert (fit.slope.low < 0 < fit.slope.high, fit.r2.low, fit.r2.high) == (True, 0.0, pytest.approx(1.0))


@pytest.mark.parametrize("count", [4, 7, MOST_EXACT + 2])
def test_no_values_within_their_bounds_have_an_r2_or_a_slope_beyond_those_of_the_fit(count: int) -> None:
    draw = Random(count)
    for _ in range(20):
        xs = [float(x) for x in range(count)]
        ys = [2 * x + draw.gauss(0, 1) for x in xs]
        bounds = [(y - draw.random(), y + draw.random()) for y in ys]
        bounded = fit_bounded(xs, ys, bounds)
        assert bounded is not None
        assert bounded.r2 is not None
        for inside in (draw.uniform, lambda *pair: draw.choice(pair)):
            fit = fit_line(xs, [inside(*pair) for pair in bounds])
            assert fit is not None
            assert fit.r2 is not None
            assert bounded.r2.low <= fit.r2 + 1e-9
            assert bounded.r2.high >= fit.r2 - 1e-6
            assert bounded.slope.low - 1e-9 <= fit.slope <= bounded.slope.high + 1e-9


# ---- orders


def test_rising_values_increase_and_do_not_decrease() -> None:
    rows = over((1, 1), (2, 2), (4, 2.5))
    assert judge(": increasing", rows).outcome == "pass"
    assert judge(": decreasing", rows).outcome == "fail"


def test_equal_values_are_not_increasing_unless_a_tolerance_says_so() -> None:
    rows = over((1, 1), (2, 2), (3, 2), (4, 3))
    assert judge(": increasing", rows).outcome == "fail"
    assert judge(": increasing(within 1 %)", rows).outcome == "pass"
    assert judge(": increasing(within 5 %)", over((1, 10), (2, 9.8), (3, 12))).outcome == "pass"
    assert judge(": increasing(within 5 %)", over((1, 10), (2, 8), (3, 12))).outcome == "fail"
    flat = judge(": increasing(within 5 %)", over((1, 10), (2, 10), (3, 10)))
    assert flat.outcome == "fail"


def test_bounds_that_overlap_leave_an_order_open_and_bounds_that_do_not_decide_it() -> None:
    apart = [row(1, 10.0, 1.0, 10.0, state="wide"), row(2, 30.0, 11.0, 30.0, state="wide"), row(3, 60.0, 31.0, 60.0)]
    found = judge(": increasing", apart)
    assert found.outcome == "pass"
    assert "2 of them by wide bounds" in found.reason
    overlapping = [apart[0], row(2, 30.0, 9.0, 30.0, state="wide"), apart[2]]
    assert judge(": increasing", overlapping).outcome == "unknown"


def test_an_order_with_a_missing_value_never_passes_but_may_fail() -> None:
    assert judge(": increasing", [*over((1, 1), (2, 2), (4, 4)), row(3, None)]).outcome == "unknown"
    assert judge(": increasing", [*over((1, 1), (2, 5), (4, 4)), row(3, None)]).outcome == "fail"


def test_repeats_that_scatter_leave_an_order_open() -> None:
    def repeats(spread: float) -> list[ResponseRow]:
        return [
            row(x, x + offset * spread, repeat=repeat)
            for x in (1.0, 2.0, 3.0)
            for repeat, offset in enumerate((-1, 0, 1), 1)
        ]

    assert judge(": increasing", repeats(0.01)).outcome == "pass"
    assert judge(": increasing", repeats(1.0)).outcome == "unknown"


# ---- flat shapes


def test_a_constant_stays_within_its_tolerance() -> None:
    rows = over((1, 100), (2, 101), (3, 99))
    assert judge(": constant(within 5 %)", rows).outcome == "pass"
    assert judge(": constant(within 0.1 %)", rows).outcome == "fail"
    open_ = [*over((1, 100), (2, 101)), row(3, 99.0, 80.0, 99.0, state="wide")]
    assert judge(": constant(within 5 %)", open_).outcome == "unknown"


def test_a_constant_whose_mean_is_in_doubt_with_its_values_does_not_pass() -> None:
    """Every interval is within 5 % of the mean as measured; one value above, and the mean below it, are not."""
    rows = [row(x, 100.0, 95.2, 104.8) for x in (1, 2, 3)]
    assert judge(": constant(within 5 %)", rows).outcome == "unknown"
    assert judge(": constant(within 10 %)", rows).outcome == "pass"


def test_a_plateau_whose_level_is_in_doubt_does_not_begin_for_sure() -> None:
    """The first value is 10.5 % below the level as measured, and 8 % below the lowest that the level can be."""
    rows = [row(1, 89.5), *(row(x, 100.0, 97.3, 102.7) for x in (8, 10, 16))]
    assert judge(": plateau after 8", rows).outcome == "unknown"
    assert judge(": plateau after 8", [row(1, 85.0), *rows[1:]]).outcome == "pass"


def test_a_plateau_rises_first_and_is_flat_then() -> None:
    rows = over((1, 10), (2, 20), (4, 40), (8, 70), (10, 71), (16, 72))
    assert judge(": plateau after 8", rows).outcome == "pass"
    assert judge(": plateau after 4", rows).outcome == "fail"
    assert judge(": plateau after 16", rows).outcome == "unknown"
    flat = judge(": plateau after 8", over((1, 70), (2, 70), (8, 70), (16, 70)))
    assert flat.outcome == "fail"
    assert "constant" in flat.reason


# ---- series


def test_every_combination_of_other_axes_is_a_series_and_the_worst_one_counts() -> None:
    def series(site: str, *ys: float) -> list[ResponseRow]:
        return [row(x, y, axes={"x": x, "site": site}) for x, y in enumerate(ys)]

    rows = [*series("a", 1, 2, 3), *series("b", 1, 2, 1)]
    both = judge(": increasing", rows, axes=("x", "site"))
    assert both.outcome == "fail"
    assert "site=b" in both.reason
    assert "1 of 2 series" in both.reason
    assert judge(" where site=a: increasing", rows, axes=("x", "site")).outcome == "pass"
    assert judge(" where site=c: increasing", rows, axes=("x", "site")).outcome == "unknown"


def test_axes_that_are_zipped_with_the_one_in_question_do_not_split_its_series() -> None:
    rows = [row(x, float(x), axes={"x": x, "twin": 10 * x}) for x in (1, 2, 3)]
    expectation = parse_shape("y over x: increasing", ["y"], ["x", "twin"])
    assert judge_shape(expectation, rows).outcome == "unknown"
    assert judge_shape(expectation, rows, together={"twin"}).outcome == "pass"


def test_a_check_that_crashes_is_unknown() -> None:
    broken = [row(x, 1.0, axes={}) for x in range(3)]
    assert judge(": increasing", broken).outcome == "unknown"


# ---- what a value is worth


@pytest.mark.parametrize(
    ("value", "low", "high", "worth"),
    [
        (1.0, 1.0, 1.0, "measured"),
        (1.0, 0.95, 1.04, "measured"),
        (1.0, 0.5, 1.0, "wide"),
        (0.0, 0.0, 0.0, "measured"),
        (0.0, 0.0, 1.0, "wide"),
        (1.0, 1.0, inf, "wide"),
        (inf, 1.0, inf, "unknown"),
        (nan, nan, nan, "unknown"),
        (None, None, None, "unknown"),
    ],
)
def test_only_finite_values_with_narrow_bounds_count_as_measured(
    value: float | None, low: float | None, high: float | None, worth: str
) -> None:
    assert judge_value(MeasuredResponse("y", "", value, low, high), 0.1) == worth


def test_infinite_values_never_decide_a_shape() -> None:
    rows = [*over((1, 1), (2, 2)), row(3, inf, 1.0, inf, state="unknown")]
    assert judge(": increasing", rows).outcome == "unknown"
    unbounded = [*over((1, 1), (2, 2)), row(3, 3.0, 3.0, inf, state="wide")]
    assert judge(": increasing", unbounded).outcome == "unknown"


def test_a_run_that_did_not_go_through_has_a_row_for_every_response() -> None:
    run = PlannedPointRun(1, 2, 5, {"x": 3}, {})
    rows = make_rows(run, "points/p0001-r2", PointResult("failed", error="no broker"), ["a", "b"], 0.1)
    assert [(one.response, one.state, one.reason) for one in rows] == [
        ("a", "failed", "no broker"),
        ("b", "failed", "no broker"),
    ]


def test_a_failed_run_is_missing_from_the_series_of_every_item() -> None:
    rows = [
        row(1, 1.0, item="l1"), row(1, 2.0, item="l2"),
        row(2, None, point=2, state="failed"),
        row(3, 1.0, item="l1", point=3),
    ]  # fmt: skip
    filled = fill_missing_items(rows)
    found = {(one.point, one.item, one.state) for one in filled}
    assert found == {
        (1, "l1", "measured"), (1, "l2", "measured"), (2, "l1", "failed"), (2, "l2", "failed"),
        (3, "l1", "measured"), (3, "l2", "unknown"),
    }  # fmt: skip
    assert len(filled) == 6


def test_a_line_is_fitted_to_the_means_of_repeats_however_they_scatter() -> None:
    """The means are on a line; the values themselves fit it with an r2 of 0.4 only."""
    rows = [
        row(x, 10.0 * x + shift, point=x + 1, repeat=number)
        for x in (0, 1, 2, 3)
        for number, shift in enumerate((-14.0, 14.0), 1)
    ]
    [series] = make_series(rows, "x")
    fit = fit_series(series)
    assert fit is not None
    assert (fit.slope, fit.r2) == (pytest.approx(10.0), pytest.approx(1.0))
