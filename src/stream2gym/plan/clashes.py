"""Faults that contradict each other: a component that is dead cannot be paused, a full disk cannot fill again.

Changes of links are no contradiction: they add up, and each is undone on its own. Only targets that the plan knows
can be looked at; a role is resolved when its fault fires, and what it cannot be done to then is an event.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import combinations
from math import inf

from stream2gym.errors import Mistake
from stream2gym.kinds.registry import registry
from stream2gym.kinds.targets import parse_target
from stream2gym.plan.model import PlannedComponent, PlannedFault, Window

_HOST_KINDS = ("cpu", "memory", "disk-full", "move", "host-off")


def find_clashes(faults: Sequence[PlannedFault], components: Sequence[PlannedComponent]) -> list[Mistake]:
    """One mistake for each pair of faults that meet on the same thing."""
    used = [(fault, set(_things(fault, components))) for fault in faults]
    mistakes = [
        Mistake(f"fault {fault.name}", "is in force to the end and starts again", "give it a 'for'")
        for fault in faults
        if len(fault.windows) > 1 and fault.windows[0].end_s is None and not _additive(fault)
    ]
    for (one, mine), (other, theirs) in combinations(used, 2):
        both = sorted(mine & theirs)
        meeting = _meeting(one, other) if both else None
        if meeting is not None:
            where = f"faults {one.name} and {other.name}"
            what = f"both have {both[0].partition(' ')[2]} at {meeting:g} s: {one.kind} and {other.kind}"
            mistakes.append(
                Mistake(where, what, "let one end before the other starts, or give them other targets")
            )
    return mistakes


def _additive(fault: PlannedFault) -> bool:
    kind = registry("fault").find(fault.kind)
    return kind is None or kind.momentary


def _things(fault: PlannedFault, components: Sequence[PlannedComponent]) -> Iterator[str]:
    """What a fault takes for itself, as ``process NAME`` or ``KIND of HOST``."""
    kind = registry("fault").find(fault.kind)
    for text in fault.on if kind is not None else ():
        target = parse_target(text)
        if target.form != "name":
            continue
        for part in components:
            named = part.name if kind is not None and kind.needs else part.host
            if fnmatchcase(named, target.text) and (kind is None or kind.needs or kind.name == "host-off"):
                yield f"process {part.name}"
        if kind is not None and kind.name in _HOST_KINDS:
            yield f"{kind.name} {target.text}"


def _meeting(one: PlannedFault, other: PlannedFault) -> float | None:
    """When the two are in force together for the first time."""
    for mine in one.windows:
        for theirs in other.windows:
            start = max(mine.start_s, theirs.start_s)
            if start < min(_end(mine), _end(theirs)) and not _brings_back(one, mine, other, theirs):
                return start
    return None


def _end(window: Window) -> float:
    """Something done at once still takes its moment."""
    return inf if window.end_s is None else max(window.end_s, window.start_s + 1e-9)


def _brings_back(one: PlannedFault, mine: Window, other: PlannedFault, theirs: Window) -> bool:
    """A restart of what was killed or stopped for good is how people bring it back."""
    first, second = sorted(((one, mine), (other, theirs)), key=lambda pair: pair[1].start_s)
    gone = first[0].kind in ("kill", "stop") and first[1].end_s is None
    return gone and second[0].kind == "restart"
