"""Runs that fail, interrupts, resuming, retries and full disks: nothing is lost and nothing stops the rest."""

from __future__ import annotations

import errno
import json
import os
import shutil
import threading
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from stream2gym.errors import BadInput, CannotHere
from stream2gym.sweep_api import sweep
from stream2gym.sweeps import run_points
from stream2gym.sweeps.job_limits import BROKER_BYTES, CLIENT_BYTES, MIB, RUN_BYTES, JobLimits, limit_jobs
from stream2gym.sweeps.point import NoRunnerLeft, PointJob, PointResult
from stream2gym.sweeps.run_points import LoopEnd, PointLoop, SweepProgress, describe_left
from stream2gym.sweeps.sweep_folder import SweepFolder
from stream2gym.sweeps.sweep_plan import PlannedPointRun, make_sweep_plan
from stream2gym.sweeps.sweep_results import SweepResult, load_results
from tests.unit.sweeps.sweeps_support import DELAY, FILE, FormulaRunner, load, twice_the_delay, write


@pytest.fixture
def runner(monkeypatch: pytest.MonkeyPatch) -> FormulaRunner:
    """The runner of every sweep in a test."""
    made = FormulaRunner()
    monkeypatch.setattr("stream2gym.sweep_api.RunnerHere", made)
    return made


def run(folder: Path, text: str = FILE, **options: Any) -> SweepResult:
    if "resume" not in options:
        options.setdefault("out", folder / "out")
    return sweep(write(folder, text), **options)


def fail_at(delay: str, how: PointResult | None = None) -> Any:
    def formula(job: PointJob) -> PointResult:
        if delay in job.overrides.values():
            return how or PointResult("failed", error="no broker came up")
        return twice_the_delay(job)

    return formula


def test_a_sweep_gives_a_table_a_verdict_and_a_report(tmp_path: Path, runner: FormulaRunner) -> None:
    result = run(tmp_path)
    assert (result.verdict, result.exit_code, result.state) == ("pass", 0, "done")
    table = result.table
    assert table.column("delay").to_pylist() == ["10 ms", "20 ms", "30 ms"]
    assert table.column("delay (s)").to_pylist() == [0.01, 0.02, 0.03]
    assert table.column("value").to_pylist() == [0.02, 0.04, 0.06]
    assert {path.name for path in (tmp_path / "out").iterdir()} >= {
        "responses.csv", "responses.parquet", "report.html", "verdict.json", "sweep.json", "points", "figures",
    }  # fmt: skip
    assert sorted(runner.names) == ["p0001-r1", "p0002-r1", "p0003-r1"]
    again = load_results(SweepFolder.open(tmp_path / "out"))
    assert (again.verdict, again.rows) == (result.verdict, result.rows)


def test_a_failed_run_is_recorded_and_never_stops_the_rest(tmp_path: Path, runner: FormulaRunner) -> None:
    runner.formula = fail_at("20 ms")
    result = run(tmp_path)
    assert len(runner.jobs) == 3
    assert (result.verdict, result.exit_code) == ("unknown", 3)
    assert result.judged.counts == {"pass": 2, "failed": 1}
    assert [one.state for one in result.rows] == ["measured", "failed", "measured"]
    assert result.rows[1].reason == "no broker came up"


def test_a_runner_that_crashes_is_a_failed_run(tmp_path: Path, runner: FormulaRunner) -> None:
    def crash(job: PointJob) -> PointResult:
        raise RuntimeError("boom")

    runner.formula = crash
    result = run(tmp_path)
    assert (len(runner.jobs), result.exit_code) == (3, 3)
    assert all("RuntimeError: boom" in one.reason for one in result.rows)
    assert "of 3 runs 3 did not go through" in result.summary


def test_a_sweep_without_expectations_whose_runs_all_failed_is_unknown(tmp_path: Path, runner: FormulaRunner) -> None:
    runner.formula = lambda job: PointResult("failed", error="no")
    result = run(tmp_path, FILE.partition("    expect")[0])
    assert result.exit_code == 3


def test_responses_without_rows_are_unknown(tmp_path: Path, runner: FormulaRunner) -> None:
    runner.formula = lambda job: PointResult("done", "pass")
    result = run(tmp_path, FILE.partition("    expect")[0])
    assert result.exit_code == 3
    assert {one.state for one in result.rows} == {"unknown"}


