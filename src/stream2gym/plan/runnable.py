"""Which parts of an experiment this version cannot run; they are parsed, checked and named in the plan.

What runs is declared in ``kinds``: a table for the built-in vocabulary, and each kind of fault, engine or
store for itself.
"""

from __future__ import annotations

from collections.abc import Iterable

from stream2gym.kinds.registry import Family, registry
from stream2gym.kinds.running import PARTS
from stream2gym.plan.cast import Member
from stream2gym.spec.model import Experiment


def not_runnable(experiment: Experiment, cast: Iterable[Member]) -> tuple[str, ...]:
    """The names of what this version only reads, with their kinds."""
    parts = [f"{member.kind} {member.name} ({member.type})" for member in cast if not _runs(member)]
    parts += [
        f"fault {fault.name} ({fault.do})" for fault in experiment.faults if not _kind_runs("fault", fault.do)
    ]
    return tuple(parts)


def _runs(member: Member) -> bool:
    if member.kind == "broker":
        return PARTS.get(f"{member.type} broker", False)
    if member.kind == "engine":
        return _kind_runs("engine", member.type)
    if member.kind == "store":
        return _kind_runs("store", member.type)
    return PARTS.get(member.kind, False)


def _kind_runs(family: Family, name: str) -> bool:
    kind = registry(family).find(name)
    return kind is not None and kind.runnable
