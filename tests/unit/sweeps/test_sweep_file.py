"""The sweep file: what it may say, and every mistake at once with its place and what would be valid."""

from __future__ import annotations

from pathlib import Path

import pytest

from stream2gym.errors import BadInput
from stream2gym.sweeps.axis_values import ValueRange, read_number_line, spread_values
from stream2gym.sweeps.check_points import check_points, check_size
from stream2gym.sweeps.sweep_plan import make_sweep_plan
from tests.unit.sweeps.sweeps_support import FILE, load, mistakes


def check(folder: Path, text: str) -> list[str]:
    """The mistakes that show when the file is compared with its experiment."""
    loaded = load(folder, text)
    with pytest.raises(BadInput) as caught:
        check_points(loaded, make_sweep_plan(loaded.file))
    return [str(mistake) for mistake in caught.value.mistakes]


def test_a_sound_file_is_read_with_its_shape_as_one_text(tmp_path: Path) -> None:
    loaded = load(tmp_path)
    assert loaded.file.expect == ["latency.mean over delay: increasing"]
    assert loaded.file.axes["delay"].list_values() == ["10 ms", "20 ms", "30 ms"]
    check_points(loaded, make_sweep_plan(loaded.file))


def test_a_warm_up_at_the_top_holds_for_every_point(tmp_path: Path) -> None:
    loaded = load(tmp_path, FILE + "    warmup: 2 s\n")
    plan = make_sweep_plan(loaded.file)
    assert {run.overrides["warmup"] for run in plan.runs} == {"2 s"}
    check_points(loaded, plan)


def test_a_warm_up_that_the_experiment_refuses_is_told_at_its_key(tmp_path: Path) -> None:
    told = mistakes(tmp_path, FILE + "    warmup: soon\n")
    assert any("warmup" in one and "duration" in one for one in told)


def test_every_mistake_is_told_at_once_with_its_line(tmp_path: Path) -> None:
    text = FILE + "    repeats: 0\n    respnses: [x]\n"
    found = mistakes(tmp_path, text)
    assert any(one.startswith(":10: repeats") for one in found)
    assert any("unknown key 'respnses' (did you mean 'responses'?)" in one for one in found)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("axes: {}\nresponses: [lost]", "the grid is empty: nothing varies"),
        ("axes: {time: []}\nresponses: [lost]", "the grid is empty: it has no values"),
        ("axes: {time: {}}\nresponses: [lost]", "it has neither values nor a range"),
        ("axes: {time: [1 s, 2 s, 1 s]}\nresponses: [lost]", "1 s is given twice"),
        ("axes: {time: [1 s]}\nwithout: [{tme: 1 s}]\nresponses: [lost]", "there is no axis 'tme'"),
        ("axes: {time: [1 s]}\nwithout: [{time: 2 s}]\nresponses: [lost]", "time never is '2 s'"),
        ("axes: {time: [1 s]}\nwithout: [{}]\nresponses: [lost]", "names no value"),
        (
            "axes: {time: {from: 1 s, to: 5 s, steps: 3, quick: all}}\nresponses: [lost]",
            "only an axis with values has all of them",
        ),
        ("axes: {time: {from: 1 s, to: 5 s}}\nresponses: [lost]", "needs the number of its steps (steps: 5)"),
        ("axes: {time: {from: 5 s, to: 1 s, steps: 3}}\nresponses: [lost]", "'1 s' is not more than '5 s'"),
        ("axes: {time: {from: 5 s, to: 10 Mbps, steps: 3}}\nresponses: [lost]", "not two quantities of one kind"),
        ("axes: {time: {from: 0, to: 5, steps: 3, scale: log}}\nresponses: [lost]", "cannot begin at 0"),
        ("axes: {time: {values: [1 s], steps: 3}}\nresponses: [lost]", "has values and a range"),
        ("axes: {value: {set: time, values: [1 s, 2 s]}}\nresponses: [lost]", "is a column of the table"),
        ("axes: {a: {set: time, values: [1 s]}, time: [2 s]}\nresponses: [lost]", "time is also set by the axis a"),
        ("axes: {a: {set: 'x.{b}', values: [1]}}\nresponses: [lost]", "{b} names no other axis"),
        ("warmup: 1 s\nset: {warmup: 2 s}\naxes: {time: [1 s]}\nresponses: [lost]", "warmup is also set by set"),
        ("warmup: 1 s\naxes: {warmup: [1 s, 2 s]}\nresponses: [lost]", "warmup is also set by the key warmup"),
        ("axes: {time: [1 s, 2 s]}", "nothing is measured"),
        ("axes: {time: [1 s, 2 s]}\nresponses: [latncy.mean]", "did you mean 'latency'?"),
        ("axes: {time: [1 s, 2 s]}\nresponses: [lost, lost]", "lost is measured twice"),
        (
            "axes: {time: [1 s, 2 s]}\nresponses: [{metric: latency.mean, about: machine}]",
            "latency is not about the machine (only cpu, memory, startup",
        ),
        ("axes: {time: [1 s, 2 s]}\nzip: [time, drain]\nresponses: [lost]", "there is no axis 'drain'"),
        (
            "axes: {time: [1 s, 2 s], drain: [1 s]}\nzip: [time, drain]\nresponses: [lost]",
            "as many values each: time has 2, drain has 1",
        ),
        ("axes: {time: [1 s]}\nresponses: [lost]\nsample: {by: dice, points: 3}", "not one of random, latin"),
    ],
)
def test_a_mistake_is_told_with_what_would_be_valid(tmp_path: Path, text: str, told: str) -> None:
    found = mistakes(tmp_path, f"sweep: 1\nexperiment: hello\n{text}\n")
    assert any(told in one for one in found), found


