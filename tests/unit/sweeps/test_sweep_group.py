"""Several sweeps by one command, and their page: written from what ran, honest about what did not."""

from __future__ import annotations

import errno
import json
import shutil
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest

from stream2gym.cli.main import main
from stream2gym.errors import BadInput, CannotHere, StartFailed
from stream2gym.spec.readers.bundled_examples import bundled_examples
from stream2gym.sweep_api import sweep
from stream2gym.sweep_group import find_group, load_group, run_group
from stream2gym.sweep_group_page import write_page
from stream2gym.sweeps.point import NoRunnerLeft, PointJob, PointResult
from stream2gym.sweeps.results_page import read_page, read_readme
from stream2gym.sweeps.run_points import SilentSweepView, SweepProgress
from stream2gym.sweeps.sweep_plan import PlannedPointRun
from tests.unit.sweeps.sweeps_support import DELAY, FormulaRunner, twice_the_delay

SWEEP = f"""
sweep: 1
name: NAME
experiment: hello
axes:
  delay: {{set: "{DELAY}", values: [10 ms, 20 ms, 30 ms, 40 ms]}}
responses: [latency.mean]
expect: ["latency.mean over delay: increasing"]
published: published.csv
agreement:
  - {{name: how steep, what: slope, of: latency.mean over delay, published: theirs, within: 10 %}}
"""
CSV = "series,x,value,unit,source\n" + "".join(f"theirs,{x} ms,{2.1 * x},ms,a paper\n" for x in (10, 20, 30, 40))
README = """# The NAME of it

What it shows. See [the sweep](sweep.yaml).

## What they did

They measured.

## What we do

We measure, too.

## What agrees

Most of it.

## What differs, and why

Nothing much.

## Run it

`s2g sweep NAME`
"""


