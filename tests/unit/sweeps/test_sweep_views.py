"""What people see of a sweep: figures, the report, PDF for papers, the comparison of two sweeps, the command."""

from __future__ import annotations

import json
import re
import zlib
from pathlib import Path
from typing import Any

import pytest

from stream2gym.cli.main import main
from stream2gym.cli.sweep import describe_response, describe_responses
from stream2gym.figures.figure import Axis, Chart, Series
from stream2gym.figures.figure_csv import write_csv
from stream2gym.figures.pdf import render_pdf
from stream2gym.figures.svg import render_file
from stream2gym.judge.estimate import Estimate
from stream2gym.sweep_api import sweep
from stream2gym.sweeps.compare_sweeps import compare_sweeps
from stream2gym.sweeps.measure_responses import combine_estimates
from stream2gym.sweeps.point import MeasuredResponse, PointJob, PointResult
from stream2gym.sweeps.run_points import as_wanted
from stream2gym.sweeps.sweep_figures import make_charts
from stream2gym.sweeps.sweep_file import Response
from stream2gym.sweeps.sweep_results import SweepResult
from stream2gym.units import Duration
from tests.unit.sweeps.sweeps_support import DELAY, FILE, FormulaRunner, twice_the_delay, write


def delays(slow: float = 1.0, doubt: str = "", gone: str = "") -> Any:
    """A formula: twice the delay times ``slow``; at the delay ``doubt`` the bounds are wide, at ``gone`` nothing."""

    def formula(job: PointJob) -> PointResult:
        value = 2 * slow * float(Duration.parse(job.overrides[DELAY]))
        low = value / 10 if job.overrides[DELAY] == doubt else value
        if job.overrides[DELAY] == gone:
            return PointResult("failed", error="<b>no broker</b> came up")
        return PointResult("done", "pass", "pass: all", (MeasuredResponse("latency.mean", "", value, low, value),))

    return formula


def run(
    folder: Path, monkeypatch: pytest.MonkeyPatch, formula: Any = twice_the_delay, text: str = FILE, name: str = "out"
) -> SweepResult:
    monkeypatch.setattr("stream2gym.sweep_api.RunnerHere", FormulaRunner(formula))
    return sweep(write(folder, text), out=folder / name)


def test_values_in_doubt_are_hollow_and_missing_ones_are_marked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = FILE.replace("30 ms]", "30 ms, 40 ms]")
    result = run(tmp_path, monkeypatch, delays(doubt="20 ms", gone="30 ms"), text)
    (chart,) = make_charts(result.file, result.rows)
    means, doubtful = chart.series
    assert (means.shape, means.x) == ("marked", (0.01, 0.04))
    assert (doubtful.shape, doubtful.x, doubtful.low) == ("hollow", (0.02,), (0.004,))
    assert [(mark.at, mark.label) for mark in chart.marks] == [(0.03, "1 without a value")]


def test_a_value_in_doubt_has_the_colour_of_its_series(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"""
        sweep: 1
        experiment: hello
        axes: {{delay: {{set: "{DELAY}", values: [10 ms, 20 ms]}}, producers.speaker.acks: [1, all]}}
        responses: [latency.mean]
    """

    def formula(job: PointJob) -> PointResult:
        delay, acks = job.overrides[DELAY], job.overrides["producers.speaker.acks"]
        low = 0.001 if (delay, acks) == ("20 ms", "all") else 0.1
        return PointResult("done", "pass", "", (MeasuredResponse("latency.mean", "", 0.1, low, 0.1),))

    result = run(tmp_path, monkeypatch, formula, text)
    (chart,) = (one for one in make_charts(result.file, result.rows) if one.x.label == "delay")
    *lines, doubtful = chart.series
    assert [line.name for line in lines] == ["producers.speaker.acks=1", "producers.speaker.acks=all"]
    assert (doubtful.shape, doubtful.x, doubtful.beside) == ("hollow", (0.02,), "producers.speaker.acks=all")
    drawing = render_file(chart)
    (circle,) = re.findall(r'<circle[^>]*class="hollow (\w+)"', drawing)[:1]
    assert circle == "s2"
    assert drawing.count(">in doubt, part of no mean</text>") == 1
    assert "producers.speaker.acks=all, in doubt, part of no mean: 100 ms" in drawing


@pytest.mark.parametrize(
    ("expect", "scale"),
    [([], "log"), (["latency.mean over delay where producers.speaker.acks=1: linear(r2 > 0.9)"], "linear")],
)
def test_a_series_of_small_values_is_not_hidden_by_a_large_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expect: list[str], scale: str
) -> None:
    text = f"""
        sweep: 1
        experiment: hello
        axes: {{delay: {{set: "{DELAY}", values: [10 ms, 20 ms]}}, producers.speaker.acks: [1, all]}}
        responses: [latency.mean]
        expect: {json.dumps(expect)}
    """

    def formula(job: PointJob) -> PointResult:
        value = 0.1 if job.overrides["producers.speaker.acks"] == "all" else 0.002
        return PointResult("done", "pass", "", (MeasuredResponse("latency.mean", "", value, value, value),))

    result = run(tmp_path, monkeypatch, formula, text)
    (chart,) = (one for one in make_charts(result.file, result.rows) if one.x.label == "delay")
    assert chart.y.scale == scale