def test_a_response_that_no_run_measured_is_not_passed_over(tmp_path: Path, runner: FormulaRunner) -> None:
    def only_first(job: PointJob) -> PointResult:
        return PointResult("done", "pass", "", twice_the_delay(job).measured[:1])

    runner.formula = only_first
    text = FILE.replace("[latency.mean]", "[latency.mean, throughput]")
    result = run(tmp_path, text)
    assert [shape.outcome for shape in result.judged.shapes] == ["pass"]
    assert result.exit_code == 3


def test_an_expectation_of_a_run_that_failed_fails_the_sweep(tmp_path: Path, runner: FormulaRunner) -> None:
    def lossy(job: PointJob) -> PointResult:
        return PointResult("done", "fail", "fail: lost", twice_the_delay(job).measured)

    runner.formula = lossy
    assert run(tmp_path).exit_code == 1


def test_what_failed_runs_once_more_on_request_and_only_once(tmp_path: Path, runner: FormulaRunner) -> None:
    runner.formula = fail_at("20 ms")
    result = run(tmp_path, retry=True)
    assert sorted(runner.names) == ["p0001-r1", "p0002-r1", "p0002-r1", "p0003-r1"]
    assert runner.names[-1] == "p0002-r1"
    assert result.exit_code == 3
    run(tmp_path, resume=tmp_path / "out", retry=True)
    assert len(runner.jobs) == 4


def test_a_retry_that_goes_through_counts_instead(tmp_path: Path, runner: FormulaRunner) -> None:
    runner.formula = fail_at("20 ms")
    assert run(tmp_path).exit_code == 3
    runner.formula = twice_the_delay
    assert run(tmp_path, resume=tmp_path / "out").exit_code == 3
    result = run(tmp_path, resume=tmp_path / "out", retry=True)
    assert result.exit_code == 0
    assert result.rows[1].run == "points/p0002-r1-retry"
    assert (tmp_path / "out" / "points" / "p0002-r1" / "run.json").is_file()


def test_what_a_busy_machine_left_in_doubt_runs_once_more_on_request(tmp_path: Path, runner: FormulaRunner) -> None:
    def busy_at_20(job: PointJob) -> PointResult:
        exact = twice_the_delay(job)
        if job.overrides[DELAY] != "20 ms":
            return exact
        return replace(exact, measured=tuple(replace(one, low=0.0) for one in exact.measured))

    runner.formula = busy_at_20
    assert run(tmp_path).exit_code == 3
    runner.formula = twice_the_delay
    result = run(tmp_path, resume=tmp_path / "out", retry=True)
    assert runner.names[3:] == ["p0002-r1"]
    assert (result.exit_code, result.rows[1].state) == (0, "measured")


def test_a_retry_that_measures_nothing_does_not_replace_a_value_with_wide_bounds(
    tmp_path: Path, runner: FormulaRunner
) -> None:
    def busy_and_then_broken(job: PointJob) -> PointResult:
        exact = twice_the_delay(job)
        if job.overrides[DELAY] != "20 ms":
            return exact
        if job.folder.endswith("-retry"):
            return PointResult("failed", error="no broker came up")
        return replace(exact, measured=tuple(replace(one, low=0.01) for one in exact.measured))

    runner.formula = busy_and_then_broken
    result = run(tmp_path, retry=True)
    assert len(runner.jobs) == 4
    assert (result.rows[1].state, result.rows[1].run) == ("wide", "points/p0002-r1")
    again = run(tmp_path, resume=tmp_path / "out", retry=True)
    assert len(runner.jobs) == 4
    assert again.rows[1].state == "wide"


# ---- interrupts and resuming


def interrupted_loop(folder: Path, stop_after: int) -> tuple[FormulaRunner, LoopEnd]:
    """A sweep of six runs that is interrupted in the middle of a run."""
    loaded = load(folder, FILE + "    repeats: 2\n")
    plan = make_sweep_plan(loaded.file)
    made = SweepFolder.create("delays", plan, [], folder / "out")
    runner = FormulaRunner()

    def formula(job: PointJob) -> PointResult:
        if len(runner.jobs) > stop_after:
            return PointResult("interrupted")
        return twice_the_delay(job)

    runner.formula = formula
    end = PointLoop(made, plan, runner, (), is_interrupted=lambda: len(runner.jobs) > stop_after).run()
    made.release()
    return runner, end


