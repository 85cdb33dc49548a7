"""Agreement with published values is computed, and never claimed where points are missing, wide or too few."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stream2gym.kinds.metrics import Count
from stream2gym.sweeps.agreement import AgreementJudgement, count_agreement, judge_agreement
from stream2gym.sweeps.agreement_grammar import Agreement, parse_compared
from stream2gym.sweeps.agreement_sides import AgreementInput, add_missing_runs
from stream2gym.sweeps.agreement_table import show_agreement, write_agreement
from stream2gym.sweeps.published_values import PublishedTable, PublishedValue
from stream2gym.sweeps.response_table import ResponseRow
from stream2gym.units import Duration, Size
from tests.unit.sweeps.sweeps_support import mistakes, row

TABLE = PublishedTable(
    (
        *(PublishedValue("line", str(x), 10.0 + 2 * x, "", "a paper") for x in (0, 1, 2, 3)),
        *(PublishedValue("flat", str(x), 10.0 + 0.1 * x, "", "a paper") for x in (0, 1, 2, 3)),
        *(
            PublishedValue("names", name, value, "", "a paper")
            for name, value in (("a", 1.0), ("b", 5.0), ("c", 5.5))
        ),
        PublishedValue("single", "", 20.0, "", "a paper"),
        PublishedValue("ideal", "", 20.0, "", "all alike", kind="ideal"),
        PublishedValue("set", "", 20.0, "", "the experiment", kind="setting"),
        PublishedValue("emulated", "0", 10.0, "", "a paper"),
        PublishedValue("emulated", "1", 13.2, "", "a paper"),
        PublishedValue("error of others", "", 1.9, "%", "a paper"),
    )
)


def over(values: dict[Any, float | None], **more: Any) -> list[ResponseRow]:
    return [row(x, value, point=number, **more) for number, (x, value) in enumerate(values.items(), 1)]


def judge(
    rows: list[ResponseRow], repeats: int = 1, axes: tuple[str, ...] = ("x",), **line: Any
) -> AgreementJudgement:
    wanted = Agreement(**{"of": "y over x", "published": "line", **line})
    return judge_agreement(wanted, AgreementInput(rows, TABLE, {"y": Count}, axes, repeats))


LINE: dict[Any, float | None] = {0: 10, 1: 12.1, 2: 13.9, 3: 16}


def test_a_slope_within_the_tolerance_agrees_and_one_beyond_it_differs() -> None:
    assert judge(over(LINE), what="slope", within=["20 %"]).outcome == "agrees"
    steep = judge(over({0: 0, 1: 10.1, 2: 19.9, 3: 30}), what="slope", within=["20 %"])
    assert (steep.outcome, steep.published_value) == ("differs", pytest.approx(2.0))
    assert steep.reason == "+399.0 % beside the published value"


def test_a_slope_that_scatters_too_much_for_its_tolerance_is_unknown() -> None:
    scattered = judge(over({0: 10, 1: 13, 2: 12, 3: 16.4}), what="slope", within=["5 %"])
    assert (scattered.outcome, scattered.reason) == ("unknown", "the bounds of our value leave it open")


def test_without_a_tolerance_both_values_are_shown_and_nothing_is_claimed() -> None:
    shown = judge(over(LINE), what="slope")
    assert (shown.outcome, shown.published) == ("shown", "2")


@pytest.mark.parametrize("what", ["slope", "r2", "spread", "intercept", "mean error", "worst error"])
@pytest.mark.parametrize("state", ["wide", "unknown", "failed"])
def test_no_quantity_agrees_where_a_point_is_missing_or_wide(what: str, state: str) -> None:
    rows = over(LINE)
    assert judge(rows, what=what, within=["90 %"]).outcome == "agrees"
    doubtful = [*rows[:2], row(2, 13.9, point=3, state=state), rows[3]]
    judged = judge(doubtful, what=what, within=["90 %"])
    assert judged.outcome == "unknown"
    assert "1 of 4 points" in judged.reason


@pytest.mark.parametrize("state", ["wide", "unknown", "failed"])
def test_a_rise_rests_on_its_ends_alone(state: str) -> None:
    rows = over(LINE)
    rise: dict[str, Any] = {"what": "rise", "within": ["90 %"]}
    between = [*rows[:2], row(2, 13.9, point=3, state=state), rows[3]]
    assert judge(between, **rise).outcome == "agrees"
    for doubtful in (
        [row(0, 10.0, point=1, state=state), *rows[1:]],
        [*rows[:3], row(3, 16.0, point=4, state=state)],
    ):
        assert judge(doubtful, **rise).outcome == "unknown"


def test_wide_values_are_ranked_by_their_bounds_and_missing_ones_not_at_all() -> None:
    ranked: dict[str, Any] = {"what": "order", "published": "names", "within": ["20 %"]}
    others = [row("b", 9.0, point=2), row("c", 8.0, point=3)]
    assert judge([row("a", 2.0, 1, 5, point=1, state="wide"), *others], **ranked).outcome == "agrees"
    assert judge([row("a", 2.0, 1, 8.5, point=1, state="wide"), *others], **ranked).outcome == "unknown"
    assert judge([row("a", 20.0, 15, 25, point=1, state="wide"), *others], **ranked).outcome == "differs"
    assert judge([row("a", None, point=1, state="unknown"), *others], **ranked).outcome == "unknown"


def test_a_shape_that_holds_within_wide_bounds_agrees_and_a_line_is_not_fitted_to_them() -> None:
    rows = over(LINE)
    wide = [*rows[:2], row(2, 13.9, 12.5, 15.5, point=3, state="wide"), rows[3]]
    assert judge(wide, what="shape", shape="increasing").outcome == "agrees"
    wider = [*rows[:2], row(2, 13.9, 11.0, 15.5, point=3, state="wide"), rows[3]]
    assert judge(wider, what="shape", shape="increasing").outcome == "unknown"
    assert judge(wide, what="shape", shape="linear").outcome == "unknown"


def test_a_run_that_did_not_take_place_is_a_missing_point() -> None:
    planned = [(number, 1, {"x": number - 1}) for number in range(1, 5)]
    rows = add_missing_runs(over({0: 10, 1: 12, 2: 14}), planned)
    judged = judge(rows, what="slope", within=["90 %"])
    assert (judged.outcome, judged.reason) == ("unknown", "1 of 4 points have no usable value")


def test_one_repeat_of_several_is_too_few() -> None:
    rows = over(LINE)
    judged = judge(rows, 3, what="slope", within=["90 %"])
    assert (judged.outcome, judged.reason) == ("unknown", "4 of 4 points have too few usable values")
    twice = [*rows, *over(LINE, repeat=2)]
    assert judge(twice, 3, what="slope", within=["90 %"]).outcome == "agrees"


def test_a_line_needs_three_points() -> None:
    judged = judge(over({0: 10, 1: 12}), what="slope", within=["90 %"])
    assert (judged.outcome, judged.reason) == ("unknown", "it rests on 2 points; 3 are needed")


def test_the_value_of_one_point_is_compared_with_its_bounds() -> None:
    fixed: dict[str, Any] = {"of": "y where x=1", "what": "value", "published": "single"}
    assert judge(over({0: 1, 1: 20.5}), within=["5 %"], **fixed).outcome == "agrees"
    assert judge(over({0: 1, 1: 20.5}), within=["0.4"], **fixed).outcome == "differs"
    wide = [row(1, 20.0, 19.0, 40.0, state="wide")]
    assert judge(wide, within=["5 %"], **fixed).outcome == "unknown"
    several = judge(over({0: 1, 1: 20.5}), within=["5 %"], what="value", of="y", published="single")
    assert (several.outcome, several.reason) == ("unknown", "2 values fit, not one; 'where' selects")
    absent = judge(over({0: 1}), within=["5 %"], **fixed)
    assert (absent.outcome, absent.reason) == ("unknown", "no point of this pass has these values")


def test_our_value_may_stand_alone_where_nothing_was_published() -> None:
    alone = judge(over({1: 20.5}), of="y where x=1", what="value", published="")
    assert (alone.outcome, alone.ours, alone.published) == ("shown", "20.5", "–")
    missing = judge(over({0: 10, 1: None, 2: 14, 3: 16}), what="slope", published="")
    assert (missing.outcome, missing.published) == ("unknown", "–")


def test_a_rise_over_values_that_are_no_numbers_follows_the_order_of_the_points() -> None:
    risen = judge(over({"kafka": 6.0, "round-robin": 1.5}), what="rise", published="")
    assert (risen.outcome, risen.value) == ("shown", pytest.approx(0.25))
    assert judge(over({"kafka": 6.0, "round-robin": 1.5}), what="slope", published="").outcome == "unknown"


def test_values_of_another_axis_that_nobody_published_are_left_out_of_the_order() -> None:
    steep = {"line": 4, "flat": 0.1, "ours only": 9}
    rows = [
        row(x, 1 + slope * x + 0.01 * (x == 1), point=10 * number + x, axes={"x": x, "link": link})
        for number, (link, slope) in enumerate(steep.items())
        for x in (0, 1, 2)
    ]
    judged = judge(rows, axes=("x", "link"), what="slope order", of="y over x by link", published="{link}",
                   within=["10 %"])  # fmt: skip
    assert (judged.outcome, judged.ours) == ("agrees", "flat < line")


def test_one_of_two_tolerances_suffices() -> None:
    fixed: dict[str, Any] = {"of": "y where x=1", "what": "value", "published": "single"}
    assert judge(over({1: 20.5}), within=["1 %", "0.6"], **fixed).outcome == "agrees"
    assert judge(over({1: 20.5}), within=["1 %", "0.4"], **fixed).outcome == "differs"


def test_orders_agree_in_the_pairs_that_differ_by_more_than_the_tolerance() -> None:
    ranked: dict[str, Any] = {"what": "order", "published": "names", "within": ["20 %"]}
    judged = judge(over({"a": 2, "b": 9, "c": 8}), **ranked)
    assert (judged.outcome, judged.ours, judged.published) == ("agrees", "a < c < b", "a < b ≈ c")
    assert judge(over({"a": 9, "b": 2, "c": 10}), **ranked).outcome == "differs"
    wide = [row("a", 2.0, 1, 9, point=1), *over({"b": 8})[:0], row("b", 8.0, point=2), row("c", 8.5, point=3)]
    assert judge(wide, **ranked).outcome == "unknown"


def test_slopes_are_ranked_by_another_axis() -> None:
    rows = [
        row(x, value, point=number, axes={"x": x, "link": link})
        for number, (link, x, value) in enumerate(
            [
                ("line", 0, 1.0),
                ("line", 1, 5.1),
                ("line", 2, 8.9),
                ("flat", 0, 1.0),
                ("flat", 1, 1.1),
                ("flat", 2, 1.2),
            ]
        )
    ]
    line: dict[str, Any] = {
        "what": "slope order",
        "of": "y over x by link",
        "published": "{link}",
        "within": ["10 %"],
    }
    judged = judge(rows, axes=("x", "link"), **line)
    assert (judged.outcome, judged.ours) == ("agrees", "flat < line")
    swapped = [row(one.axes["x"], one.value, point=one.point, axes={"x": one.axes["x"], "link": {"line": "flat",
               "flat": "line"}[one.axes["link"]]}) for one in rows]  # fmt: skip
    assert judge(swapped, axes=("x", "link"), **line).outcome == "differs"


def test_a_shape_is_judged_on_both_sides() -> None:
    shape: dict[str, Any] = {"what": "shape", "shape": "increasing"}
    assert judge(over(LINE), **shape).outcome == "agrees"
    assert judge(over({0: 4, 1: 3, 2: 2}), **shape).outcome == "differs"
    assert judge(over({0: 4, 1: None, 2: 8}), **shape).outcome == "unknown"
    both_flat = judge(over({0: 4, 1: 4, 2: 4}), what="shape", shape="constant(within 5 %)", published="flat")
    assert (both_flat.outcome, both_flat.ours, both_flat.published) == ("agrees", "yes", "yes")


def test_a_shape_that_neither_side_has_is_no_agreement() -> None:
    neither = judge(over({0: 4, 1: 3, 2: 2}), what="shape", shape="constant(within 1 %)")
    assert (neither.outcome, neither.ours, neither.published) == ("unknown", "no", "no")
    assert "neither has this shape" in neither.reason
    only_ours = judge(over({0: 4, 1: 4, 2: 4}), what="shape", shape="constant(within 1 %)")
    assert only_ours.outcome == "differs"


def test_errors_are_relative_to_the_published_values_at_common_points() -> None:
    rows = over({-1: 9, 0: 11, 1: 12})
    judged = judge(rows, what="worst error", within=["10 %"], original="error of others")
    assert (judged.outcome, judged.published) == ("agrees", "1.9 %")
    assert judged.reason == "at 2 of 4 published points"
    assert judge(rows, what="mean error", within=["5 %"]).value == pytest.approx(0.05)
    assert judge(rows, what="worst error", within=["9 %"]).outcome == "differs"
    assert judge(rows, what="worst error", within=["9 %", "1"]).outcome == "agrees"


def test_errors_are_shown_as_quantities_and_in_per_cent() -> None:
    """The largest of each may be those of two points."""
    judged = judge(over({0: 10.5, 1: 12, 2: 14, 3: 16.6}), what="worst error", within=["1 %", "0.7"])
    assert (judged.outcome, judged.ours) == ("agrees", "0.6, 5 %")
    assert judge(over({0: 10.5, 1: 12, 2: 14, 3: 16.6}), what="mean error").ours == "0.275, 2.2 %"


def test_errors_that_pass_over_published_points_are_unknown() -> None:
    judged = judge(over({0: 10, 1: 12, 3: 16}), what="worst error", within=["10 %"])
    assert (judged.outcome, judged.reason) == (
        "unknown",
        "1 of 4 published points lie between ours and were not measured",
    )


def test_an_error_may_be_that_of_one_point_beside_the_error_of_others_there() -> None:
    """Others emulated 10 and 13.2 where the hardware had 10 and 12."""
    line: dict[str, Any] = {"what": "worst error", "original": ["emulated", "line"]}
    assert judge(over(LINE), **line).published == "10 %"
    assert judge(over(LINE), **{**line, "what": "mean error"}).published == "5 %"
    there = judge(over(LINE), at="0", **line)
    assert (there.outcome, there.ours, there.published, there.reason) == ("shown", "0, 0 %", "0 %", "")
    assert judge(over({2: 14, 3: 16}), at="0", **line).outcome == "unknown"


# ---- values that nobody published


def test_comparisons_with_what_nobody_published_are_counted_apart_and_marked() -> None:
    lines = [
        judge(over(LINE), what="slope", within=["20 %"]),
        judge(over({1: 20.5}), of="y where x=1", what="value", published="ideal", within=["5 %"]),
        judge(over({1: 20.5}), of="y where x=1", what="value", published="set", within=["5 %"]),
        judge(over({1: 20.5}), of="y where x=1", what="value", published=""),
    ]
    assert count_agreement(lines) == (
        "of 1 comparison with published values 1 agree; of 1 comparison with what the experiment sets 1 agree; "
        "of 1 comparison with an ideal 1 agree; of 1 number of ours alone 1 only shown"
    )
    assert [line.reference for line in lines] == ["published", "ideal", "setting", ""]
    assert "| 20 (ideal) |" in write_agreement(lines)[3]
    assert lines[1].reason == "+2.5 % beside the ideal"


def test_a_quantity_may_be_held_against_another_response_of_the_sweep() -> None:
    counted = [row(x, 1.05, 1.0, 1.1, point=x + 1, response="count") for x in (0, 1, 2, 3)]

    def compare(**line: Any) -> AgreementJudgement:
        wanted = Agreement(what="slope", of="y over x", against="count where x=1", times=2, **line)
        given = AgreementInput([*over(LINE), *counted], TABLE, {"y": Count, "count": Count}, ("x",))
        return judge_agreement(wanted, given)

    shown = compare()
    assert (shown.outcome, shown.reference, shown.published) == ("shown", "ours", "2.1 [2 to 2.2]")
    assert shown.reason == "-5.7 % beside the other number"
    assert compare(within=["25 %"]).outcome == "agrees"
    assert compare(within=["10 %"]).outcome == "unknown"
    missing = judge_agreement(
        Agreement(what="slope", of="y over x", against="count where x=1"),
        AgreementInput([*over(LINE), row(1, None, point=2, response="count")], TABLE, {"y": Count, "count": Count},
                       ("x",)),
    )  # fmt: skip
    assert missing.outcome == "unknown"


def test_a_check_that_fails_is_no_agreement() -> None:
    broken = judge(over(LINE), what="slope", published="nothing of this name", within=["90 %"])
    assert broken.outcome == "unknown"


def test_items_are_selected_by_where() -> None:
    rows = [row(x, x + 1.0, point=x + 1, item=item) for x in (0, 1, 2) for item in ("left", "right")]
    several = judge(rows, what="slope")
    assert several.outcome == "unknown"
    assert "2 series fit" in several.reason
    assert judge(rows, what="slope", of="y over x where item=left").value == pytest.approx(1.0)


def test_the_table_has_both_values_and_says_why_a_line_is_unknown() -> None:
    lines = [judge(over(LINE), what="slope", name="how steep"), judge(over({0: 10, 1: 12}), what="r2", note="a note")]
    text = "\n".join(show_agreement(lines))
    assert "how steep" in text
    assert "none claimed" in text
    assert "2 are needed" not in text
    assert "3 are needed" in text or "it cannot be computed" in text
    assert write_agreement(lines)[2].startswith("| how steep | ")
    assert "a note" in write_agreement(lines)[3]
    assert show_agreement([]) == []
    assert count_agreement(lines) == "of 2 comparisons with published values 1 are unknown, 1 only shown"
    assert lines[0].reason == "-1.0 % beside the published value"


# ---- units of published values


def test_a_share_of_a_quantity_is_a_unit() -> None:
    value = PublishedValue("memory", "2", 50.0, "% of 1000 MiB", "a paper")
    assert value.read_as(Size) == 500 * 1024**2
    assert not value.has_unit(Duration)


# ---- the grammar


def test_the_parts_of_a_comparison_are_read() -> None:
    found = parse_compared("latency.p99(topic=in) over delay by link where acks=all", ["latency.p99(topic=in)"],
                           ["delay", "link", "acks"])  # fmt: skip
    assert (found.response, found.axis, found.by, found.where) == (
        "latency.p99(topic=in)", "delay", "link", {"acks": "all"},
    )  # fmt: skip


FILE = """
    sweep: 1
    name: delays
    experiment: hello
    axes:
      delay: {{set: "topology.links.h2 -- s1.latency", values: [10 ms, 20 ms, 30 ms]}}
    responses: [latency.mean]
    published: values.csv
    agreement:
      - {line}
