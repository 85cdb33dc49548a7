"""The Python door: ``run(experiment)`` gives a result with the verdict, the tables and where everything lies.

from stream2gym.api import run
result = run("experiment.yaml", time="10 s")
assert result.verdict == "pass", result.reasons
"""

from __future__ import annotations

import contextlib
import importlib
import shutil
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import yaml

from stream2gym.analysis.early import EarlySession
from stream2gym.analysis.session import check_master
from stream2gym.analysis.startcache import Rehearsal
from stream2gym.components.cluster import check_cluster
from stream2gym.components.programs import check_modules, check_programs
from stream2gym.errors import BadInput, CannotHere, Defect, Interrupted, Mistake, S2gError, StartFailed
from stream2gym.gym import Faults, Gym, Outcome, Script
from stream2gym.gymlife.faults import check_machine, start_faults
from stream2gym.gymlife.patience import Interrupts
from stream2gym.gymlife.versions import command, machine, versions
from stream2gym.gymlife.view import Silent, View
from stream2gym.judge.verdict import Verdict, save_verdict
from stream2gym.plan.make import make_plan
from stream2gym.record.folder import RunFolder
from stream2gym.software.kafka import is_fetched
from stream2gym.spec.checks import check_experiment
from stream2gym.spec.load import Loaded, find_experiment, load_experiment
from stream2gym.spec.model import Experiment
from stream2gym.spec.sparse import sparse_experiment

if TYPE_CHECKING:
    from stream2gym.analysis.tables import Analysis

T = TypeVar("T")
# What a run needs when its load is over: half a second of imports that nobody waits for before its brokers start.
AFTERWARDS = (
    "stream2gym.record.seal",
    "stream2gym.analysis.analyse",
    "stream2gym.judge.judge",
    "stream2gym.report.write",
)


@dataclass(frozen=True)
class Result:
    """One run, finished and judged."""

    folder: RunFolder
    state: str  # done, failed, interrupted
    judged: Verdict
    analysis: Analysis | None = None  # None: there was nothing to analyse
    error: S2gError | None = None
    report: Path | None = None

    @property
    def path(self) -> Path:
        return self.folder.path

    @property
    def verdict(self) -> str:
        """pass, fail or unknown."""
        return self.judged.outcome

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why it is not a pass."""
        wrong = [
            f"{one.text}: {one.shown or one.reason}"
            for one in self.judged.judgements
            if one.outcome != "pass"
        ]
        return (*self.judged.failures, *wrong, *self.judged.doubts)

    @property
    def exit_code(self) -> int:
        if self.state == "interrupted":
            return Interrupted.exit_code
        return self.error.exit_code if self.error is not None else self.judged.exit_code

    def table(self, name: str) -> Any:
        """A table of the record (sent, received, offsets, samples) as a pyarrow table."""
        from stream2gym.record.tables import read_table

        return read_table(self.folder.data, name)


def prepare(
    experiment: Experiment | str | Path,
    *,
    time: str | None = None,
    overrides: Mapping[str, str] | None = None,
    seed: int | None = None,
    tolerant: bool = False,
    only_spark: bool = False,
    capture_all: bool = False,
) -> tuple[Script, Loaded]:
    """Read, check and plan; BadInput with every mistake before anything starts."""
    changes = dict(overrides or {}) | ({"time": time} if time is not None else {})
    if isinstance(experiment, Experiment):
        if changes:
            experiment = Experiment.model_validate(experiment.model_dump(by_alias=True) | changes)
        base = Path.cwd()
        mistakes = check_experiment(experiment, base)
        if mistakes:
            raise BadInput(mistakes)
        loaded = Loaded(experiment, "yaml", base)
    else:
        path = find_experiment(str(experiment))
        loaded = load_experiment(path, tolerant=tolerant, overrides=changes, only_spark=only_spark)
    plan = make_plan(loaded.experiment, seed=seed)
    wrong = [Mistake("", part, "leave it out") for part in plan.not_runnable]
    wrong += check_cluster(loaded.experiment, plan)
    wrong += check_programs(loaded.experiment, loaded.base)
    if wrong:
        raise BadInput(wrong)
    check_modules(loaded.experiment, loaded.base)
    check_machine(plan)
    return Script(loaded.experiment, plan, loaded.base, capture_all), loaded


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

    ``master`` names the Spark cluster that analyses the record; it must see the run folder at the same path.
    """
    script, loaded = prepare(
        experiment,
        time=time,
        overrides=overrides,
        seed=seed,
        tolerant=tolerant,
        only_spark=only_spark,
        capture_all=capture_all,
    )
    where = None if out is None else Path(out)
    return perform(script, loaded, out=where, report=report, view=view, master=master)