def test_an_interrupt_ends_in_order_and_what_was_interrupted_runs_again(tmp_path: Path) -> None:
    runner, end = interrupted_loop(tmp_path, 2)
    assert end.state == "interrupted"
    assert len(runner.jobs) == 3
    folder = SweepFolder.open(tmp_path / "out")
    assert len(folder.find_ended()) == 2
    plan = folder.read_plan()
    second = FormulaRunner()
    assert PointLoop(folder, plan, second, ()).run().state == "done"
    assert second.names[0] == runner.names[-1]
    assert sorted(runner.names[:2] + second.names) == sorted(run.name for run in plan.runs)


def test_a_resumed_sweep_runs_only_what_is_left(tmp_path: Path, runner: FormulaRunner) -> None:
    run(tmp_path)
    lines = (tmp_path / "out" / "results.jsonl").read_text().splitlines()
    (tmp_path / "out" / "results.jsonl").write_text("\n".join(lines[:2]) + "\n" + lines[2][:50])
    result = run(tmp_path, resume=tmp_path / "out")
    assert len(runner.jobs) == 4
    assert result.exit_code == 0


def test_a_run_whose_folder_is_gone_runs_again(tmp_path: Path, runner: FormulaRunner) -> None:
    run(tmp_path)
    shutil.rmtree(tmp_path / "out" / "points" / "p0003-r1")
    result = run(tmp_path, resume=tmp_path / "out")
    assert runner.names[3:] == ["p0003-r1"]
    assert result.exit_code == 0
    assert load_results(SweepFolder.open(tmp_path / "out")).exit_code == 0


def test_a_run_that_is_killed_in_its_second_try_does_not_count_with_its_first_result(
    tmp_path: Path, runner: FormulaRunner
) -> None:
    run(tmp_path)
    shutil.rmtree(tmp_path / "out" / "points" / "p0003-r1")
    folder = SweepFolder.open(tmp_path / "out")

    def die(_job: PointJob) -> PointResult:
        raise SystemExit("killed")

    with pytest.raises(SystemExit):
        PointLoop(folder, folder.read_plan(), FormulaRunner(die), ()).run()
    assert (folder.points / "p0003-r1" / "run.json").is_file()
    found = load_results(SweepFolder.open(tmp_path / "out"))
    assert ((found.judged.counts or {})["missing"], found.exit_code) == (1, 3)
    assert run(tmp_path, resume=tmp_path / "out").exit_code == 0
    assert runner.names[3:] == ["p0003-r1"]


def test_a_finished_sweep_that_lost_a_folder_is_not_a_pass(tmp_path: Path, runner: FormulaRunner) -> None:
    run(tmp_path)
    shutil.rmtree(tmp_path / "out" / "points" / "p0003-r1")
    found = load_results(SweepFolder.open(tmp_path / "out"))
    assert found.exit_code == 3
    assert (found.judged.counts or {})["missing"] == 1


def test_a_changed_sweep_file_is_refused_on_resume_with_the_difference(tmp_path: Path, runner: FormulaRunner) -> None:
    run(tmp_path)
    with pytest.raises(BadInput) as caught:
        run(tmp_path, FILE.replace("30 ms", "40 ms"), resume=tmp_path / "out")
    told = str(caught.value)
    assert "delays.yaml: has changed since this sweep began" in told
    assert "-  delay:" in told
    assert "+  delay:" in told
    assert "40 ms" in told
    assert len(runner.jobs) == 3


def test_a_changed_base_or_program_is_refused_on_resume(tmp_path: Path, runner: FormulaRunner) -> None:
    from stream2gym.spec.readers.bundled_examples import bundled_examples

    base = tmp_path / "base.yaml"
    shutil.copy(bundled_examples()["hello"], base)
    text = FILE.replace("experiment: hello", "experiment: base.yaml")
    run(tmp_path, text)
    base.write_text(base.read_text().replace("rate: 200/s", "rate: 300/s"))
    with pytest.raises(BadInput) as caught:
        run(tmp_path, text, resume=tmp_path / "out")
    assert "base.yaml: has changed" in str(caught.value)
    assert "rate: 300/s" in str(caught.value)