@pytest.mark.parametrize(
    ("shape", "told"),
    [
        ("lost over tim: increasing", "did you mean 'time'?"),
        ("los over time: increasing", "did you mean 'lost'?"),
        ("lost over time: wavy", "unknown shape 'wavy'"),
        ("lost over time: plateau", "plateau after VALUE"),
        ("lost over time: plateau after 8", "'8' is no value"),
        ("lost over time: linear(r3 > 1)", "is no bound of a fit"),
        ("lost over time: increasing(within 5 apples)", "is no tolerance"),
        ("lost over time", "says no shape"),
        ("lost", "is no expectation on a shape"),
        ("lost over acks: linear", "(1, all) are no numbers"),
        ("lost over time where acks=0: linear", "acks never is '0'"),
        ("lost over time where acks: linear", "is no condition"),
    ],
)
def test_a_mistake_in_a_shape_is_told_before_anything_runs(tmp_path: Path, shape: str, told: str) -> None:
    axes = "{time: [1 s, 2 s], acks: {set: producers.speaker.acks, values: [1, all]}}"
    text = f"sweep: 1\nexperiment: hello\naxes: {axes}\nresponses: [lost]\nexpect: ['{shape}']\n"
    found = mistakes(tmp_path, text)
    assert any(told in one for one in found), found


def test_an_experiment_given_as_a_sweep_is_recognised(tmp_path: Path) -> None:
    found = mistakes(tmp_path, "s2g: 1\nexperiment: hello\naxes: {time: [1 s]}\nresponses: [lost]\n")
    assert any("this is an experiment: s2g run FILE" in one for one in found)


def test_an_axis_that_names_nothing_suggests_the_near_ones(tmp_path: Path) -> None:
    text = """
        sweep: 1
        experiment: hello
        axes:
          producers.speakr.rate: [10/s, 20/s]
          link.latency: [1 ms, 2 ms]
        responses: [latency.mean]
    """
    first, second = check(tmp_path, text)
    assert "delays.yaml:5: axes.producers.speakr.rate: nothing in producers is called 'speakr'" in first
    assert "'producers.speaker.rate'" in first
    assert "'topology.links.h2 -- s1.latency'" in second


