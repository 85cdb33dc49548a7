"""The Python API: ``run(experiment)`` returns a result with the verdict, the tables and the paths of a run.

from stream2gym.api import run
result = run("experiment.yaml", time="10 s")
assert result.verdict == "pass", result.reasons
"""

from __future__ import annotations

import contextlib
import importlib
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property, partial
from pathlib import Path
from time import monotonic, monotonic_ns
from typing import TYPE_CHECKING, Any, TypeVar

import yaml

from stream2gym.analysis.background_session import BackgroundSession
from stream2gym.analysis.rehearsal import Rehearsal
from stream2gym.analysis.session import check_master
from stream2gym.components.cluster import name_nodes
from stream2gym.errors import BadInput, CannotHere, Defect, Mistake, S2gError, StartFailed
from stream2gym.execution.new_folder import new_folder
from stream2gym.execution.phases import execute_run
from stream2gym.execution.run_control import Outcome, PlannedRun
from stream2gym.execution.view import SilentView, View
from stream2gym.interrupts import Interrupts
from stream2gym.judge.judged_result import JudgedResult
from stream2gym.judge.verdict import Verdict, save_verdict
from stream2gym.notebook_view import find_view
from stream2gym.prepare import prepare_experiment
from stream2gym.record.folder import RunFolder
from stream2gym.software.kafka_software import is_fetched
from stream2gym.spec.loading import Loaded
from stream2gym.spec.model import Experiment

if TYPE_CHECKING:
    from stream2gym.analysis.result_tables import Analysis
    from stream2gym.findings.finding import Finding
    from stream2gym.recorded_run import RecordedRun, ShownFigure

T = TypeVar("T")
# What an analysis may take once the run was asked to end.
ANALYSIS_AFTER_INTERRUPT_S = 120.0
LATE_ANALYSIS = f"the analysis took longer than {ANALYSIS_AFTER_INTERRUPT_S:g} s after the interrupt"
# Modules that a run needs when its load is over. The half second that they take is not spent at its start.
IMPORTED_AFTER_LOAD = (
    "stream2gym.record.seal",
    "stream2gym.analysis.analyse",
    "stream2gym.judge.judge",
    "stream2gym.report.write",
)