def test_a_file_that_only_a_later_point_names_belongs_to_the_sweep(tmp_path: Path, runner: FormulaRunner) -> None:
    experiment = {
        "s2g": 1, "name": "programs", "topology": {"hosts": ["h1"]}, "brokers": [{"on": "h1"}], "topics": ["in"],
        "producers": [{"name": "gen", "on": "h1", "type": "CUSTOM", "app": "one.py", "topic": "in"}], "time": "1 s",
    }  # fmt: skip
    (tmp_path / "base.yaml").write_text(json.dumps(experiment))
    for name in ("one.py", "two.py"):
        (tmp_path / name).write_text("print(1)\n")
    program = "{name: gen, on: h1, type: CUSTOM, app: APP, topic: in}"
    values = [program.replace("APP", name) for name in ("one.py", "two.py")]
    text = json.dumps({
        "sweep": 1, "name": "programs", "experiment": "base.yaml", "responses": ["latency.mean"],
        "axes": {"program": {"set": "producers.gen", "values": values}},
    })  # fmt: skip
    run(tmp_path, text)
    (tmp_path / "two.py").write_text("print(2)\n")
    with pytest.raises(BadInput, match=r"two\.py: has changed"):
        run(tmp_path, text, resume=tmp_path / "out")


def test_a_quick_pass_and_a_full_one_do_not_mix(tmp_path: Path, runner: FormulaRunner) -> None:
    run(tmp_path, quick=True)
    with pytest.raises(BadInput, match="--quick"):
        run(tmp_path, resume=tmp_path / "out")


def test_two_processes_never_run_one_sweep(tmp_path: Path, runner: FormulaRunner) -> None:
    run(tmp_path)
    owner = SweepFolder.open(tmp_path / "out")
    owner.own()
    with pytest.raises(BadInput, match="another process"):
        run(tmp_path, resume=tmp_path / "out")
    owner.release()


def test_a_folder_with_something_in_it_is_not_taken(tmp_path: Path, runner: FormulaRunner) -> None:
    run(tmp_path)
    with pytest.raises(BadInput, match="--resume continues a sweep"):
        run(tmp_path)


# ---- workers that are lost


def test_a_run_that_was_lost_with_its_worker_runs_again_when_the_sweep_is_resumed(
    tmp_path: Path, runner: FormulaRunner
) -> None:
    runner.formula = fail_at("20 ms", PointResult("failed", error="the executor was lost", is_lost=True))
    lost = run(tmp_path)
    assert (lost.exit_code, lost.judged.counts) == (3, {"pass": 2, "failed": 1})
    runner.formula = twice_the_delay
    result = run(tmp_path, resume=tmp_path / "out")
    assert runner.names[3:] == ["p0002-r1"]
    assert result.exit_code == 0


def test_a_sweep_without_any_worker_left_stops_and_can_be_resumed(tmp_path: Path, runner: FormulaRunner) -> None:
    def vanish(job: PointJob) -> PointResult:
        if len(runner.jobs) == 2:
            raise NoRunnerLeft("spark://h:7077 has had no worker for 120 s; start workers, and --resume")
        return twice_the_delay(job)

    runner.formula = vanish
    stopped = run(tmp_path)
    assert (stopped.state, stopped.exit_code, len(runner.jobs)) == ("stopped", 3, 2)
    assert "no worker" in stopped.stopped
    assert run(tmp_path, resume=tmp_path / "out").exit_code == 0
    assert len(runner.jobs) == 4


def test_a_master_that_does_not_answer_is_told_and_nothing_starts(tmp_path: Path, runner: FormulaRunner) -> None:
    with pytest.raises(BadInput, match=r"no Spark master answers at 127.0.0.1:1 .*to run the points here"):
        run(tmp_path, master="spark://127.0.0.1:1")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("options", [{"jobs": 2}, {"master": "spark://127.0.0.1:1"}])
def test_an_experiment_built_in_python_runs_here_one_at_a_time(tmp_path: Path, options: dict[str, Any]) -> None:
    from stream2gym.prepare import prepare_experiment

    with pytest.raises(BadInput, match="runs here, one at a time"):
        sweep(write(tmp_path), base=prepare_experiment("hello").experiment, **options)


# ---- the disk and the machine


