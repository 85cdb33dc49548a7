"""The plan of a sweep: which points, in which order, with which seeds. The same file gives the same plan."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream2gym.sweeps.sweep_file import SweepFile
from stream2gym.sweeps.sweep_plan import SweepPlan, count_points, make_sweep_plan
from tests.unit.sweeps.sweeps_support import load


def plan_of(axes: dict[str, object], *, quick: bool = False, **more: object) -> SweepPlan:
    file = SweepFile.model_validate({"experiment": "hello", "axes": axes, "responses": ["lost"], **more})
    plan = make_sweep_plan(file, is_quick=quick)
    if not quick:
        assert len(plan.points()) == count_points(file)
    return plan


def test_a_grid_has_every_combination_once() -> None:
    plan = plan_of({"a": [1, 2, 3], "b": ["x", "y"]})
    assert [run.values for run in plan.points()] == [
        {"a": a, "b": b} for a in (1, 2, 3) for b in ("x", "y")
    ]  # fmt: skip


def test_zipped_axes_go_together_and_the_others_form_a_grid_with_them() -> None:
    plan = plan_of({"a": [1, 2], "c": ["x", "y"], "b": [10, 20]}, zip=["a", "b"])
    found = [tuple(run.values.values()) for run in plan.points()]
    assert found == [(1, "x", 10), (1, "y", 10), (2, "x", 20), (2, "y", 20)]


def test_combinations_that_are_left_out_are_no_points() -> None:
    file = SweepFile.model_validate(
        {"experiment": "hello", "axes": {"a": [1, 2], "b": ["x", "y"]}, "without": [{"a": 2, "b": "x"}]}
    )
    points = make_sweep_plan(file).points()
    assert [tuple(run.values.values()) for run in points] == [(1, "x"), (1, "y"), (2, "y")]
    assert [run.point for run in points] == [1, 2, 3]
    assert file.is_left_out({"a": 2, "b": "x", "c": 3})
    assert not file.is_left_out({"a": 2})


def test_a_coarse_pass_may_take_all_values_of_an_axis() -> None:
    values = list(range(5))
    plan = plan_of({"a": {"values": values, "quick": "all"}, "b": values}, quick=True)
    assert {run.values["a"] for run in plan.runs} == set(values)
    assert {run.values["b"] for run in plan.runs} == {0, 2, 4}


def test_every_round_has_every_point_in_an_order_of_its_own() -> None:
    plan = plan_of({"a": list(range(20))}, repeats=3, seed=5)
    rounds = [[run.point for run in plan.runs[start : start + 20]] for start in (0, 20, 40)]
    assert all(sorted(one) == list(range(1, 21)) for one in rounds)
    assert len({tuple(one) for one in rounds}) == 3
    assert all(one != sorted(one) for one in rounds)


def test_the_seed_decides_order_and_samples_and_repeats_count_up_from_it() -> None:
    axes = {"a": {"from": 0.0, "to": 1.0}, "b": {"from": "1 ms", "to": "1 s", "scale": "log"}}
    sample = {"by": "random", "points": 30}
    one, same = (plan_of(axes, sample=sample, seed=7, repeats=2) for _ in range(2))
    other = plan_of(axes, sample=sample, seed=8, repeats=2)
    assert one == same
    assert {run.overrides["b"] for run in one.runs} != {run.overrides["b"] for run in other.runs}
    assert {run.seed for run in one.runs if run.repeat == 2} == {8}


@given(st.integers(1, 60), st.integers(0, 1000))
def test_a_latin_hypercube_hits_every_interval_of_every_axis_once(count: int, seed: int) -> None:
    plan = plan_of(
        {"a": {"from": 0.0, "to": 1.0}, "b": {"from": 0.0, "to": 1.0}},
        sample={"by": "latin", "points": count},
        seed=seed,
    )
    for axis in ("a", "b"):
        places = sorted(float(run.values[axis]) * count for run in plan.points())
        # Values are rounded to six digits.
        assert all(index - 0.01 <= place <= index + 1.01 for index, place in enumerate(places))


def test_samples_of_a_list_are_values_of_the_list() -> None:
    plan = plan_of({"a": ["x", "y", "z"]}, sample={"by": "latin", "points": 9})
    assert sorted(run.values["a"] for run in plan.points()) == ["x"] * 3 + ["y"] * 3 + ["z"] * 3


def test_a_huge_grid_is_counted_without_being_made() -> None:
    axes = {f"a{number}": list(range(1000)) for number in range(5)}
    file = SweepFile.model_validate({"experiment": "hello", "axes": axes, "responses": ["lost"]})
    assert count_points(file) == 10**15


def test_a_coarse_pass_keeps_the_ends_and_the_middle_and_one_repeat() -> None:
    plan = plan_of({"a": [1, 2, 3, 4, 5, 6, 7], "b": [1, 2]}, quick=True, repeats=5)
    assert sorted({run.values["a"] for run in plan.runs}) == [1, 4, 7]
    assert sorted({run.values["b"] for run in plan.runs}) == [1, 2]
    assert plan.repeats == 1
    assert plan.is_quick


def test_a_setting_may_name_the_value_of_another_axis(tmp_path: Path) -> None:
    text = """
        sweep: 1
        experiment: hello
        set: {time: 2 s}
        axes:
          link: {set: [], values: [h1, h2]}
          delay: {set: "topology.links.{link} -- s1.latency", values: [1 ms, 2 ms]}
        responses: [lost]
    """
    plan = make_sweep_plan(load(tmp_path, text).file)
    assert plan.points()[2].overrides == {"time": "2 s", "topology.links.h2 -- s1.latency": "1 ms"}


@pytest.mark.parametrize("field", ["runs", "axes"])
def test_a_plan_survives_json(field: str) -> None:
    plan = plan_of({"a": [1, 2], "b": ["x"]}, repeats=2)
    assert getattr(SweepPlan.from_json(plan.to_json()), field) == getattr(plan, field)
