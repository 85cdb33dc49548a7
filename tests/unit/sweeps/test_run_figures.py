"""Figures of single runs that a sweep file names: checked, drawn from run folders, in the report and on the page."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from stream2gym.cli.main import main
from stream2gym.report.facts import read_facts
from stream2gym.report.write import FIGURES, OTHER_FIGURE, make_figures
from stream2gym.sweep_api import sweep
from stream2gym.sweeps.point import PointJob, PointResult
from tests.support.manual import ROOT
from tests.unit.report.synthetic import rich_run
from tests.unit.sweeps.sweeps_support import DELAY, FILE, FormulaRunner, mistakes, twice_the_delay, write

FIGURES_KEY = """
    figures:
      - {figure: delivery-matrix, where: {delay: 20 ms}}
      - {figure: latency, where: {delay: 20 ms}}
"""
NAME = "delivery-matrix-delay-20-ms"


@pytest.fixture
def runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FormulaRunner:
    """Runs whose record has two producers and two groups, and a cut."""
    recorded = rich_run(tmp_path / "recorded")

    def formula(job: PointJob) -> PointResult:
        shutil.copytree(recorded, job.folder, dirs_exist_ok=True)
        return twice_the_delay(job)

    made = FormulaRunner(formula)
    monkeypatch.setattr("stream2gym.sweep_api.RunnerHere", made)
    return made


def test_the_figures_that_a_file_names_are_kept_whatever_else_is_removed(
    tmp_path: Path, runner: FormulaRunner
) -> None:
    result = sweep(write(tmp_path, FILE + FIGURES_KEY), out=tmp_path / "out", keep="summaries")
    assert not list((tmp_path / "out" / "points").glob("*/figures"))
    for name in (NAME, "latency-time-delay-20-ms"):
        for suffix in ("svg", "pdf", "csv"):
            assert (result.path / "figures" / f"{name}.{suffix}").stat().st_size > 0
    drawing = (result.path / "figures" / "latency-time-delay-20-ms.svg").read_text("utf-8")
    assert "delay=20 ms: End to end over time" in drawing
    assert 'class="band fault"' in drawing
    page = result.report.read_text("utf-8")
    assert "Figures of runs" in page
    assert "delay=20 ms: Who got what from whom" in page
    assert "delay=10 ms: Who got what" not in page


def test_the_first_repeat_that_went_through_is_drawn(tmp_path: Path, runner: FormulaRunner) -> None:
    sound = runner.formula

    def fail_first(job: PointJob) -> PointResult:
        if job.name == "p0002-r1":
            return PointResult("failed", error="no broker came up")
        result = sound(job)
        if job.name != "p0002-r2":
            (Path(job.folder) / "analysis.json").unlink()
        return result

    runner.formula = fail_first
    result = sweep(write(tmp_path, FILE + "    repeats: 3\n" + FIGURES_KEY), out=tmp_path / "out")
    assert (result.path / "figures" / f"{NAME}.svg").is_file()


def test_a_figure_that_cannot_be_drawn_is_said_so(tmp_path: Path, runner: FormulaRunner) -> None:
    sound = runner.formula

    def formula(job: PointJob) -> PointResult:
        result = sound(job)
        if job.overrides[DELAY] == "20 ms":
            return PointResult("failed", error="no broker came up")
        (Path(job.folder) / "analysis.json").write_text("{}", "utf-8")
        return result

    runner.formula = formula
    text = FILE + FIGURES_KEY + "      - {figure: spark-rates, where: {delay: 10 ms}}\n"
    result = sweep(write(tmp_path, text), out=tmp_path / "out")
    page = result.report.read_text("utf-8")
    assert "Not drawn: delivery-matrix at delay=20 ms: no run of it went through." in page
    assert "Not drawn: spark-rates at delay=10 ms: " in page


def test_a_coarse_pass_without_the_point_says_so(tmp_path: Path, runner: FormulaRunner) -> None:
    axis = "quick: [10 ms, 30 ms], values: [10 ms, 20 ms, 30 ms]"
    text = FILE.replace("values: [10 ms, 20 ms, 30 ms]", axis) + FIGURES_KEY
    result = sweep(write(tmp_path, text), out=tmp_path / "out", quick=True)
    assert "delivery-matrix at delay=20 ms: this pass has no such point" in result.report.read_text("utf-8")


def test_figures_of_every_point_have_names_of_their_own(tmp_path: Path, runner: FormulaRunner) -> None:
    text = FILE + "    figures: [{figure: leadership}, {figure: leadership, where: {delay: 10 ms}}]\n"
    result = sweep(write(tmp_path, text), out=tmp_path / "out")
    names = sorted(path.name for path in (result.path / "figures").glob("leadership-*.svg"))
    assert names == [f"leadership-delay-{delay}-ms.svg" for delay in (10, 20, 30)]


@pytest.mark.parametrize(
    ("figures", "told"),
    [
        ("[{figure: delivry-matrix}]", "'delivry-matrix' in reports (did you mean 'delivery-matrix'?)"),
        ("[{figure: latency-time, where: {dely: 1 ms}}]", "there is no axis 'dely' (did you mean 'delay'?)"),
        ("[{figure: latency-time, where: {delay: 25 ms}}]", "delay never is '25 ms' (did you mean "),
        ("[{figure: latency-time, where: {delay: 10 ms, acks: 1}}]", "no point has delay=10 ms acks=1"),
        ("[{figure: latency-time, where: {delay: 20 ms, acks: 0}}]", "no point has delay=20 ms acks=0"),
        ("[{where: {delay: 10 ms}}]", "figure"),
    ],
)  # fmt: skip
def test_a_figure_or_a_point_that_does_not_exist_is_a_mistake_of_the_file(
    tmp_path: Path, figures: str, told: str
) -> None:
    text = f"""
        sweep: 1
        experiment: hello
        axes:
          delay: {{set: "{DELAY}", values: [10 ms, 20 ms]}}
          acks: {{set: producers.speaker.acks, values: [0, 1]}}
        zip: [delay, acks]
        responses: [latency.mean]
        figures: {figures}
    """
    found = mistakes(tmp_path, text)
    assert any(told in one and "figures" in one for one in found), found


def test_more_figures_than_anyone_looks_at_are_refused(tmp_path: Path) -> None:
    values = ", ".join(f"{n} ms" for n in range(100))
    text = FILE.replace("10 ms, 20 ms, 30 ms", values) + "    figures: [{figure: leadership}]\n"
    assert any("100 figures of runs are too many" in one for one in mistakes(tmp_path, text))


def test_a_combination_that_is_left_out_and_samples_have_no_points_to_draw(tmp_path: Path) -> None:
    left_out = FILE + "    without: [{delay: 20 ms}]\n" + FIGURES_KEY
    assert any("no point has delay=20 ms" in one for one in mistakes(tmp_path, left_out))
    drawn = FILE.partition("    expect")[0] + "    sample: {by: random, points: 3}\n" + FIGURES_KEY
    assert any("points that are drawn have no values" in one for one in mistakes(tmp_path, drawn))


def test_the_page_of_results_has_the_figures_of_runs_also_of_sweeps_that_are_there(
    tmp_path: Path, runner: FormulaRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    place = tmp_path / "group" / "one"
    place.mkdir(parents=True)
    write(place, FILE, "sweep.yaml")
    page = tmp_path / "docs" / "results.md"
    # The file names figures only after the sweep has run.
    assert main(["sweep", "group/", "--out", "out", "--write", str(page)]) == 0
    write(place, FILE + FIGURES_KEY, "sweep.yaml")
    assert main(["sweep", "group/", "--from", "out", "--write", str(page)]) == 0
    text = page.read_text("utf-8")
    assert f"![delay=20 ms: Who got what from whom](results/one-{NAME}.svg)" in text
    assert "Of one run each" in text
    assert "measures something else" not in text
    assert "Who got what from whom" in (tmp_path / "docs" / "results" / f"one-{NAME}.svg").read_text("utf-8")


def test_every_figure_of_a_report_can_be_named(tmp_path: Path) -> None:
    sources = [
        *(ROOT / "src/stream2gym/report/sections").glob("*.py"),
        ROOT / "src/stream2gym/figures/time_charts.py",
    ]
    text = "".join(source.read_text("utf-8") for source in sources)
    assert [name for name in FIGURES if f'"{name}"' not in text] == []
    found = make_figures(read_facts(rich_run(tmp_path)))
    assert [name for name in found if name not in FIGURES and not name.startswith(OTHER_FIGURE)] == []