@dataclass(frozen=True)
class Result(JudgedResult):
    """One run, finished and judged."""

    folder: RunFolder
    # done, failed or interrupted
    state: str
    judged: Verdict
    # None if there was nothing to analyse.
    analysis: Analysis | None = None
    error: S2gError | None = None
    report: Path | None = None

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the verdict is not a pass: failures, expectations that did not pass, doubts."""
        wrong = [f"{one.text}: {one.shown or one.reason}" for one in self.judged.judgements if one.outcome != "pass"]
        return (*self.judged.failures, *wrong, *self.judged.doubts)

    @cached_property
    def findings(self) -> tuple[str, ...]:
        """What the run showed, in a few sentences."""
        return tuple(finding.text for finding in self.tell())

    def tell(self) -> tuple[Finding, ...]:
        """The findings with what each number rests on."""
        from stream2gym.findings.producer_acks import read_acks
        from stream2gym.findings.tell_findings import tell_findings

        events: list[dict[str, Any]] = []
        with contextlib.suppress(OSError, BadInput):  # a disk that is full must not hide the verdict
            events = self.folder.read_events()
        return tell_findings(self.analysis, self.judged, events, read_acks(self.path))

    @property
    def exit_code(self) -> int:
        if self.error is not None and self.state != "interrupted":
            return self.error.exit_code
        return super().exit_code

    def table(self, name: str) -> Any:
        """A table of the record (sent, received, offsets, samples) as a pyarrow table."""
        from stream2gym.record.schemas import read_table

        return read_table(self.folder.data, name)

    def load(self) -> RecordedRun:
        """The record of the run, with its tables as Arrow, pandas and Spark, and its figures."""
        from stream2gym.recorded_run import RecordedRun

        return RecordedRun(self.folder)

    def figure(self, name: str) -> ShownFigure:
        """A figure of the report by its name, which a notebook shows."""
        return self.load().figure(name)

    def __repr__(self) -> str:
        return f"<result {self.path.name}: {self.judged.outcome}>"

    def _repr_html_(self) -> str:
        """The verdict, the findings and the expectations, as a notebook shows them."""
        return self.load()._repr_html_()


def prepare(
    experiment: Experiment | str | Path,
    *,
    time: str | None = None,
    overrides: Mapping[str, Any] | None = None,
    seed: int | None = None,
    tolerant: bool = False,
    only_spark: bool = False,
    capture_all: bool = False,
    began_ns: int | None = None,
) -> tuple[PlannedRun, Loaded]:
    """Read, check and plan an experiment. BadInput names every mistake before anything starts.

    ``began_ns`` is when the command began that asks for the run; without it, that is now. Returns the planned run,
    for ``perform``, and the experiment as it was loaded.
    """
    began_ns = monotonic_ns() if began_ns is None else began_ns
    changes = dict(overrides or {}) | ({"time": time} if time is not None else {})
    prepared = prepare_experiment(experiment, overrides=changes, seed=seed, tolerant=tolerant, only_spark=only_spark)
    prepared.check_runnable()
    prepared.check_machine()
    loaded = prepared.loaded
    return PlannedRun(loaded.experiment, prepared.plan, loaded.base, began_ns, capture_all), loaded


def run(
    experiment: Experiment | str | Path,
    *,
    time: str | None = None,
    overrides: Mapping[str, str] | None = None,
    seed: int | None = None,
    out: str | Path | None = None,
    report: bool = True,
    tolerant: bool = False,
    only_spark: bool = False,
    capture_all: bool = False,
    view: View | None = None,
    master: str | None = None,
) -> Result:
    """Run an experiment (the model, a path, or the name of a bundled example) and judge it.

    ``master`` names the Spark cluster that analyses the record; it must see the run folder at the same path. Without
    a ``view`` the run is silent, but for a notebook, whose cell shows how far it is.
    """
    planned, loaded = prepare(
        experiment,
        time=time,
        overrides=overrides,
        seed=seed,
        tolerant=tolerant,
        only_spark=only_spark,
        capture_all=capture_all,
    )
    where = None if out is None else Path(out)
    shown = view or find_view(planned.plan.load_s, name_nodes(planned.plan.components))
    return perform(planned, loaded, out=where, report=report, view=shown, master=master)


def perform(
    planned: PlannedRun,
    loaded: Loaded,
    *,
    out: Path | None = None,
    report: bool = True,
    view: View | None = None,
    when_recorded: Callable[[Outcome, RunFolder], None] = lambda _outcome, _folder: None,
    master: str | None = None,
    interrupts: Interrupts | None = None,
    session: BackgroundSession | None = None,
    beside: Callable[[RunFolder], AbstractContextManager[None]] = lambda _folder: contextlib.nullcontext(),
) -> Result:
    """Run what was prepared, judge it, and write its report.

    ``when_recorded`` is called with the outcome as soon as the record is safe, before it is judged. ``interrupts``
    are those of the process, if the caller listens to them already. ``session`` analyses the record and stays open,
    so that it can analyse further runs. ``beside`` is entered when the folder is made, and left when the run has its
    final state.
    """
    check_master(master)
    shown = view or SilentView()
    folder = new_folder(planned, loaded, out)
    with contextlib.ExitStack() as undo:
        undo.callback(folder.release)
        note = "stopping; press Ctrl-C again to stop at once"
        if interrupts is None:
            interrupts = undo.enter_context(Interrupts())
        save_state = partial(_save_final_state, folder, "interrupted", "stopped at once by a second signal")
        undo.enter_context(beside(folder))
        try:
            undo.enter_context(interrupts.orderly(lambda: shown.note(note), save_state))
            early = session or undo.enter_context(BackgroundSession(master))
            rehearsal = undo.enter_context(Rehearsal())
            if master is None and waits_for_downloads(planned):
                rehearsal.start()
            outcome = execute_run(
                planned,
                folder,
                shown,
                interrupts,
                when_fetched=rehearsal.wait,
                when_load_ended=partial(prepare_analysis, early),
            )
            when_recorded(outcome, folder)
            result = judge_run(
                folder, outcome, shown, planned.experiment.expect, early, report=report, interrupts=interrupts
            )
            if interrupts.asked and result.state == "done":
                result = _interrupted(result)
            _save_final_state(folder, result.state, None if result.error is None else str(result.error))
            return result
        except BaseException as error:
            state = "interrupted" if isinstance(error, KeyboardInterrupt) else "failed"
            _save_final_state(folder, state, str(error) or type(error).__name__)
            raise


def waits_for_downloads(planned: PlannedRun) -> bool:
    """Whether Kafka has to be fetched first: then the start-up cache of the analysis is made meanwhile."""
    brokers = any(broker.type == "kafka" for broker in planned.experiment.brokers)
    return brokers and not is_fetched(planned.experiment.kafka.version)


def prepare_analysis(early: BackgroundSession, rows: int) -> None:
    """Start the Spark session for so many rows and import what judges the run, while the run stops."""
    early.start(rows)
    threading.Thread(
        target=lambda: [importlib.import_module(name) for name in IMPORTED_AFTER_LOAD],
        name="s2g-imports",
        daemon=True,
    ).start()


def judge_run(
    folder: RunFolder,
    outcome: Outcome,
    view: View,
    expect: Sequence[str],
    early: BackgroundSession,
    *,
    report: bool,
    interrupts: Interrupts,
) -> Result:
    """Analyse the record, judge it and write the report. What cannot be judged is unknown."""
    if isinstance(outcome.error, CannotHere):
        raise outcome.error
    analysis, judged = None, Verdict("unknown", doubts=("no load was driven: there is nothing to judge",))
    if outcome.state == "interrupted":
        judged = judged.with_doubt("interrupted before the load")
    if folder.info["t0_ns"] is not None and folder.info["sealed"]:
        _phase(folder, view, "analysis")
        judged_in_time = run_on_thread(lambda: judge_folder(folder, expect, early), interrupts)
        analysis, judged = judged_in_time or (None, Verdict("unknown", doubts=(LATE_ANALYSIS,)))
    written = None
    with contextlib.suppress(OSError):
        save_verdict(folder, judged)
        if report and analysis is not None:
            from stream2gym.report.write import write_report

            _phase(folder, view, "report")
            # The report describes a run that is over.
            folder.set_state(outcome.state)
            written = write_report(folder.path, analysis)
    return Result(folder, outcome.state, judged, analysis, outcome.error, written)


def run_on_thread(work: Callable[[], T], interrupts: Interrupts | None = None) -> T | None:
    """Do the work on another thread and return its result.

    PySpark handles Ctrl-C itself if its session is made on the main thread, but we handle it. The result is None when
    the work has not ended ``ANALYSIS_AFTER_INTERRUPT_S`` after the process was asked to end.
    """
    done: list[T] = []
    thread = threading.Thread(target=lambda: done.append(work()), name="s2g-analysis", daemon=True)
    began = monotonic()
    thread.start()
    while thread.is_alive():
        thread.join(0.2)
        asked_at = None if interrupts is None else interrupts.asked_at
        if asked_at is not None and monotonic() > max(asked_at, began) + ANALYSIS_AFTER_INTERRUPT_S:
            return None
    if not done:
        raise Defect("the analysis ended without an answer")
    return done[0]


def judge_folder(
    folder: RunFolder, expect: Sequence[str], early: BackgroundSession
) -> tuple[Analysis | None, Verdict]:
    """The analysis and the verdict. If the analysis fails, its traceback is in a log and the verdict is unknown."""
    from stream2gym.analysis.analyse import analyse
    from stream2gym.judge.judge import judge

    try:
        analysis = analyse(folder.path, session=early.session())
        return analysis, judge(expect, analysis, folder.read_events())
    except Exception as error:
        with contextlib.suppress(OSError):
            (folder.logs / "analysis.log").write_text(traceback.format_exc(), "utf-8")
        return None, Verdict("unknown", doubts=(f"the analysis failed: {type(error).__name__}: {error}",))


def analyse_again(folder: RunFolder, master: str | None = None) -> Verdict:
    """Analyse and judge the record of a run again, here or on a Spark cluster, and replace its verdict.

    The record of a run that was killed is sealed first.
    """
    from stream2gym.analysis.analyse import analyse
    from stream2gym.execution.recover import recover
    from stream2gym.judge.judge import judge

    check_master(master)
    recover(folder)
    if folder.info["t0_ns"] is None:
        what = f"the run ended before its load began (phase {folder.info['phase']!r})"
        raise BadInput(Mistake(str(folder.path), what, "there is nothing to judge; its logs say why"))
    expect = yaml.safe_load((folder.path / "experiment.yaml").read_text("utf-8")).get("expect", [])

    def work() -> Verdict | S2gError:
        try:
            with BackgroundSession(master) as early:
                return judge(expect, analyse(folder.path, session=early.session()), folder.read_events())
        except S2gError as error:
            return error
        except Exception as error:  # Spark's own words, in one message
            where = f"on {master}" if master else "here"
            return StartFailed(f"the analysis {where} failed: {type(error).__name__}: {error}")

    verdict = run_on_thread(work)
    if verdict is None or isinstance(verdict, S2gError):
        raise verdict or Defect("the analysis ended without an answer")
    save_verdict(folder, verdict)
    return verdict


def _interrupted(result: Result) -> Result:
    """The result of a run that was interrupted after its record was complete: it is judged, but never a pass."""
    from stream2gym.judge.judge import describe_interruption
    from stream2gym.report.write import write_report

    folder, during = result.folder, "analysis"
    judged = result.judged.with_doubt(describe_interruption({"during": during}))
    with contextlib.suppress(OSError):
        folder.events.add("interrupted", reason="stopped by the user", during=during)
        save_verdict(folder, judged)
        if result.report is not None and result.analysis is not None:
            folder.set_state("interrupted")
            write_report(folder.path, result.analysis, judged)
    return replace(result, state="interrupted", judged=judged)


def _phase(folder: RunFolder, view: View, name: str) -> None:
    with contextlib.suppress(OSError):
        folder.events.add("phase", phase=name)
        folder.set_phase(name)
    view.phase(name)


def _save_final_state(folder: RunFolder, state: str, error: str | None) -> None:
    """Write the final state into run.json, if the disk has room for it."""
    with contextlib.suppress(OSError):
        folder.set_state(state, error=error, ended=datetime.now().astimezone().isoformat(timespec="seconds"))
