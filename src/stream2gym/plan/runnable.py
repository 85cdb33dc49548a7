"""Which parts of the vocabulary this version can run; the rest is parsed, checked and named in the plan."""

from __future__ import annotations

from collections.abc import Iterable

from stream2gym.plan.cast import Member
from stream2gym.spec.model import Experiment

# Kind of component to its types that run; a kind that is missing runs with none.
RUNS: dict[str, frozenset[str]] = {}
FAULTS_RUN = False


def not_runnable(experiment: Experiment, cast: Iterable[Member]) -> tuple[str, ...]:
    """The names of what this version cannot run yet, with their kinds."""
    parts = [
        f"{member.kind} {member.name} ({member.type})"
        for member in cast
        if member.type not in RUNS.get(member.kind, frozenset())
    ]
    if not FAULTS_RUN:
        parts += [f"fault {fault.name or fault.do}" for fault in experiment.faults]
    return tuple(parts)
