"""Finds faults that contradict each other: a dead component cannot be paused, a full disk cannot be filled again.

Faults of links never contradict, because their changes add up and each is undone on its own. Only targets that the
plan knows are compared. Roles are resolved when the fault is due; a fault that is impossible then fails in the run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import combinations
from math import inf

from stream2gym.errors import Mistake
from stream2gym.kinds.registry import registry
from stream2gym.kinds.targets import parse_target
from stream2gym.plan.planned import PlannedComponent, PlannedFault, Window


def find_clashes(faults: Sequence[PlannedFault], components: Sequence[PlannedComponent]) -> list[Mistake]:
    """One mistake for each pair of faults that need the same thing at the same time."""
    used = [(fault, set(_things(fault, components))) for fault in faults]
    mistakes = [
        Mistake(f"fault {fault.name}", "repeats, but each occurrence lasts to the end", "give it a 'for'")
        for fault in faults
        if len(fault.windows) > 1 and fault.windows[0].end_s is None and not _may_repeat(fault)
    ]
    for (one, mine), (other, theirs) in combinations(used, 2):
        both = sorted(mine & theirs)
        meeting = _first_overlap(one, other) if both else None
        if meeting is not None:
            where = f"faults {one.name} and {other.name}"
            what = f"both act on {both[0].partition(' ')[2]} at {meeting:g} s: {one.kind} and {other.kind}"
            mistakes.append(Mistake(where, what, "let one end before the other starts, or give them other targets"))
    return mistakes


def _may_repeat(fault: PlannedFault) -> bool:
    """Whether the fault can start again without an end in between: it ends by itself, or its kind is unknown."""
    kind = registry("fault").find(fault.kind)
    return kind is None or kind.momentary


def _things(fault: PlannedFault, components: Sequence[PlannedComponent]) -> Iterator[str]:
    """What the fault needs for itself alone, as ``process NAME`` or ``KIND HOST``."""
    kind = registry("fault").find(fault.kind)
    if kind is None:
        return
    for target in map(parse_target, fault.on):
        if target.form != "name":
            continue
        for part in components if kind.needs or kind.processes else ():
            if fnmatchcase(part.name if kind.needs else part.host, target.text):
                yield f"process {part.name}"
        if kind.exclusive:
            yield f"{kind.name} {target.text}"


def _first_overlap(one: PlannedFault, other: PlannedFault) -> float | None:
    """When both faults are in force for the first time; None if they never are."""
    for mine in one.windows:
        for theirs in other.windows:
            start = max(mine.start_s, theirs.start_s)
            if start < min(_end(mine), _end(theirs)) and not _brings_back(one, mine, other, theirs):
                return start
    return None


def _end(window: Window) -> float:
    """The end of a window. A fault that is done at once counts as a very short one."""
    return inf if window.end_s is None else max(window.end_s, window.start_s + 1e-9)


def _brings_back(one: PlannedFault, mine: Window, other: PlannedFault, theirs: Window) -> bool:
    """Whether the later fault restarts what the earlier one killed or stopped for good. That is no clash."""
    first, second = sorted(((one, mine), (other, theirs)), key=lambda pair: pair[1].start_s)
    ending, starting = registry("fault").find(first[0].kind), registry("fault").find(second[0].kind)
    if ending is None or starting is None or first[1].end_s is not None:
        return False
    return bool(ending.needs) and ending.processes == "end" and starting.processes == "start"