def perform(
    script: Script,
    loaded: Loaded,
    *,
    out: Path | None = None,
    report: bool = True,
    view: View | None = None,
    faults: Faults | None = None,
    told: Callable[[Outcome, RunFolder], None] = lambda _outcome, _folder: None,
    master: str | None = None,
) -> Result:
    """Run what was prepared; ``told`` hears the outcome as soon as the record is safe, before it is judged."""
    check_master(master)
    shown = view or Silent()
    folder = new_folder(script, loaded, out)
    with contextlib.ExitStack() as undo:
        undo.callback(folder.release)
        note = "stopping; press Ctrl-C again to stop at once"
        interrupts = undo.enter_context(Interrupts(lambda: shown.note(note)))
        try:
            early = undo.enter_context(EarlySession(master))
            rehearsal = undo.enter_context(Rehearsal())
            if master is None and waits_for_downloads(script):
                rehearsal.start()
            gym = Gym(
                script,
                folder,
                shown,
                interrupts,
                faults=faults or start_faults,
                over=partial(look_ahead, early),
                fetched=rehearsal.wait,
            )
            outcome = gym.run()
            told(outcome, folder)
            result = conclude(folder, outcome, shown, script.experiment.expect, early, report=report)
            if interrupts.asked and result.state == "done":
                result = replace(result, state="interrupted")
            _end(folder, result.state, None if result.error is None else str(result.error))
            return result
        except BaseException as error:
            state = "interrupted" if isinstance(error, KeyboardInterrupt) else "failed"
            _end(folder, state, str(error) or type(error).__name__)
            raise


def waits_for_downloads(script: Script) -> bool:
    """Whether this is a first run: then the start-up cache of the analysis is made while its software comes."""
    brokers = any(broker.type == "kafka" for broker in script.experiment.brokers)
    return brokers and not is_fetched(script.experiment.kafka.version)


def look_ahead(early: EarlySession, rows: int) -> None:
    """The load is over: while the run stops, start what its end needs."""
    early.start(rows)
    threading.Thread(
        target=lambda: [importlib.import_module(name) for name in AFTERWARDS], name="s2g-imports", daemon=True
    ).start()


def new_folder(script: Script, loaded: Loaded, out: Path | None) -> RunFolder:
    """The run folder with what is known before the run: the input as given and as understood, the plan."""
    experiment = script.experiment
    folder = RunFolder.create(
        experiment.name,
        seed=script.plan.seed,
        out=out,
        door=loaded.door,
        versions=versions(),
        machine=machine(),
        command=command(),
    )
    understood = yaml.safe_dump(sparse_experiment(experiment), sort_keys=False, allow_unicode=True)
    folder.write_text("experiment.yaml", understood)  # every reader of YAML takes its quoted 'on' for a word
    folder.write_json("plan.json", script.plan.to_json())
    for file in loaded.files:
        shutil.copyfile(file, folder.input / file.name)
    for warning in (*map(str, loaded.warnings), *script.plan.warnings):
        folder.events.add("warning", what=warning)
    return folder


def conclude(
    folder: RunFolder,
    outcome: Outcome,
    view: View,
    expect: Sequence[str],
    early: EarlySession,
    *,
    report: bool,
) -> Result:
    """Analyse, judge and report what the record holds; what cannot be judged is unknown."""
    if isinstance(outcome.error, CannotHere):
        raise outcome.error
    analysis, judged = None, Verdict("unknown", doubts=("no load was driven: there is nothing to judge",))
    if folder.info["t0_ns"] is not None and folder.info["sealed"]:
        _phase(folder, view, "analysis")
        analysis, judged = aside(lambda: judge_folder(folder, expect, early))
    written = None
    with contextlib.suppress(OSError):
        save_verdict(folder, judged)
        if report and analysis is not None:
            from stream2gym.report.write import write_report

            _phase(folder, view, "report")
            folder.set_state(outcome.state)  # the report speaks of a run that is over
            written = write_report(folder.path, analysis)
    return Result(folder, outcome.state, judged, analysis, outcome.error, written)


def aside(work: Callable[[], T]) -> T:
    """Do it on another thread: PySpark takes Ctrl-C over wherever its session is made, and it is ours to answer."""
    done: list[T] = []
    thread = threading.Thread(target=lambda: done.append(work()), name="s2g-aside", daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(0.2)
    if not done:
        raise Defect("the analysis ended without an answer")
    return done[0]


def judge_folder(
    folder: RunFolder, expect: Sequence[str], early: EarlySession
) -> tuple[Analysis | None, Verdict]:
    """The analysis and the verdict; an analysis that breaks leaves its words in a log and makes it unknown."""
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
    """Analyse and judge the record of a run anew, here or on a Spark cluster; what it held before is replaced."""
    from stream2gym.analysis.analyse import analyse
    from stream2gym.judge.judge import judge

    check_master(master)
    expect = yaml.safe_load((folder.path / "experiment.yaml").read_text("utf-8")).get("expect", [])

    def work() -> Verdict | S2gError:
        try:
            with EarlySession(master) as early:
                return judge(expect, analyse(folder.path, session=early.session()), folder.read_events())
        except S2gError as error:
            return error
        except Exception as error:  # Spark's own words, in one message
            where = f"on {master}" if master else "here"
            return StartFailed(f"the analysis {where} failed: {type(error).__name__}: {error}")

    verdict = aside(work)
    if isinstance(verdict, S2gError):
        raise verdict
    save_verdict(folder, verdict)
    return verdict


def _phase(folder: RunFolder, view: View, name: str) -> None:
    with contextlib.suppress(OSError):
        folder.events.add("phase", phase=name)
        folder.set_phase(name)
    view.phase(name)


def _end(folder: RunFolder, state: str, error: str | None) -> None:
    """The last word in run.json; a full disk may refuse even that."""
    with contextlib.suppress(OSError):
        folder.set_state(state, error=error, ended=datetime.now().astimezone().isoformat(timespec="seconds"))
