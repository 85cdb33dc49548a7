"""The Python door: ``run(experiment)`` gives a result with the verdict, the tables and where everything lies.

from stream2gym.api import run
result = run("experiment.yaml", time="10 s")
assert result.verdict == "pass", result.reasons
"""

from __future__ import annotations

import shutil
import time as clock
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from stream2gym.components.cluster import check_cluster
from stream2gym.components.programs import check_programs
from stream2gym.errors import BadInput, CannotHere, Mistake, S2gError
from stream2gym.gym import Gym, Outcome, Script, versions
from stream2gym.gymlife.patience import Interrupts
from stream2gym.gymlife.view import Silent, View
from stream2gym.plan.make import make_plan
from stream2gym.record.folder import RunFolder
from stream2gym.spec.checks import check_experiment
from stream2gym.spec.load import Loaded, find_experiment, load_experiment
from stream2gym.spec.model import Experiment

EXIT_CODES = {"pass": 0, "fail": 1, "unknown": 3}


@dataclass(frozen=True)
class Result:
    """One run, finished and judged."""

    folder: RunFolder
    state: str  # done, failed, interrupted
    verdict: str  # pass, fail, unknown
    reasons: tuple[str, ...] = ()
    details: dict[str, Any] = field(default_factory=dict)  # verdict.json
    error: S2gError | None = None
    report: Path | None = None

    @property
    def path(self) -> Path:
        return self.folder.path

    @property
    def exit_code(self) -> int:
        if self.state == "interrupted":
            return 130
        return self.error.exit_code if self.error is not None else EXIT_CODES[self.verdict]

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
    wrong = [
        Mistake(part, "this version reads it but cannot run it yet", "leave it out")
        for part in plan.not_runnable
    ]
    wrong += check_cluster(loaded.experiment, plan)
    wrong += check_programs(loaded.experiment, loaded.base)
    if wrong:
        raise BadInput(wrong)
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
) -> Result:
    """Run an experiment (the model, a path, or the name of a bundled example) and judge it."""
    script, loaded = prepare(
        experiment,
        time=time,
        overrides=overrides,
        seed=seed,
        tolerant=tolerant,
        only_spark=only_spark,
        capture_all=capture_all,
    )
    return perform(script, loaded, out=None if out is None else Path(out), report=report, view=view)


def perform(
    script: Script,
    loaded: Loaded,
    *,
    out: Path | None = None,
    report: bool = True,
    view: View | None = None,
    told: Callable[[Outcome, RunFolder], None] = lambda _outcome, _folder: None,
) -> Result:
    """Run what was prepared; ``told`` hears the outcome as soon as the record is safe, before it is judged."""
    view = view or Silent()
    folder = new_folder(script, loaded, out)
    try:
        with Interrupts(lambda: view.note("stopping; press Ctrl-C again to stop at once")) as interrupts:
            try:
                outcome = Gym(script, folder, view, interrupts).run()
                if isinstance(outcome.error, CannotHere):
                    raise outcome.error
                told(outcome, folder)
                return conclude(folder, outcome, view, report=report)
            except KeyboardInterrupt:
                folder.set_state("interrupted", ended=clock.time())
                raise
            except S2gError as error:
                folder.set_state("failed", error=str(error))
                raise
    finally:
        folder.release()


def new_folder(script: Script, loaded: Loaded, out: Path | None) -> RunFolder:
    """The run folder with what is known before the run: the input as given and as understood, the plan."""
    experiment = script.experiment
    folder = RunFolder.create(
        experiment.name, seed=script.plan.seed, out=out, versions=versions(), door=loaded.door
    )
    understood = experiment.model_dump(by_alias=True, mode="json", exclude_defaults=True)
    text = yaml.safe_dump(
        {"s2g": 1, "name": experiment.name, **understood}, sort_keys=False, allow_unicode=True
    )
    folder.write_text("experiment.yaml", text)
    folder.write_json("plan.json", script.plan.to_json())
    for file in loaded.files:
        shutil.copyfile(file, folder.input / file.name)
    for warning in (*map(str, loaded.warnings), *script.plan.warnings):
        folder.events.add("warning", what=warning)
    return folder


def conclude(folder: RunFolder, outcome: Outcome, view: View, *, report: bool) -> Result:
    """Analyse, judge and report what the record holds."""
    state, error = outcome.state, outcome.error
    folder.set_state(state, error=None if error is None else str(error))
    return Result(folder, state, "unknown", error=error)
