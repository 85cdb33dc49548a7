"""Read, check and plan an experiment: one function for ``validate``, ``plan`` and ``run``.

All mistakes are reported together: those of the file, of the programs that it names, of the plan, and of a cluster
that could not form. What only this machine lacks is reported separately, because the experiment is sound.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from stream2gym.components.cluster import check_cluster
from stream2gym.components.cluster_formation import check_formation, warn_of_formation
from stream2gym.components.program_command import missing_modules_of
from stream2gym.components.rabbitmq_cluster import check_rabbitmq_cluster
from stream2gym.errors import BadInput, CannotHere, Mistake
from stream2gym.hosts.limits import missing_limits
from stream2gym.judge.undecidable import find_undecidable
from stream2gym.plan.make_plan import make_plan
from stream2gym.plan.planned import Plan
from stream2gym.software.flink_python import find_flink_python
from stream2gym.software.rabbitmq_software import find_rabbitmq
from stream2gym.spec.checks.flink_checks import FLINK_JOBS
from stream2gym.spec.loading import Loaded, check_model, load_experiment
from stream2gym.spec.model import Experiment
from stream2gym.spec.readers.bundled_examples import find_experiment


@dataclass(frozen=True)
class Prepared:
    """A sound experiment with its plan. ``obstacles`` are what this machine lacks to run it."""

    loaded: Loaded
    plan: Plan
    obstacles: tuple[CannotHere, ...] = ()
    # Warnings about expectations that no run can decide; they are among the warnings of the plan, too.
    undecidable: tuple[str, ...] = ()

    @property
    def experiment(self) -> Experiment:
        return self.loaded.experiment

    def check_machine(self) -> None:
        """Raise one error with everything that this machine lacks to run it."""
        if self.obstacles:
            what = "\n".join(obstacle.what for obstacle in self.obstacles)
            raise CannotHere(what, "; ".join(dict.fromkeys(obstacle.remedy for obstacle in self.obstacles)))

    def check_runnable(self) -> None:
        """Raise BadInput for parts of the experiment that this version can read but not run."""
        if self.plan.not_runnable:
            raise BadInput([Mistake("", part, "leave it out") for part in self.plan.not_runnable])


def prepare_experiment(
    experiment: Experiment | str | Path,
    *,
    overrides: Mapping[str, Any] | None = None,
    seed: int | None = None,
    tolerant: bool = False,
    only_spark: bool = False,
) -> Prepared:
    """Read, check and plan an experiment: a model, a path, or the name of a bundled example.

    BadInput has all mistakes.
    """
    planner = _Planner(seed)
    if isinstance(experiment, Experiment):
        base = Path.cwd()
        loaded = Loaded(check_model(experiment, overrides or {}, base, planner.find_mistakes), "yaml", base)
    else:
        loaded = load_experiment(
            find_experiment(str(experiment)),
            tolerant=tolerant,
            overrides=overrides,
            only_spark=only_spark,
            further=planner.find_mistakes,
        )
    plan = planner.plan
    assert plan is not None, "an experiment without mistakes has been planned"
    obstacles = (
        *missing_modules_of(loaded.experiment, loaded.base),
        *missing_limits(plan),
        *_find_missing_rabbitmq(loaded.experiment),
        *_find_missing_pyflink(loaded.experiment),
    )
    never = tuple(find_undecidable(loaded.experiment, plan))
    return Prepared(loaded, replace(plan, warnings=(*plan.warnings, *never)), obstacles, never)


def _find_missing_rabbitmq(experiment: Experiment) -> list[CannotHere]:
    """An error if the experiment needs RabbitMQ and this machine lacks it: no run fetches it by itself."""
    try:
        if experiment.uses_rabbitmq:
            find_rabbitmq()
    except CannotHere as error:
        return [error]
    return []


def _find_missing_pyflink(experiment: Experiment) -> list[CannotHere]:
    """An error if a Flink program is in Python and there is no PyFlink: no run installs it by itself."""
    wanting = [
        f"engine {engine.name} ({engine.app})"
        for engine in experiment.engines
        if engine.type.lower() in FLINK_JOBS
        and str(engine.app).lower().endswith(".py")
        and engine.settings.get("python") is None
    ]
    try:
        if wanting:
            find_flink_python()
    except CannotHere as error:
        return [CannotHere(f"{', '.join(wanting)}: {error.what}", error.remedy)]
    return []


@dataclass
class _Planner:
    """Makes the plan while the experiment is checked, so that the mistakes of both are reported together."""

    seed: int | None
    plan: Plan | None = field(default=None)

    def find_mistakes(self, experiment: Experiment) -> list[Mistake]:
        """Make the plan. Returns the mistakes of the plan and of its cluster."""
        try:
            plan = make_plan(experiment, seed=self.seed)
        except BadInput as error:
            return list(error.mistakes)
        mistakes = check_cluster(experiment, plan) + check_formation(experiment, plan)
        mistakes += check_rabbitmq_cluster(experiment, plan)
        if not mistakes:
            self.plan = replace(plan, warnings=(*plan.warnings, *warn_of_formation(experiment, plan)))
        return mistakes