@pytest.fixture
def runner(monkeypatch: pytest.MonkeyPatch) -> FormulaRunner:
    made = FormulaRunner()
    monkeypatch.setattr("stream2gym.sweep_api.RunnerHere", made)
    return made


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A group of two sweeps."""
    for name in ("one", "two"):
        place = tmp_path / "group" / name
        place.mkdir(parents=True)
        (place / "sweep.yaml").write_text(textwrap.dedent(SWEEP).replace("NAME", name), "utf-8")
        (place / "published.csv").write_text(CSV, "utf-8")
        (place / "README.md").write_text(README.replace("NAME", name), "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "group"


def test_a_group_runs_all_its_sweeps_and_writes_one_page(
    folder: Path, runner: FormulaRunner, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(
        ["sweep", str(folder), "--out", str(tmp_path / "out"), "--write", str(tmp_path / "docs" / "results.md")]
    )
    assert code == 0
    assert len(runner.jobs) == 8
    said = capsys.readouterr().out
    assert said.count("how steep") == 2
    assert "agrees" in said
    page = (tmp_path / "docs" / "results.md").read_text("utf-8")
    assert "| [one](#the-one-of-it) | 1 | 0 | 0 | 0 | – | 1 of 1 hold | 4 |" in page
    assert "| how steep | 2 | 2.1 | 10 % | **agrees** | -4.8 % beside the published value |" in page
    assert "They measured." in page
    assert "## What we do" in page
    assert page.index("**agrees**") < page.index("### What agrees\n\nMost of it.") < page.index("### What differs")
    assert "Run it" not in page
    assert "[the sweep](../group/one/sweep.yaml)" in page
    assert "Sources: a paper." in page
    assert "**pass**: `latency.mean over delay: increasing`" in page
    figure = (tmp_path / "docs" / "results" / "one-latency-mean-over-delay.svg").read_text("utf-8")
    assert "published: theirs" in figure
    assert "(results/one-latency-mean-over-delay.svg)" in page
    assert (tmp_path / "out" / "results.md").is_file()


def test_a_coarse_pass_is_said_so(folder: Path, runner: FormulaRunner, tmp_path: Path) -> None:
    group = find_group(str(folder))
    assert group is not None
    result = run_group(group, quick=True, out=tmp_path / "out")
    assert len(runner.jobs) == 6
    page = tmp_path / "page.md"
    write_page(result, page, "s2g sweep group --quick")
    assert "this was a coarse pass" in page.read_text("utf-8")


def test_another_number_of_repeats_is_run_and_said_so(folder: Path, runner: FormulaRunner, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    assert main(["sweep", str(folder), "--repeats", "2", "--out", "out", "--write", str(page)]) == 0
    assert len(runner.jobs) == 16
    remark = "repeats of every point: 2, where the sweep file has 1"
    assert page.read_text("utf-8").count(remark) == 2
    page.unlink()
    assert main(["sweep", str(folder), "--from", "out", "--write", str(page)]) == 0
    assert page.read_text("utf-8").count(remark) == 2
    assert "measures something else" not in page.read_text("utf-8")


def test_a_number_of_repeats_that_cannot_be_is_refused(
    folder: Path, runner: FormulaRunner, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sweep", str(folder / "one"), "--repeats", "0"]) == 2
    assert "repeats" in capsys.readouterr().err
    assert main(["sweep", str(folder / "one"), "--repeats", "2", "--quick"]) == 2
    assert "--repeats: a coarse pass runs every point once" in capsys.readouterr().err
    assert runner.jobs == []


def test_a_sweep_is_resumed_with_as_many_repeats_as_it_began_with(
    folder: Path, runner: FormulaRunner, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sweep", str(folder / "one"), "--repeats", "2", "--out", "out"]) == 0
    assert main(["sweep", str(folder / "one"), "--resume", "out"]) == 2
    said = capsys.readouterr().err
    assert "--repeats: the sweep began with 2 of every point, not with 1" in said
    assert "resume it with --repeats 2" in said
    assert main(["sweep", str(folder / "one"), "--repeats", "2", "--resume", "out"]) == 0
    assert len(runner.jobs) == 8


def test_the_plan_shows_as_many_repeats_as_asked_for(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", str(folder / "one"), "--repeats", "3", "--plan"]) == 0
    assert "4 points, 12 runs" in capsys.readouterr().out


def test_the_page_is_written_from_sweeps_on_disk_without_running(
    folder: Path, runner: FormulaRunner, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sweep", str(folder / "one"), "--out", "sweeps/first"]) == 0
    runs = len(runner.jobs)
    page = tmp_path / "results.md"
    assert main(["sweep", str(folder), "--from", "sweeps", "--write", str(page)]) == 3
    assert len(runner.jobs) == runs
    text = page.read_text("utf-8")
    assert "| – | **not run**: there is no such sweep in the given folders |" in text
    assert "Not run: there is no such sweep in the given folders." in text
    assert "**agrees**" in text
    assert "not run" in capsys.readouterr().out


def test_a_result_that_was_not_measured_this_time_stays_on_the_page(
    folder: Path, runner: FormulaRunner, tmp_path: Path
) -> None:
    page = tmp_path / "docs" / "results.md"
    assert main(["sweep", str(folder), "--out", "first", "--write", str(page)]) == 0
    before = page.read_text("utf-8")
    assert main(["sweep", str(folder / "two"), "--quick", "--out", "second"]) == 0
    assert main(["sweep", str(folder), "--from", "second", "--write", str(page), "--overwrite"]) == 3
    text = page.read_text("utf-8")
    assert "| [one](#the-one-of-it) | 1 | 0 | 0 | 0 | – | 1 of 1 hold | 4 |" in text
    assert "3, a coarse pass |" in text
    assert before[before.index("## The one of it") : before.index("## The two of it")] in text
    assert "not run" not in text.lower()
    assert (tmp_path / "docs" / "results" / "one-latency-mean-over-delay.svg").is_file()


def test_a_coarse_pass_does_not_replace_a_whole_result_on_the_page_unless_asked(
    folder: Path, runner: FormulaRunner, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "docs" / "results.md"
    figure = tmp_path / "docs" / "results" / "two-latency-mean-over-delay.svg"
    assert main(["sweep", str(folder), "--out", "first", "--write", str(page)]) == 0
    drawing = figure.read_text("utf-8")
    capsys.readouterr()
    assert main(["sweep", str(folder), "--quick", "--out", "second", "--write", str(page)]) == 0
    assert "the page keeps the whole results of one, two; --overwrite puts" in capsys.readouterr().err
    assert page.read_text("utf-8").count("1 of 1 hold | 4 |") == 2
    assert "coarse pass" not in page.read_text("utf-8")
    assert figure.read_text("utf-8") == drawing
    assert "3, a coarse pass |" in (tmp_path / "second" / "results.md").read_text("utf-8")
    assert main(["sweep", str(folder), "--from", "second", "--write", str(page), "--overwrite"]) == 0
    assert page.read_text("utf-8").count("3, a coarse pass |") == 2
    assert "keeps" not in capsys.readouterr().err
    # What is coarse already is replaced by any other pass.
    assert main(["sweep", str(folder), "--from", "second", "--write", str(page)]) == 0
    assert "keeps" not in capsys.readouterr().err


def test_an_earlier_page_that_counted_all_comparisons_together_says_so(
    folder: Path, runner: FormulaRunner, tmp_path: Path
) -> None:
    page = tmp_path / "results.md"
    assert main(["sweep", str(folder), "--out", "first", "--write", str(page)]) == 0
    earlier = (
        page.read_text("utf-8").replace("| shown | others |", "| shown |").replace("| 0 | – | 1 of 1", "| 0 | 1 of 1")
    )
    page.write_text(earlier, "utf-8")
    (tmp_path / "nothing").mkdir()
    main(["sweep", str(folder), "--from", str(tmp_path / "nothing"), "--write", str(page)])
    text = page.read_text("utf-8")
    assert "| [one](#the-one-of-it) | 1 | 0 | 0 | 0 | counted with these | 1 of 1 hold | 4 |" in text
    assert text.count("| how steep | 2 | 2.1 |") == 2


def test_comparisons_with_what_nobody_published_have_a_column_of_their_own(
    folder: Path, runner: FormulaRunner, tmp_path: Path
) -> None:
    (folder / "one" / "published.csv").write_text(
        CSV.replace("source\n", "source,kind\n").replace("a paper\n", "twice the delay,setting\n"), "utf-8"
    )
    page = tmp_path / "results.md"
    assert main(["sweep", str(folder), "--out", "out", "--write", str(page)]) == 0
    text = page.read_text("utf-8")
    assert "| [one](#the-one-of-it) | 0 | 0 | 0 | 0 | 1 agree | 1 of 1 hold | 4 |" in text
    assert "| how steep | 2 | 2.1 (set) | 10 % | **agrees** |" in text
    figure = (tmp_path / "results" / "one-latency-mean-over-delay.svg").read_text("utf-8")
    assert "set: theirs" in figure


def test_pauses_of_a_sweep_are_no_part_of_the_time_that_it_took(
    folder: Path, runner: FormulaRunner, tmp_path: Path
) -> None:
    """Every run takes a second; the sweep ends weeks after it began."""
    main(["sweep", str(folder / "one"), "--out", "sweeps/first"])
    info = Path("sweeps/first/sweep.json")
    told = json.loads(info.read_text("utf-8"))
    info.write_text(json.dumps(told | {"created": "2026-11-01T10:00:00+00:00"}), "utf-8")
    page = tmp_path / "results.md"
    main(["sweep", str(folder), "--from", "sweeps", "--write", str(page)])
    assert "; its runs took 4 s in all" in page.read_text("utf-8")


def test_what_was_not_run_then_is_not_kept(folder: Path, runner: FormulaRunner, tmp_path: Path) -> None:
    page = tmp_path / "results.md"
    main(["sweep", str(folder / "one"), "--out", "first"])
    for _ in range(2):
        main(["sweep", str(folder), "--from", "first", "--write", str(page)])
    assert page.read_text("utf-8").count("Not run: there is no such sweep in the given folders.") == 1
    assert list(read_page(page.read_text("utf-8"))) == ["the-one-of-it"]


def test_a_changed_tolerance_is_judged_anew_and_a_changed_experiment_is_said(
    folder: Path, runner: FormulaRunner, tmp_path: Path
) -> None:
    main(["sweep", str(folder / "one"), "--out", "sweeps/first"])
    group = find_group(str(folder))
    assert group is not None
    file = folder / "one" / "sweep.yaml"
    file.write_text(file.read_text("utf-8").replace("within: 10 %", "within: 1 %"), "utf-8")
    entry = load_group(group, [Path("sweeps")]).entries[0]
    assert entry.result is not None
    assert [line.outcome for line in entry.result.judged.agreement] == ["differs"]
    assert entry.remarks == ()
    file.write_text(file.read_text("utf-8").replace("40 ms", "50 ms"), "utf-8")
    (folder / "one" / "published.csv").write_text(CSV.replace("40 ms", "50 ms"), "utf-8")
    entry = load_group(group, [Path("sweeps")]).entries[0]
    assert "measures something else by now" in entry.remarks[0]


def test_a_sweep_of_all_points_goes_before_a_coarse_pass(folder: Path, runner: FormulaRunner) -> None:
    main(["sweep", str(folder / "one"), "--out", "sweeps/full"])
    main(["sweep", str(folder / "one"), "--quick", "--out", "sweeps/later"])
    group = find_group(str(folder))
    assert group is not None
    entry = load_group(group, [Path("sweeps")]).entries[0]
    assert entry.result is not None
    assert entry.result.path.name == "full"


def test_one_that_cannot_run_never_stops_the_rest(
    folder: Path, runner: FormulaRunner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def flaky(file: Path, **options: object) -> object:
        if file.parent.name == "one":
            raise StartFailed("no network here")
        return sweep(file, **options)  # type: ignore[arg-type]

    monkeypatch.setattr("stream2gym.sweep_group.sweep", flaky)
    group = find_group(str(folder))
    assert group is not None
    result = run_group(group, out=tmp_path / "out")
    assert [entry.missing for entry in result.entries] == ["no network here", ""]
    assert result.exit_code == 3


def test_one_that_this_machine_cannot_run_never_stops_the_rest(
    folder: Path, runner: FormulaRunner, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = folder / "one" / "sweep.yaml"
    file.write_text(
        file.read_text("utf-8").replace("experiment: hello", "experiment: hello\nset: {seed: 77}"), "utf-8"
    )
    obstacle = CannotHere("no CPU controller", "run it as root")
    monkeypatch.setattr(
        "stream2gym.prepare.missing_modules_of", lambda experiment, _: [obstacle] if experiment.seed == 77 else []
    )
    assert main(["sweep", str(folder), "--out", "out"]) == 4
    assert len(runner.jobs) == 4
    assert "one: not run: no CPU controller" in capsys.readouterr().out


def test_the_page_in_the_folder_of_a_group_shows_what_the_folder_holds(folder: Path, runner: FormulaRunner) -> None:
    assert main(["sweep", str(folder), "--out", "out"]) == 0
    shutil.rmtree("out/one/points/p0001-r1")

    def vanish(job: PointJob) -> PointResult:
        shutil.rmtree(job.folder)
        raise NoRunnerLeft("nobody is left")

    runner.formula = vanish
    assert main(["sweep", str(folder), "--resume", "out"]) == 3
    assert "3 passed, 1 did not run" in Path("out/results.md").read_text("utf-8")


def test_a_group_resumes_with_what_is_left(folder: Path, runner: FormulaRunner, tmp_path: Path) -> None:
    def interrupted(job: PointJob) -> PointResult:
        if len(runner.jobs) == 6:
            return PointResult("interrupted", error="Ctrl-C")
        return twice_the_delay(job)

    runner.formula = interrupted
    group = find_group(str(folder))
    assert group is not None
    first = run_group(group, out=tmp_path / "out")
    assert first.exit_code in (3, 130)
    runner.formula = twice_the_delay
    before = len(runner.jobs)
    second = run_group(group, resume=str(tmp_path / "out"))
    assert second.exit_code == 0
    assert 0 < len(runner.jobs) - before < 8
    with pytest.raises(BadInput, match="began as group"):
        run_group(group, quick=True, resume=str(tmp_path / "out"))
    with pytest.raises(BadInput, match="began as group, not as group --repeats 2"):
        run_group(group, resume=str(tmp_path / "out"), repeats=2)
    with pytest.raises(BadInput, match="not the folder of a group"):
        run_group(group, resume=str(tmp_path))


def test_a_resumed_group_runs_once_more_what_is_in_doubt_in_sweeps_that_are_over(
    folder: Path, runner: FormulaRunner, tmp_path: Path
) -> None:
    def busy(job: PointJob) -> PointResult:
        exact = twice_the_delay(job)
        if "20 ms" not in job.overrides.values():
            return exact
        return replace(exact, measured=tuple(replace(one, low=0.0) for one in exact.measured))

    runner.formula = busy
    group = find_group(str(folder))
    assert group is not None
    run_group(group, out=tmp_path / "out")
    runner.formula = twice_the_delay
    assert run_group(group, resume=str(tmp_path / "out")).exit_code == 3
    assert len(runner.jobs) == 8
    assert run_group(group, resume=str(tmp_path / "out"), retry=True).exit_code == 0
    assert len(runner.jobs) == 10


def test_a_resumed_group_whose_experiment_has_changed_is_refused_with_the_difference(
    folder: Path, runner: FormulaRunner, tmp_path: Path
) -> None:
    base = folder / "one" / "base.yaml"
    shutil.copy(bundled_examples()["hello"], base)
    file = folder / "one" / "sweep.yaml"
    file.write_text(file.read_text("utf-8").replace("experiment: hello", "experiment: base.yaml"), "utf-8")
    group = find_group(str(folder))
    assert group is not None
    run_group(group, out=tmp_path / "out")
    whole = base.read_text("utf-8")
    base.write_text(whole.replace("rate: 200/s", "rate: 300/s"), "utf-8")
    with pytest.raises(BadInput, match=r"one: base\.yaml: has changed since this sweep began(.|\n)*rate: 300/s"):
        run_group(group, resume=str(tmp_path / "out"))
    base.write_text(whole, "utf-8")
    text = file.read_text("utf-8")
    file.write_text(text.replace("within: 10 %", "within: 1 %"), "utf-8")
    judged_anew = run_group(group, resume=str(tmp_path / "out")).entries[0].result
    assert judged_anew is not None
    assert [line.outcome for line in judged_anew.judged.agreement] == ["differs"]
    file.write_text(text.replace("[latency.mean]", "[latency.mean, lost]"), "utf-8")
    with pytest.raises(BadInput, match="one: its sweep file measures something else now"):
        run_group(group, resume=str(tmp_path / "out"))
    assert len(runner.jobs) == 8


def test_a_group_of_very_many_runs_is_refused_before_they_are_listed_unless_agreed(
    folder: Path, runner: FormulaRunner, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = folder / "one" / "sweep.yaml"
    axis = f'delay: {{set: "{DELAY}", values: [10 ms, 20 ms, 30 ms, 40 ms]}}'
    more = "\n  producers.speaker.size: {from: 1, to: 10000, steps: 10000}\n  time: {from: 1 s, to: 9 s, steps: 9000}"
    file.write_text(file.read_text("utf-8").replace(axis, axis + more), "utf-8")
    assert main(["sweep", str(folder)]) == 2
    assert "points of 1 runs are too many" in capsys.readouterr().err
    file.write_text(file.read_text("utf-8").replace(more, ""), "utf-8")
    monkeypatch.setattr("stream2gym.sweeps.check_points.MOST_UNASKED", 3)
    assert main(["sweep", str(folder)]) == 2
    assert "--yes runs them" in capsys.readouterr().err
    assert runner.jobs == []
    assert main(["sweep", str(folder), "--yes"]) == 0
    assert len(runner.jobs) == 8


def test_progress_tells_the_time_that_is_left_of_all_sweeps(
    folder: Path, runner: FormulaRunner, tmp_path: Path
) -> None:
    told: list[tuple[int, float | None]] = []

    class Watcher(SilentSweepView):
        def ended(self, run: PlannedPointRun, result: PointResult, progress: SweepProgress) -> None:
            left_s = None if progress.all_left_s is None else progress.all_left_s - (progress.left_s or 0.0)
            told.append((progress.ended, left_s))

    group = find_group(str(folder))
    assert group is not None
    run_group(group, out=tmp_path / "out", view=Watcher())
    # The four runs of the second sweep take as long as those of the first one, a second each.
    assert told[:4] == [(number, pytest.approx(4.0)) for number in (1, 2, 3, 4)]
    assert told[4:] == [(number, None) for number in (1, 2, 3, 4)]


@pytest.mark.parametrize(
    "case",
    [
        ("there", "there: has no suffix"),
        (".", ".: has no suffix"),
        ("a.folder", "a.folder: is a folder"),
        ("file.txt/results.md", "file.txt is no folder"),
        ("taken.md", "taken is where its figures go, and is no folder"),
        ("latin.md", "latin.md: is there and is no text in UTF-8"),
    ],
)
@pytest.mark.parametrize("command", [["sweep", "group/"], ["conformance", "safety"]])
def test_a_page_that_cannot_be_written_is_refused_before_anything_runs(
    folder: Path, runner: FormulaRunner, capsys: pytest.CaptureFixture[str], command: list[str], case: tuple[str, str]
) -> None:
    page, told = case
    Path("a.folder").mkdir()
    Path("file.txt").write_text("", "utf-8")
    Path("taken").write_text("", "utf-8")
    Path("latin.md").write_bytes("Größe".encode("latin-1"))
    assert main([*command, "--out", "out", "--write", page]) == 2
    said = capsys.readouterr().err
    assert "--write: " in said
    assert told in said
    assert runner.jobs == []
    assert not Path("out").exists()


def test_a_page_in_a_folder_that_may_not_be_written_is_refused(
    folder: Path, runner: FormulaRunner, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("os.access", lambda *_: False)
    assert main(["sweep", str(folder), "--write", "docs/results.md"]) == 2
    assert "docs/results.md: may not be written" in capsys.readouterr().err
    assert runner.jobs == []


def test_a_page_for_which_the_disk_has_no_room_is_told_with_how_to_write_it_later(
    folder: Path, runner: FormulaRunner, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fill(*_: object) -> str:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("stream2gym.sweep_group_page.render_file", fill)
    assert main(["sweep", str(folder), "--out", "out", "--write", "docs/results.md"]) == 2
    said = capsys.readouterr().err
    assert "docs/results.md cannot be written: No space left on device (--from out writes it" in said


@pytest.mark.parametrize("option", [["--quick"], ["--resume", "x"], ["--retry"], ["--out", "x"], ["--repeats", "2"]])
@pytest.mark.parametrize("command", [["sweep", "group/"], ["conformance"]])
def test_options_that_mean_nothing_beside_from_are_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], command: list[str], option: list[str]
) -> None:
    assert main([*command, "--from", ".", *option]) == 2
    assert f"{option[0]}: nothing is run with --from" in capsys.readouterr().err


def test_overwriting_is_about_a_page(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", str(folder), "--overwrite"]) == 2
    assert "--overwrite: is about a page" in capsys.readouterr().err


def test_a_place_where_nothing_can_be_written_is_refused(
    folder: Path, runner: FormulaRunner, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("file").write_text("", "utf-8")
    for what in (folder, folder / "one"):
        assert main(["sweep", str(what), "--out", "file/out"]) == 2
        said = capsys.readouterr().err
        assert "--out: the folder file/out cannot be made: Not a directory (name a folder that you may" in said
    assert runner.jobs == []


@pytest.mark.parametrize("content", ["", "[]", '{"format": 1}', '{"format": 1, "name": "one", "state": 3}'])
def test_a_broken_sweep_json_is_told_and_not_a_crash(
    folder: Path, runner: FormulaRunner, capsys: pytest.CaptureFixture[str], content: str
) -> None:
    assert main(["sweep", str(folder / "one"), "--out", "sweeps/first"]) == 0
    (Path("sweeps/first") / "sweep.json").write_text(content, "utf-8")
    commands = [
        ["report", "sweeps/first"],
        ["compare", "sweeps/first", "sweeps/first"],
        ["sweep", str(folder / "one"), "--resume", "sweeps/first"],
        ["sweep", str(folder), "--from", "sweeps/first"],
        ["sweep", str(folder / "one"), "--resume"],
    ]
    for command in commands:
        assert main(command) == 2, command
        said = capsys.readouterr().err
        assert "sweep.json" in said or "no such sweep" in said, command


def test_mistakes_of_all_sweeps_are_told_before_anything_runs(
    folder: Path, runner: FormulaRunner, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("one", "two"):
        file = folder / name / "sweep.yaml"
        file.write_text(file.read_text("utf-8").replace("published: theirs", "published: nobody"), "utf-8")
    assert main(["sweep", str(folder)]) == 2
    assert runner.jobs == []
    assert capsys.readouterr().err.count("there is no published series 'nobody'") == 2


def test_options_of_groups_are_refused_for_one_sweep(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", str(folder / "one"), "--write", "x.md"]) == 2
    assert "--write: is for several sweeps" in capsys.readouterr().err
    assert main(["sweep", str(folder), "--jobs", "2"]) == 2
    assert main(["sweep", str(folder), "--from", "nowhere"]) == 2
    assert "nowhere is no folder" in capsys.readouterr().err


def test_the_result_is_also_json(folder: Path, runner: FormulaRunner, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", str(folder), "--json", "--out", "out"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["sweeps"]["one"]["agreement"][0]["outcome"] == "agrees"


def test_the_parts_of_a_readme_are_found() -> None:
    readme = read_readme(README)
    assert readme.title == "The NAME of it"
    assert readme.intro.startswith("What it shows.")
    assert readme.sections["What they did"] == "They measured."


def test_the_bundled_group_has_every_published_result() -> None:
    group = find_group("published")
    assert group is not None
    assert {"link-delay", "accuracy", "resource-use"} <= set(group.files)
    assert find_group("link-latency") is None
