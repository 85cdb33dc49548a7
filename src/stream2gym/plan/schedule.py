"""When faults happen: from what the experiment says and a seed to windows in seconds from t0. Pure.

``at`` (a time or a share of the load), ``within`` (drawn), ``every`` ... ``until`` (again and again), ``jitter``
(drawn for each start) and ``after: fault`` become windows. What waits for something that only the run can see
(``when``, ``after: 1000 messages``, ``after`` a fault that itself waits or takes as long as it takes) keeps its
condition as a trigger.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from stream2gym.errors import Mistake
from stream2gym.kinds.faults import RestartFault
from stream2gym.kinds.registry import Kind, registry
from stream2gym.plan.clashes import find_clashes
from stream2gym.plan.model import PlannedComponent, PlannedFault, Window
from stream2gym.spec.model import Experiment
from stream2gym.spec.model import Fault as SaidFault
from stream2gym.units import Share

_MESSAGES = re.compile(r"\d+ messages?")
_MOST = 10_000  # windows of one fault


@dataclass(frozen=True)
class _Scene:
    time_s: float
    seed: int


def make_schedule(
    experiment: Experiment, components: Sequence[PlannedComponent], seed: int
) -> tuple[tuple[PlannedFault, ...], list[Mistake], list[str]]:
    """Every fault with its windows or its trigger; what contradicts, and what is probably not meant."""
    scene = _Scene(float(experiment.time), seed)
    said = {str(fault.name): fault for fault in experiment.faults}
    mistakes: list[Mistake] = []
    planned: dict[str, PlannedFault] = {}
    notes: list[str] = []
    for name in _in_order(said, mistakes):
        fault = _plan(said[name], planned, scene, mistakes, notes)
        if fault is not None:
            planned[name] = fault
    faults = tuple(planned[name] for name in said if name in planned)
    mistakes += find_clashes(faults, components)
    return faults, mistakes, notes


def predecessors(fault: SaidFault) -> list[str]:
    """The faults that this one comes after."""
    return [
        text.removeprefix("fault ").strip()
        for text in fault.after or ()
        if not _MESSAGES.fullmatch(text.strip())
    ]


def _in_order(said: dict[str, SaidFault], mistakes: list[Mistake]) -> Iterator[str]:
    """Faults so that each comes after the one that it waits for; circles are mistakes."""
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
    fault: SaidFault,
    planned: dict[str, PlannedFault],
    scene: _Scene,
    mistakes: list[Mistake],
    notes: list[str],
) -> PlannedFault | None:
    name, where = str(fault.name), f"fault {fault.name}"
    kind = registry("fault").find(fault.do)
    if kind is None:
        return None  # named as what this version cannot do
    if kind.momentary and fault.for_ is not None:
        mistakes.append(Mistake(where, f"{kind.name} is over when it is done", "leave 'for' out"))
        return None
    on, settings = tuple(fault.on), dict(fault.settings)
    for_s = None if fault.for_ is None else float(fault.for_)
    trigger = _trigger(fault, planned)
    if trigger:
        if fault.every is not None:
            mistakes.append(
                Mistake(where, "a fault that waits for a condition happens once", "leave 'every' out")
            )
        delay_s = float(fault.delay or 0.0)
        return PlannedFault(name, kind.name, on, settings, trigger=trigger, for_s=for_s, delay_s=delay_s)
    first = _first(fault, planned, scene)
    if isinstance(first, str):
        mistakes.append(Mistake(where, first))
        return None
    first += float(fault.delay or 0.0)
    windows = _windows(fault, kind, first, scene)
    if not windows:
        mistakes.append(
            Mistake(
                where,
                f"starts at {first:g} s, when the load of {scene.time_s:g} s is over",
                "start it earlier, or give the load more time",
            )
        )
        return None
    late = [w for w in windows if w.end_s is not None and w.end_s > scene.time_s]
    if late and not kind.momentary:
        notes.append(
            f"{name} would end at {late[0].end_s:g} s, after the load; it is undone when the load ends, "
            f"at {scene.time_s:g} s"
        )
        windows = [
            Window(w.start_s, None if w.end_s is None else min(w.end_s, scene.time_s)) for w in windows
        ]
    return PlannedFault(name, kind.name, on, settings, tuple(windows), for_s=for_s)


def _trigger(fault: SaidFault, planned: dict[str, PlannedFault]) -> str:
    if fault.when is not None:
        return " ".join(fault.when.split())
    before = predecessors(fault)
    if fault.after and not before:
        return " ".join(fault.after[0].split())
    if any(name in planned and _open_end(planned[name]) for name in before):
        return f"fault {', '.join(before)}"
    return ""


def _open_end(fault: PlannedFault) -> bool:
    """Whether only the run knows when it ends: its start waits, or its deed takes as long as it takes."""
    kind = registry("fault").find(fault.kind)
    return bool(fault.trigger) or (kind is not None and kind.momentary)


def _first(fault: SaidFault, planned: dict[str, PlannedFault], scene: _Scene) -> float | str:
    """When it starts first, or why that cannot be said."""
    if fault.within is not None:
        low, high = float(fault.within[0]), min(float(fault.within[1]), scene.time_s)
        return Random(f"{scene.seed}/{fault.name}/within").uniform(low, high) if low < high else low
    if isinstance(fault.at, Share):
        return float(fault.at) * scene.time_s
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


def _windows(fault: SaidFault, kind: Kind, first: float, scene: _Scene) -> list[Window]:
    """Every window that starts before the load is over."""
    until = min(scene.time_s, float(fault.until)) if fault.until is not None else scene.time_s
    every = float(fault.every) if fault.every else None
    rng = Random(f"{scene.seed}/{fault.name}/jitter")
    jitter = float(fault.jitter or 0.0)
    lasts = float(fault.for_) if fault.for_ is not None else _own_time(fault, kind)
    windows: list[Window] = []
    number = 0
    while (nominal := first + number * (every or 0.0)) < until and number < _MOST:
        start = max(0.0, nominal + (rng.uniform(-jitter, jitter) if jitter else 0.0))
        if windows and windows[-1].end_s is not None:
            start = max(start, windows[-1].end_s)
        if start < scene.time_s:
            windows.append(Window(start, None if lasts is None else start + lasts))
        number += 1
        if every is None:
            break
    return windows


def _own_time(fault: SaidFault, kind: Kind) -> float | None:
    """How long something lasts that is done by itself."""
    if not kind.momentary:
        return None
    return float(RestartFault.model_validate(fault.settings).down) if kind.name == "restart" else 0.0