"""
HEAD = "series,x,value,unit,source\n"
VALUES = f"{HEAD}line,10 ms,20,ms,paper\nline,20 ms,40,ms,paper\nsingle,,5,ms,paper\ncount,,5,,paper\n"


def complaints(folder: Path, line: str, values: str = VALUES) -> list[str]:
    (folder / "values.csv").write_text(values, "utf-8")
    return mistakes(folder, FILE.format(line=line))


def test_a_sound_line_has_no_mistakes(tmp_path: Path) -> None:
    assert complaints(tmp_path, "{what: slope, of: latency.mean over delay, published: line, within: 20 %}") == []
    assert complaints(tmp_path, "{what: value, of: latency.mean where delay=10 ms, published: single}") == []


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("{what: slop, of: latency.mean over delay, published: line}", "slop"),
        ("{what: slope, of: latency.men over delay, published: line}", "there is no response 'latency.men'"),
        ("{what: slope, of: latency.mean over dely, published: line}", "there is no axis 'dely'"),
        ("{what: slope, of: latency.mean, published: line}", "slope is computed over an axis"),
        ("{what: value, of: latency.mean over delay, published: single}", "value is not computed over an axis"),
        ("{what: slope, of: latency.mean over delay, published: lin}", "there is no published series 'lin'"),
        ("{what: slope, of: latency.mean over delay, published: single}", "'single' is a single value"),
        ("{what: value, of: latency.mean where delay=9 ms, published: single}", "delay never is '9 ms'"),
        ("{what: value, of: latency.mean, published: line}", "'line' has an x for each value"),
        ("{what: value, of: latency.mean, published: line, at: 7 ms}", "'line' has no value at '7 ms'"),
        ("{what: value, of: latency.mean, published: count}", "line 5 of the published values has the unit ''"),
        ("{what: slope, of: latency.mean over delay, published: line, within: 3 ms}", "'3 ms' is no tolerance"),
        ("{what: value, of: latency.mean, published: single, within: 3 MB}", "'3 MB' is no tolerance"),
        ("{what: shape, of: latency.mean over delay, published: line}", "'shape' belong together"),
        ("{what: shape, of: latency.mean over delay, published: line, shape: bent}", "unknown shape 'bent'"),
        ("{what: slope order, of: latency.mean over delay, published: line}", "'slope order' needs a 'by' axis"),
        ("{what: slope, of: latency.mean over delay, published: line, original: single}", "'slope' is no error"),
        ("{what: slope, of: latency.mean over delay, within: 5 %}", "it names no published series"),
        ("{what: shape, of: latency.mean over delay, shape: linear}", "it names no published series"),
        ("{what: slope, of: latency.mean over delay, published: line, at: 10 ms}", "'slope' is not taken at one x"),
        ("{what: mean error, of: latency.mean over delay, published: line, at: 9 ms}", "delay never is '9 ms'"),
        (
            "{what: mean error, of: latency.mean over delay, published: line, original: [line, lne]}",
            "there is no published series 'lne' of a duration",
        ),
        ("{what: slope, of: latency.mean over delay, against: latency.p9}", "there is no response 'latency.p9'"),
        ("{what: slope, of: latency.mean over delay, against: latency.mean over delay}", "the value of one point"),
        ("{what: slope, of: latency.mean over delay, against: latency.mean where delay=9 ms}", "never is '9 ms'"),
        (
            "{what: slope, of: latency.mean over delay, published: line, against: latency.mean where delay=10 ms}",
            "it stands instead of a published value",
        ),
        (
            "{what: mean error, of: latency.mean over delay, against: latency.mean where delay=10 ms}",
            "'mean error' takes no such value",
        ),
    ],
)
def test_mistakes_name_their_line_and_what_would_be_valid(tmp_path: Path, line: str, told: str) -> None:
    found = complaints(tmp_path, line)
    assert any(told in one for one in found), found
    assert all(one.startswith(":10") for one in found), found


def test_a_shape_that_the_published_values_do_not_have_is_refused(tmp_path: Path) -> None:
    values = f"{VALUES}line,30 ms,30,ms,paper\n"
    line = "{{what: shape, of: latency.mean over delay, published: line, shape: {}}}"
    assert complaints(tmp_path, line.format("constant(within 50 %)"), values) == []
    (found,) = complaints(tmp_path, line.format("increasing"), values)
    assert "the published values do not have this shape: it does not rise from 20 ms to 30 ms" in found


def test_values_that_nobody_published_say_so_in_a_column(tmp_path: Path) -> None:
    head = HEAD.replace("source", "source,kind")
    line = "{what: value, of: latency.mean where delay=10 ms, published: single}"
    assert complaints(tmp_path, line, f"{head}single,,5,ms,all alike,ideal\n") == []
    assert any(
        "values.csv:2: there is no kind 'wish'; published, setting, ideal" in one.replace(" (", "; ")
        for one in complaints(tmp_path, line, f"{head}single,,5,ms,all alike,wish\n")
    )
    two = f"{head}single,1,5,ms,a paper,published\nsingle,2,5,ms,all alike,ideal\n"
    assert any("'single' has values of another kind" in one for one in complaints(tmp_path, line, two))


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ("a,b\n", "values.csv:1: its columns are a, b"),
        ("series,x,value,unit,source\n", "it has no values"),
        ("series,x,value,unit,source\nline,1,many,,p\n", "values.csv:2: 'many' is not a number"),
        ("series,x,value,unit,source\nline,1,1,,\n", "values.csv:2: it has no source"),
        ("series,x,value,unit,source\nline,1,1,,p\nline,1,2,,p\n", "values.csv:3: 'line' has a value at 1 already"),
        ("series,x,value,unit,source\nline,1,1\n", "values.csv:2: has 3 columns"),
        ("series,x,value,unit,source\nline,far,1,ms,p\n", "'far' of 'line' has no place on the axis delay"),
    ],
)
def test_mistakes_in_published_values_are_named(tmp_path: Path, values: str, told: str) -> None:
    found = complaints(tmp_path, "{what: slope, of: latency.mean over delay, published: line}", values)
    assert any(told in one for one in found), found


def test_a_missing_file_and_missing_values_are_mistakes(tmp_path: Path) -> None:
    text = FILE.format(line="{what: slope, of: latency.mean over delay, published: line}")
    assert any("values.csv: no such file" in one for one in mistakes(tmp_path, text))
    without = text.replace("    published: values.csv\n", "")
    assert any("there are no published values" in one for one in mistakes(tmp_path, without))