def loop_with(folder: Path, runner: FormulaRunner, **options: Any) -> PointLoop:
    loaded = load(folder)
    plan = make_sweep_plan(loaded.file)
    return PointLoop(SweepFolder.create("delays", plan, [], folder / "out"), plan, runner, (), **options)


def test_a_disk_that_fills_stops_the_sweep_before_the_next_run(tmp_path: Path) -> None:
    runner = FormulaRunner()
    free = iter([10**12, 10 * MIB])
    end = loop_with(tmp_path, runner, find_free_bytes=lambda _path: next(free, 10 * MIB)).run()
    assert len(runner.jobs) == 1
    assert end.state == "stopped"
    assert "10 MiB are free" in end.reason
    assert "--resume" in end.reason


def test_a_run_that_failed_on_a_full_disk_runs_again_when_the_sweep_is_resumed(tmp_path: Path) -> None:
    runner = FormulaRunner(lambda job: PointResult("failed", error="No space left on device"))
    free = iter([10**12])
    loop = loop_with(tmp_path, runner, find_free_bytes=lambda _path: next(free, 0))
    assert loop.run().state == "stopped"
    loop.folder.release()
    assert SweepFolder.open(tmp_path / "out").find_ended() == {}


def test_a_result_that_cannot_be_written_stops_the_sweep_and_is_said(tmp_path: Path) -> None:
    def fill_disk(job: PointJob) -> PointResult:
        os.symlink("/dev/full", tmp_path / "out" / "results.jsonl")
        return twice_the_delay(job)

    runner = FormulaRunner(fill_disk)
    end = loop_with(tmp_path, runner).run()
    assert (end.state, len(runner.jobs)) == ("stopped", 1)
    assert "the disk is full" in end.reason


