"""A figure with bounds: every value must satisfy an expectation, or none, else it is unknown."""

from __future__ import annotations

from math import inf, nan

import pytest

from stream2gym.judge.estimate import Estimate, decide
from stream2gym.judge.measurement import Measurement
from stream2gym.judge.verdict import Judgement
from stream2gym.kinds.expectation_grammar import OPERATORS
from stream2gym.kinds.metrics import Count
from stream2gym.units import Duration


@pytest.mark.parametrize("op", OPERATORS)
@pytest.mark.parametrize("low", range(5))
@pytest.mark.parametrize("width", range(4))
def test_bounds_decide_as_every_whole_number_between_them_would(op: str, low: int, width: int) -> None:
    answers = {OPERATORS[op](value, 3) for value in range(low, low + width + 1)}
    expected = {frozenset({True}): "pass", frozenset({False}): "fail"}.get(frozenset(answers), "unknown")
    assert decide(op, 3, Estimate(low, low, low + width)) == expected


@pytest.mark.parametrize(
    ("op", "bound", "outcome"),
    [("<", 5.0, "unknown"), ("<", 2.0, "fail"), (">", 2.0, "pass"), (">=", 3.0, "pass"), ("==", 2.0, "fail"),
     ("==", 4.0, "unknown"), ("!=", 2.0, "pass"), (">", 9.0, "unknown")],
)  # fmt: skip
def test_a_figure_without_an_upper_bound_can_fail_but_not_pass_an_upper_limit(
    op: str, bound: float, outcome: str
) -> None:
    assert decide(op, bound, Estimate(3.0, 3.0, inf)) == outcome


def test_doubt_lies_above_the_value_and_bounds_may_lie_anywhere() -> None:
    measured = Measurement({"a": 1.0, "b": 2.0}, 3.0, bounds={"b": (0.0, inf)})
    assert measured.estimates() == {"a": Estimate(1.0, 1.0, 4.0), "b": Estimate(2.0, 0.0, inf)}


@pytest.mark.parametrize(
    ("estimate", "shown"),
    [
        (Estimate(2.0, 2.0, 2.0), "2 s"),
        (Estimate(2.0, 0.5, 2.0), "2 s (500 ms to 2 s)"),
        (Estimate(2.0, 2.0, inf), "at least 2 s"),
        (Estimate(2.0, 0.0, 2.0), "2 s (at most 2 s)"),
        (Estimate(2.0, 0.0, inf), "2 s (unbounded)"),
        (Estimate(inf, 3.0, inf), "infinite (at least 3 s)"),
    ],
)
def test_people_see_the_figure_and_its_bounds(estimate: Estimate, shown: str) -> None:
    assert estimate.show(Duration) == shown


def test_an_exact_count_has_no_bounds_to_show() -> None:
    assert Estimate(1234.0, 1234.0, 1234.0).show(Count) == "1234"


def test_infinite_bounds_walk_into_json_and_back() -> None:
    judgement = Judgement("recovery < 5 s", "unknown", inf, low=3.0, high=inf)
    assert judgement.to_json()["high"] == "inf"
    assert Judgement.from_json(judgement.to_json()) == judgement


@pytest.mark.parametrize("numbers", [(nan, 0.0, 1.0), (1.0, nan, 2.0), (1.0, 0.0, nan), (1.0, 2.0, 0.0)])
def test_what_no_number_can_be_is_no_figure(numbers: tuple[float, float, float]) -> None:
    with pytest.raises(ValueError, match="is no figure"):
        Estimate(*numbers)
