"""Where components go that join or move while a run goes on. Pure.

Everything that runs stays where it is, and the constraints of the experiment hold for all of it together. What was
stopped counts no longer.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from fnmatch import fnmatchcase

from stream2gym.plan.make_plan import make_plan
from stream2gym.plan.planned import Plan
from stream2gym.spec.model import Experiment
from stream2gym.spec.model.experiment import GROUPS, Constraint

_KINDS = ("colocate", "exlocate", "isolate")


def place_in_run(experiment: Experiment, where: Mapping[str, str], gone: Collection[str], *, seed: int) -> Plan:
    """The plan of the experiment with every component of ``where`` on its host there, and without those in ``gone``.

    A component that is in neither goes where it says, or where the policy puts it. BadInput names the constraints
    that contradict.
    """
    parts = {
        group: [
            part.model_copy(update={"on": where.get(str(part.name), part.on)})
            for part in getattr(experiment, group)
            if str(part.name) not in gone
        ]
        for group in GROUPS
    }
    names = [str(part.name) for several in parts.values() for part in several]
    kept = [found for one in experiment.placement.constraints if (found := _without_gone(one, names)) is not None]
    placement = experiment.placement.model_copy(update={"constraints": kept})
    return make_plan(experiment.model_copy(update={**parts, "placement": placement, "faults": []}), seed=seed)


def _without_gone(constraint: Constraint, names: Collection[str]) -> Constraint | None:
    """The constraint without the patterns that match nothing any more; None if none is left."""
    for kind in _KINDS:
        patterns = getattr(constraint, kind)
        if patterns is not None:
            kept = [pattern for pattern in patterns if any(fnmatchcase(name, pattern) for name in names)]
            return constraint.model_copy(update={kind: kept}) if kept else None
    return None
