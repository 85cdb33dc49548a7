"""Plans when faults happen: windows in seconds from t0, from the experiment and a seed. Pure.

``at`` (a time or a share of the load), ``within`` (a random time), ``every`` ... ``until`` (repetitions), ``jitter``
(random for each start) and ``after: fault`` become windows. A fault that waits for something that only the run knows
keeps its condition as a trigger: ``when``, ``after: 1000 messages``, and ``after`` a fault whose end the plan does
not know.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random

from stream2gym.errors import Mistake
from stream2gym.kinds.conditions import normalize_condition
from stream2gym.kinds.registry import Kind, registry
from stream2gym.plan.fault_clashes import find_clashes
from stream2gym.plan.planned import PlannedComponent, PlannedFault, Window
from stream2gym.spec.model import Experiment, Fault
from stream2gym.units import Share

_MESSAGES = re.compile(r"\d+ messages?")
_MOST = 10_000  # the most windows of one fault


@dataclass(frozen=True)
class _Load:
    """The duration of the load, and the seed of everything that is random."""

    time_s: float
    seed: int


def make_schedule(
    experiment: Experiment, components: Sequence[PlannedComponent], seed: int
) -> tuple[tuple[PlannedFault, ...], list[Mistake], list[str]]:
    """Every fault with its windows or its trigger, the mistakes, and warnings."""
    load = _Load(float(experiment.time), seed)
    said = {str(fault.name): fault for fault in experiment.faults}
    mistakes: list[Mistake] = []
    planned: dict[str, PlannedFault] = {}
    notes: list[str] = []
    for name in _in_order(said, mistakes):
        fault = _plan(said[name], planned, load, mistakes, notes)
        if fault is not None:
            planned[name] = fault
    faults = tuple(planned[name] for name in said if name in planned)
    mistakes += find_clashes(faults, components)
    return faults, mistakes, notes


def plan_without_times(fault: Fault, kind: Kind) -> PlannedFault:
    """The fault as a plan holds it, without the times at which it happens."""
    return PlannedFault(
        str(fault.name),
        kind.name,
        tuple(fault.on),
        dict(fault.settings),
        for_s=None if fault.for_ is None else float(fault.for_),
        checked_settings=fault.checked_settings,
    )


def predecessors(fault: Fault) -> list[str]:
    """The names of the faults that must end before this one."""
    return [
        text.removeprefix("fault ").strip() for text in fault.after or () if not _MESSAGES.fullmatch(text.strip())
    ]


def _in_order(said: dict[str, Fault], mistakes: list[Mistake]) -> Iterator[str]:
    """The names of the faults, each after those that it waits for. Circles are mistakes."""
    done: set[str] = set()
    left = list(said)
    while left:
        ready = [name for name in left if done.issuperset(predecessors(said[name]))]
        if not ready:
            for name in left:
                lacking = next(before for before in predecessors(said[name]) if before not in done)
                mistakes.append(Mistake(f"fault {name}", f"waits for fault {lacking}, which never starts"))
            return
        yield from ready
        done.update(ready)
        left = [name for name in left if name not in done]


def _plan(
    fault: Fault,
    planned: dict[str, PlannedFault],
    load: _Load,
    mistakes: list[Mistake],
    notes: list[str],
) -> PlannedFault | None:
    """The fault with its windows or its trigger; None if there is a mistake or the kind is unknown."""
    name, where = str(fault.name), f"fault {fault.name}"
    kind = registry("fault").find(fault.do)
    if kind is None:
        return None  # ``Plan.not_runnable`` names it
    if kind.momentary and fault.for_ is not None:
        mistakes.append(Mistake(where, f"{kind.name} ends by itself and takes no 'for'", "leave 'for' out"))
        return None
    trigger = _trigger(fault, planned)
    if trigger:
        if fault.every is not None:
            mistakes.append(Mistake(where, "a fault that waits for a condition happens once", "leave 'every' out"))
        return replace(plan_without_times(fault, kind), trigger=trigger, delay_s=float(fault.delay or 0.0))
    first = _first(fault, planned, load)
    if isinstance(first, str):
        mistakes.append(Mistake(where, first))
        return None
    first += float(fault.delay or 0.0)
    windows = _windows(fault, kind, first, load)
    if not windows:
        mistakes.append(
            Mistake(
                where,
                f"starts at {first:g} s, when the load of {load.time_s:g} s is over",
                "start it earlier, or give the load more time",
            )
        )
        return None
    late = [w for w in windows if w.end_s is not None and w.end_s > load.time_s]
    if late and not kind.momentary:
        notes.append(
            f"{name} would end at {late[0].end_s:g} s, after the load; it is undone when the load ends, "
            f"at {load.time_s:g} s"
        )
        windows = [Window(w.start_s, None if w.end_s is None else min(w.end_s, load.time_s)) for w in windows]
    return replace(plan_without_times(fault, kind), windows=tuple(windows))


def _trigger(fault: Fault, planned: dict[str, PlannedFault]) -> str:
    """The condition that the fault waits for in the run; empty if the plan knows when it starts."""
    if fault.when is not None:
        return normalize_condition(fault.when)
    before = predecessors(fault)
    if fault.after and not before:
        return normalize_condition(fault.after[0])
    if any(name in planned and _open_end(planned[name]) for name in before):
        return f"fault {', '.join(before)}"
    return ""


def _open_end(fault: PlannedFault) -> bool:
    """Whether only the run knows when the fault ends: it waits for a condition, or it ends by itself."""
    kind = registry("fault").find(fault.kind)
    return bool(fault.trigger) or (kind is not None and kind.momentary)


def _first(fault: Fault, planned: dict[str, PlannedFault], load: _Load) -> float | str:
    """When the fault starts for the first time, or a text that says why this is unknown."""
    if fault.within is not None:
        low, high = float(fault.within[0]), min(float(fault.within[1]), load.time_s)
        return Random(f"{load.seed}/{fault.name}/within").uniform(low, high) if low < high else low
    if isinstance(fault.at, Share):
        return float(fault.at) * load.time_s
    if fault.at is not None:
        return float(fault.at)
    ends: list[float] = []
    for name in predecessors(fault):
        if name not in planned:
            return f"comes after fault {name}, which never starts"
        end = planned[name].windows[0].end_s
        if end is None:
            return f"comes after fault {name}, which never ends: give that one a 'for'"
        ends.append(end)
    return max(ends, default="does not say when it starts")


def _windows(fault: Fault, kind: Kind, first: float, load: _Load) -> list[Window]:
    """The windows of the fault that start before the load is over."""
    until = min(load.time_s, float(fault.until)) if fault.until is not None else load.time_s
    every = float(fault.every) if fault.every else None
    rng = Random(f"{load.seed}/{fault.name}/jitter")
    jitter = float(fault.jitter or 0.0)
    lasts = float(fault.for_) if fault.for_ is not None else _own_duration(fault, kind)
    windows: list[Window] = []
    number = 0
    while (nominal := first + number * (every or 0.0)) < until and number < _MOST:
        start = max(0.0, nominal + (rng.uniform(-jitter, jitter) if jitter else 0.0))
        if windows and windows[-1].end_s is not None:
            start = max(start, windows[-1].end_s)
        if start < load.time_s:
            windows.append(Window(start, None if lasts is None else start + lasts))
        number += 1
        if every is None:
            break
    return windows


def _own_duration(fault: Fault, kind: Kind) -> float | None:
    """The duration of a fault that ends by itself; None for other faults."""
    if not kind.momentary:
        return None
    return float(fault.checked_settings.down) if kind.name == "restart" else 0.0