def test_values_of_the_wrong_kind_are_told_with_the_value_and_nothing_else(tmp_path: Path) -> None:
    text = FILE.replace("20 ms", "20 MB").partition("    expect")[0]
    (told,) = check(tmp_path, text)
    assert "axes.delay" in told
    assert "20 MB" in told
    assert "duration" in told


def test_a_response_that_names_no_topic_of_the_experiment_is_a_mistake(tmp_path: Path) -> None:
    (told,) = check(tmp_path, FILE.replace("latency.mean]", "latency.mean, lost(topic=greeting)]"))
    assert "responses" in told
    assert "greetings" in told


def test_a_mistake_that_only_one_combination_makes_names_the_combination(tmp_path: Path) -> None:
    text = """
        sweep: 1
        experiment: hello
        axes: {topics.greetings.replicas: [1, 2]}
        responses: [lost]
    """
    found = check(tmp_path, text)
    assert found
    assert any("topics.greetings.replicas" in one for one in found)


def test_a_sweep_that_leaves_out_every_point_is_a_mistake(tmp_path: Path) -> None:
    told = check(tmp_path, FILE + "    without: [{delay: 10 ms}, {delay: 20 ms}, {delay: 30 ms}]\n")
    assert any("without" in one and "leaves no point to run" in one for one in told)


def test_a_shape_over_one_of_several_sampled_axes_is_refused(tmp_path: Path) -> None:
    text = """
        sweep: 1
        experiment: hello
        axes: {time: {from: 1 s, to: 5 s}, drain: {from: 1 s, to: 5 s}}
        sample: {by: latin, points: 5}
        responses: [lost]
        expect: ["lost over time: constant"]
    """
    assert "no two points differ in one axis alone" in mistakes(tmp_path, text)[0]


def test_an_experiment_without_components_measures_nothing(tmp_path: Path) -> None:
    text = """
        sweep: 1
        experiment: network
        axes: {time: [1 s, 2 s]}
        responses: [lateness.p99]
    """
    assert "has no components" in check(tmp_path, text)[0]


def test_ten_thousand_points_need_agreement_and_a_billion_are_refused() -> None:
    check_size(10, 3, is_agreed=False)
    with pytest.raises(BadInput, match="--yes"):
        check_size(10_000, 1, is_agreed=False)
    check_size(10_000, 1, is_agreed=True)
    with pytest.raises(BadInput, match="too many"):
        check_size(10**9, 1, is_agreed=True)


# ---- values


def test_ranges_are_spread_evenly_in_the_unit_that_they_are_written_in() -> None:
    assert spread_values(ValueRange("0 ms", "150 ms"), 4) == ["0 ms", "50 ms", "100 ms", "150 ms"]
    assert spread_values(ValueRange("10/s", "1000/s", "log"), 3) == ["10/s", "100/s", "1000/s"]
    assert spread_values(ValueRange("500 ms", "2 s"), 4) == ["500 ms", "1 s", "1.5 s", "2 s"]
    assert spread_values(ValueRange(0.0, 1.0), 3) == [0.0, 0.5, 1.0]


def test_whole_bounds_give_whole_numbers_without_repetition() -> None:
    assert spread_values(ValueRange(1, 4), 3) == [1, 2, 4]
    assert spread_values(ValueRange(1, 3), 9) == [1, 2, 3]


def test_values_are_numbers_only_if_all_are_of_one_kind() -> None:
    line = read_number_line([0, "5 ms", "1 s"])
    assert line is not None
    assert (line.numbers, line.unit) == ((0.0, 0.005, 1.0), "s")
    assert read_number_line(["5 ms", "5 Mbps"]) is None
    assert read_number_line([1, "all"]) is None
    assert read_number_line([True, False]) is None
    assert read_number_line([1.0, float("nan")]) is None
    assert read_number_line(["unlimited", "5 Mbps"]) is None