def full_after(count: int, runner: FormulaRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk is full once so many runs have begun: no file of the sweep can be replaced."""
    write_bytes = SweepFolder.write_bytes

    def write(folder: SweepFolder, name: str, data: bytes) -> None:
        if len(runner.jobs) >= count:
            raise OSError(errno.ENOSPC, "No space left on device")
        write_bytes(folder, name, data)

    monkeypatch.setattr(SweepFolder, "write_bytes", write)


def test_a_disk_that_is_full_at_the_end_does_not_hide_the_verdict(
    tmp_path: Path, runner: FormulaRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    full_after(3, runner, monkeypatch)
    result = run(tmp_path)
    assert (len(runner.jobs), result.verdict, result.state) == (3, "pass", "done")


def test_a_sweep_that_is_resumed_on_a_full_disk_says_so(
    tmp_path: Path, runner: FormulaRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(tmp_path)
    shutil.rmtree(tmp_path / "out" / "points" / "p0003-r1")
    full_after(0, runner, monkeypatch)
    monkeypatch.setattr("stream2gym.sweeps.run_points.shutil.disk_usage", lambda _path: SimpleNamespace(free=0))
    result = run(tmp_path, resume=tmp_path / "out")
    assert (result.state, result.exit_code, len(runner.jobs)) == ("stopped", 3, 3)
    assert "the disk is nearly full" in result.stopped


def test_a_line_that_a_full_disk_does_not_let_close_stops_the_sweep_and_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fill(_folder: SweepFolder) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(SweepFolder, "end_partial_line", fill)
    runner = FormulaRunner()
    end = loop_with(tmp_path, runner).run()
    assert (end.state, runner.jobs) == ("stopped", [])
    assert "the disk is full" in end.reason


def test_logs_of_runs_that_did_not_go_through_are_kept_with_summaries_too(
    tmp_path: Path, runner: FormulaRunner
) -> None:
    def logging(job: PointJob) -> PointResult:
        (Path(job.folder) / "logs").mkdir()
        (Path(job.folder) / "logs" / "h1.broker.log").write_text("why", "utf-8")
        return fail_at("20 ms")(job)  # type: ignore[no-any-return]

    runner.formula = logging
    run(tmp_path, keep="summaries")
    points = tmp_path / "out" / "points"
    assert [path.parent.name for path in sorted(points.glob("*/logs"))] == ["p0002-r1"]
    assert not list(points.glob("*/data"))


def test_summaries_keep_what_a_report_needs_and_remove_the_rest(tmp_path: Path, runner: FormulaRunner) -> None:
    run(tmp_path, keep="summaries")
    point = tmp_path / "out" / "points" / "p0001-r1"
    assert (point / "run.json").is_file()
    assert not (point / "data").exists()
    assert all(job.keep == "summaries" for job in runner.jobs)


def test_a_machine_that_cannot_run_the_first_point_is_told_once(tmp_path: Path, runner: FormulaRunner) -> None:
    runner.formula = lambda job: PointResult("failed", error="no user namespaces", cannot_here=True)
    with pytest.raises(CannotHere, match="no user namespaces"):
        run(tmp_path)
    assert len(runner.jobs) == 1
    info = SweepFolder.open(tmp_path / "out").info
    assert (info["state"], info["stopped"]) == ("stopped", "no user namespaces")
    runner.formula = twice_the_delay
    assert run(tmp_path, resume=tmp_path / "out").exit_code == 0


def test_jobs_have_the_memory_of_the_largest_point(
    tmp_path: Path, runner: FormulaRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def limit(wanted: int, run_bytes: int, *_: int) -> JobLimits:
        asked.append(run_bytes)
        return JobLimits(1)

    monkeypatch.setattr("stream2gym.sweep_api.limit_jobs", limit)
    text = """
        sweep: 1
        experiment: hello
        axes: {listeners: {set: consumers.listener.copies, values: [1, 20, 2]}}
        responses: [lost]
    """
    runner.formula = lambda job: PointResult("done", "pass")
    run(tmp_path, text, jobs=2)
    assert asked == [RUN_BYTES + BROKER_BYTES + 21 * CLIENT_BYTES]


def test_several_at_once_all_run_and_share_the_time_that_is_left(tmp_path: Path) -> None:
    meeting = threading.Barrier(3, timeout=30)

    def meet(job: PointJob) -> PointResult:
        meeting.wait()
        return twice_the_delay(job)

    end = loop_with(tmp_path, FormulaRunner(meet), jobs=3).run()
    assert end.state == "done"
    lines = (tmp_path / "out" / "results.jsonl").read_text().splitlines()
    assert len([json.loads(line) for line in lines]) == 3


def test_jobs_are_limited_by_memory_and_cores_and_spoiled_timing_is_said() -> None:
    assert limit_jobs(1, 1000 * MIB, 100 * MIB, 2).warnings == ()
    few = limit_jobs(8, 1000 * MIB, 5000 * MIB, 64)
    assert few.jobs == 4
    assert "5,000 MiB of memory are free" in few.warnings[0]
    crowded = limit_jobs(4, 1000 * MIB, 10**12, 2)
    assert crowded.jobs == 2
    assert "this machine has 2 cores" in crowded.warnings[0]
    assert "spoiled" in crowded.warnings[1]
    assert limit_jobs(4, 1000 * MIB, 10**12, 8).warnings == ()


def test_the_time_that_is_left_is_the_mean_of_the_runs_so_far(tmp_path: Path) -> None:
    told: list[float | None] = []

    class Watcher(run_points.SilentSweepView):
        def ended(self, run: PlannedPointRun, result: PointResult, progress: SweepProgress) -> None:
            told.append(progress.left_s)

    ticks = iter(range(0, 1000, 10))
    loop_with(tmp_path, FormulaRunner(), view=Watcher(), clock=lambda: float(next(ticks))).run()
    assert told == [20.0, 10.0, 0.0]


def test_the_time_that_is_left_is_told_of_runs_that_are_done_once_more_too(tmp_path: Path) -> None:
    told: list[tuple[int, int, float | None]] = []

    class Watcher(run_points.SilentSweepView):
        def ended(self, run: PlannedPointRun, result: PointResult, progress: SweepProgress) -> None:
            told.append((progress.ended, progress.total, progress.left_s))

    ticks = iter(range(0, 1000, 10))
    broken = FormulaRunner(lambda job: PointResult("failed", error="no"))
    loop_with(tmp_path, broken, view=Watcher(), clock=lambda: float(next(ticks)), is_retrying=True).run()
    assert told[3:] == [(1, 3, 20.0), (2, 3, 10.0), (3, 3, 0.0)]


def test_the_time_that_is_left_is_told_in_words() -> None:
    assert [describe_left(seconds) for seconds in (None, 5, 200, 7300)] == ["", "5 s", "3 min 20 s", "2 h 1 min"]