def test_series_without_any_sure_value_are_named_in_the_legend(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = f"""
        sweep: 1
        experiment: hello
        axes: {{delay: {{set: "{DELAY}", values: [10 ms, 20 ms]}}, producers.speaker.acks: [1, all]}}
        responses: [latency.mean]
    """

    def formula(job: PointJob) -> PointResult:
        return PointResult("done", "pass", "", (MeasuredResponse("latency.mean", "", 0.1, 0.001, 0.1),))

    result = run(tmp_path, monkeypatch, formula, text)
    (chart,) = (one for one in make_charts(result.file, result.rows) if one.x.label == "delay")
    assert [one.name for one in chart.series] == [
        "producers.speaker.acks=1, in doubt, part of no mean",
        "producers.speaker.acks=all, in doubt, part of no mean",
    ]
    assert {"hollow s1", "hollow s2"} <= set(re.findall(r'class="(hollow \w+)"', render_file(chart)))


def test_the_report_escapes_and_tells_what_was_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = run(tmp_path, monkeypatch, delays(doubt="20 ms", gone="30 ms"))
    page = result.report.read_text("utf-8")
    assert "Values whose bounds are too far apart: 1." in page
    assert "&lt;b&gt;no broker" in page
    assert "<b>no broker" not in page
    assert "did not go through" in page
    assert 'href="points/p0001-r1/report.html"' in page
    assert "<script" not in page


def test_repeats_are_drawn_as_a_mean_with_its_interval(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def scatter(job: PointJob) -> PointResult:
        value = 2 * float(Duration.parse(job.overrides[DELAY])) + job.seed * 0.001
        return PointResult("done", "pass", "", (MeasuredResponse("latency.mean", "", value, value, value),))

    result = run(tmp_path, monkeypatch, scatter, FILE + "    repeats: 3\n")
    (chart,) = make_charts(result.file, result.rows)
    (line,) = chart.series
    assert line.y[0] == pytest.approx(0.022)
    # Three values 1 ms apart: t(2) = 4.303 times 1 ms / sqrt(3) on either side.
    assert line.high[0] == pytest.approx(0.022 + 4.303e-3 / 3**0.5)
    assert "low,high" in write_csv(chart)


def test_categories_stand_side_by_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"""
        sweep: 1
        experiment: hello
        axes: {{producers.speaker.acks: [1, all], delay: {{set: "{DELAY}", values: [1 ms, 2 ms]}}}}
        responses: [latency.mean]
    """
    result = run(tmp_path, monkeypatch, text=text)
    charts = make_charts(result.file, result.rows)
    assert [chart.x.label for chart in charts] == ["producers.speaker.acks", "delay"]
    assert charts[0].x.names == ("1", "all")
    assert ">all</text>" in render_file(charts[0])


def test_a_pdf_is_one_page_of_vectors_with_its_text(tmp_path: Path) -> None:
    series = Series("µ and (x)", (1.0, 2.0), (1.0, 3.0), "marked", low=(0.5, 2.0), high=(1.5, 4.0))
    doubt = Series("in doubt", (1.5,), (2.0,), "hollow", "warn")
    chart = Chart("c", "Latency → delay", Axis("delay", "s"), Axis("latency", "s"), (series, doubt), note="a note")
    data = render_pdf(chart)
    assert data.startswith(b"%PDF-1.4")
    assert data.rstrip().endswith(b"%%EOF")
    assert data == render_pdf(chart)
    start = int(re.findall(rb"startxref\n(\d+)", data)[0])
    assert data[start:].startswith(b"xref\n0 7\n")
    for number, place in enumerate(re.findall(rb"(\d{10}) 00000 n", data), 1):
        assert data[int(place) :].startswith(b"%d 0 obj" % number)
    stream = re.search(rb"stream\n(.*)\nendstream", data, re.DOTALL)
    assert stream is not None
    drawn = zlib.decompress(stream[1]).decode("ascii")
    texts = [bytes.fromhex(found).decode("cp1252") for found in re.findall(r"<([0-9a-f]*)> Tj", drawn)]
    assert "Latency -> delay" in texts
    assert "µ and (x)" in texts
    assert "a note" in texts
    assert "None" not in drawn
    assert "nan" not in drawn


# ---- comparison


def test_a_sweep_that_is_slower_than_before_is_found_point_by_point(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run(tmp_path, monkeypatch, name="before")
    run(tmp_path, monkeypatch, delays(1.3), name="after")
    folders = [str(tmp_path / "before"), str(tmp_path / "after")]
    assert main(["compare", *folders, "--tolerance", "10%"]) == 1
    told = capsys.readouterr().out
    assert "latency.mean  delay=10 ms  20 ms" in told
    assert "26 ms (+30.0%)  worse" in told
    assert main(["compare", *reversed(folders), "--tolerance", "10%"]) == 0
    assert main(["compare", *folders]) == 0


def test_a_comparison_never_accuses_by_values_in_doubt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = run(tmp_path, monkeypatch, name="before")
    after = run(tmp_path, monkeypatch, delays(1.3, doubt="20 ms"), name="after")
    found = compare_sweeps(before, after, 0.1)
    assert [row.outcome for row in found.rows] == ["fail", "unknown", "fail"]
    lacking = run(tmp_path, monkeypatch, delays(gone="20 ms"), name="lacking")
    assert [row.outcome for row in compare_sweeps(before, lacking, 0.1).rows] == ["pass", "unknown", "pass"]


def test_a_response_whose_bounds_reach_beyond_the_tolerance_is_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As measured nothing has changed; in truth the values before may have been a tenth of those after."""
    before = run(tmp_path, monkeypatch, delays(doubt="20 ms"), name="before")
    after = run(tmp_path, monkeypatch, name="after")
    found = compare_sweeps(before, after, 0.1)
    assert [row.outcome for row in found.rows] == ["pass", "unknown", "pass"]
    assert main(["compare", str(before.path), str(after.path), "--tolerance", "10%"]) == 3
    assert compare_sweeps(before, after).outcome == "pass"


def test_a_response_that_the_second_sweep_does_not_measure_is_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    two = FILE.replace("[latency.mean]", "[latency.mean, latency.p99]")
    before = run(tmp_path, monkeypatch, text=two, name="before")
    after = run(tmp_path, monkeypatch, name="after")
    found = compare_sweeps(before, after, 0.1)
    assert {row.response: row.outcome for row in found.rows} == {"latency.mean": "pass", "latency.p99": "unknown"}
    assert found.outcome == "unknown"
    assert compare_sweeps(after, before, 0.1).outcome == "pass"


def test_an_item_that_the_second_sweep_lacks_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def links(*names: str) -> Any:
        measured = tuple(MeasuredResponse("link_bytes", name, 1.0, 1.0, 1.0) for name in names)
        return lambda job: PointResult("done", "pass", "pass: all", measured)

    text = FILE.replace("latency.mean", "link_bytes")
    before = run(tmp_path, monkeypatch, links("a", "b"), text=text, name="before")
    after = run(tmp_path, monkeypatch, links("a"), text=text, name="after")
    found = compare_sweeps(before, after, 0.1)
    assert {row.item: row.outcome for row in found.rows} == {"a": "pass", "b": "unknown"}


def test_sweeps_with_different_points_are_not_simply_equal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = run(tmp_path, monkeypatch, name="before")
    after = run(tmp_path, monkeypatch, text=FILE.replace("30 ms", "35 ms"), name="after")
    found = compare_sweeps(before, after, 0.1)
    assert (found.outcome, found.only_before, found.only_after) == ("unknown", 1, 1)


def test_a_run_and_a_sweep_are_not_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(tmp_path, monkeypatch)
    assert main(["compare", str(tmp_path / "out"), "nothing"]) == 2


# ---- responses of several things


@pytest.mark.parametrize(
    ("how", "expected"),
    [("sum", (6.0, 4.0, 8.0)), ("max", (4.0, 3.0, 5.0)), ("min", (2.0, 1.0, 3.0)), ("spread", (2.0, 1.0, 5.0))],
)
def test_values_are_combined_with_bounds_that_hold(how: str, expected: tuple[float, float, float]) -> None:
    found = combine_estimates(how, {"a": Estimate(2.0, 1.0, 3.0), "b": Estimate(4.0, 3.0, 5.0)})[""]
    assert (found.measured, found.low, found.high) == expected


# ---- the command


def test_the_plan_is_listed_in_its_order_without_running_anything(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sweep", str(write(tmp_path)), "--plan"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "3 points, 3 runs"
    assert sorted(lines[:3])[0].startswith("p0001-r1  seed 1  delay=10 ms")


@pytest.mark.parametrize(
    ("case", "told"),
    [
        ((FILE.replace("10 ms, 20 ms, 30 ms", ""), []), "the grid is empty"),
        ((FILE.replace("experiment: hello", "experiment: helo"), []), "there is no bundled example 'helo'"),
        ((FILE + "    repeats: 10000\n", []), "--yes"),
        ((FILE.replace("[10 ms, 20 ms, 30 ms]", f"[{', '.join(f'{n} ms' for n in range(10_000))}]"), []), "--yes"),
        ((FILE.replace("h2 -- s1.latency", "h2 -- s1.latncy"), []), "did you mean 'topology.links.h2 -- s1.latency'"),
        ((FILE.replace("20 ms", "many"), []), "many"),
        ((FILE, ["--jobs", "0"]), "0 is not a number of runs"),
        ((FILE, ["--master", "sprak://h:7077"]), "'sprak://h:7077' is no Spark master (spark://HOST:7077, yarn"),
        ((FILE, ["--master", "spark://127.0.0.1:1"]), "no Spark master answers at 127.0.0.1:1"),
        ((FILE, ["--resume"]), "no such sweep"),
    ],
)
def test_bad_input_is_told_and_nothing_starts(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    case: tuple[str, list[str]],
    told: str,
) -> None:
    text, options = case
    monkeypatch.chdir(tmp_path)
    assert main(["sweep", str(write(tmp_path, text)), *options]) == 2
    assert told in capsys.readouterr().err
    assert not (tmp_path / "sweeps").exists()


def test_the_result_is_printed_and_as_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("stream2gym.sweep_api.RunnerHere", FormulaRunner())
    file = str(write(tmp_path))
    assert main(["sweep", file, "--out", str(tmp_path / "a")]) == 0
    said = capsys.readouterr()
    assert "pass     latency.mean over delay: increasing" in said.out
    assert "verdict: pass: 1 of 1 shape held; of 3 runs 3 passed" in said.out
    assert "3/3" in said.err
    assert main(["sweep", file, "--out", str(tmp_path / "b"), "--json"]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["outcome"] == "pass"
    assert [json.loads(line)["ended"] for line in said.err.splitlines()] == [1, 2, 3]
    assert main(["report", str(tmp_path / "a")]) == 0


def test_a_sweep_can_be_built_in_python_from_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from stream2gym.prepare import prepare_experiment

    monkeypatch.setattr("stream2gym.sweep_api.RunnerHere", FormulaRunner())
    result = sweep(
        base=prepare_experiment("hello").experiment,
        name="mine",
        axes={"delay": {"set": DELAY, "from": "10 ms", "to": "50 ms", "steps": 3}},
        responses=["latency.mean"],
        expect=["latency.mean over delay: linear(r2 > 0.99, slope > 1.9)"],
        out=tmp_path / "out",
    )
    assert result.verdict == "pass"
    assert result.table.num_rows == 3


@pytest.mark.parametrize(
    ("one", "shown"),
    [
        (MeasuredResponse("latency.p99", "", 0.0499, 0.0499, 0.0499, unit="s"), "latency.p99 = 49.9 ms"),
        (MeasuredResponse("rtt", "h1 -- s1", 0.02, 0.005, 0.02, unit="s"), "rtt h1 -- s1 = 20 ms [5 ms to 20 ms]"),
        (MeasuredResponse("latency.p99", reason="no rows"), "latency.p99 unknown"),
    ],
)
def test_progress_shows_values_with_units_and_bounds_in_doubt(one: MeasuredResponse, shown: str) -> None:
    assert describe_response(one) == shown


def test_one_value_of_a_response_needs_no_item_and_several_do() -> None:
    alone = MeasuredResponse("RTT", "from-producer rtt_ms", 0.203, 0.203, 0.203, unit="s")
    several = [MeasuredResponse("rate", item, 5.0, 5.0, 5.0, unit="/s") for item in ("h1", "h2")]
    assert describe_responses([alone, *several]) == ["RTT = 203 ms", "rate h1 = 5/s", "rate h2 = 5/s"]


def test_a_number_with_a_stated_unit_is_shown_in_its_base_unit() -> None:
    stated = Response.model_validate({"name": "RTT", "metric": "sample.p50(metric=rtt_ms)", "unit": "ms"})
    [wanted] = as_wanted([stated])
    assert (wanted.scale, wanted.unit) == (0.001, "s")
