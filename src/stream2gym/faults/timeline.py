"""What is done when: every occurrence of every fault, from its aim to its undo. Knows no thread and no clock.

The runner calls ``run_due`` with the time; tests call it with times of their own. Everything that happens is told
as an event, at the moment its deed began: ``fault-applied``, ``fault-healed``, ``fault-failed`` (what: apply, heal),
``fault-skipped``, each with the fault's name, the number of the occurrence (``instance``), its kind (``do``) and
what it hit (``on``).
"""

from __future__ import annotations

import contextlib
import heapq
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from stream2gym.components.unit import Tell
from stream2gym.faults.actions import action_class
from stream2gym.faults.aim import LEAD_S, Aim, needs_asking
from stream2gym.faults.base import Action, World
from stream2gym.kinds.conditions import faults_waited_for
from stream2gym.kinds.registry import Kind, registry
from stream2gym.plan.model import PlannedFault

# At the same moment what ends goes before what begins, so that a sequence never overlaps itself; and what takes
# its time goes last, so that it makes nothing else late.
_HEAL, _STEP, _START = 0, 1, 2
_SLOW = 3


@dataclass(eq=False)
class Occurrence:
    """One time that a fault happens."""

    fault: PlannedFault
    kind: Kind
    number: int
    start_ns: int
    end_ns: int | None
    aim: Aim | None = None
    action: Action | None = None
    hit: tuple[str, ...] = ()
    state: str = "planned"  # planned, active, over
    applied_ns: int = 0

    def facts(self) -> dict[str, Any]:
        return {
            "fault": self.fault.name,
            "instance": self.number,
            "do": self.kind.name,
            "on": list(self.hit or self.fault.on),
        }


class Timeline:
    """All faults of one run."""

    def __init__(
        self, world: World, tell: Tell, *, t0_ns: int, end_ns: int, seed: int, clock: Callable[[], int]
    ) -> None:
        self._world, self._tell, self._clock = world, tell, clock
        self._t0_ns, self._end_ns, self._seed = t0_ns, end_ns, seed
        self._heap: list[tuple[int, int, int, Callable[[], None]]] = []
        self._order = 0
        self._counts: dict[str, int] = {}
        self._waiting: dict[str, PlannedFault] = {}  # by name: faults with a trigger that has not come yet
        self._ended: set[str] = set()  # names of faults that have ended in their own time
        self._all: list[Occurrence] = []
        self._closed = False
        self._load_over = False
        self.held: frozenset[str] = (
            frozenset()
        )  # components that faults keep from running and will start again
        self.troubles = 0  # faults that failed or never happened

    # ---- what is to happen

    def add(self, fault: PlannedFault) -> None:
        """A fault of the plan."""
        if fault.trigger:
            self._waiting[fault.name] = fault
        for window in fault.windows:
            start = self._t0_ns + round(window.start_s * 1e9)
            end = None if window.end_s is None else self._t0_ns + round(window.end_s * 1e9)
            self._expect(fault, start, end)

    def fire(self, fault: PlannedFault, at_ns: int) -> Occurrence:
        """Let a fault happen now: its condition came, or somebody asked for it."""
        self._waiting.pop(fault.name, None)
        at_ns += round(fault.delay_s * 1e9)
        end = None if fault.for_s is None else at_ns + round(fault.for_s * 1e9)
        if end is not None and not self._load_over and at_ns < self._end_ns < end:
            end = self._end_ns
        return self._expect(fault, at_ns, end, by_itself=False)

    def waiting(self) -> list[PlannedFault]:
        """Faults whose condition has not come."""
        return list(self._waiting.values())

    def active(self) -> list[Occurrence]:
        return [one for one in self._all if one.state == "active"]

    def planned(self) -> list[Occurrence]:
        return [one for one in self._all if one.state == "planned"]

    def next_due(self) -> int | None:
        return self._heap[0][0] if self._heap else None

    def run_due(self, now_ns: int) -> None:
        """Do everything that is due."""
        while self._heap and self._heap[0][0] <= now_ns:
            heapq.heappop(self._heap)[3]()

    # ---- ends

    def heal(self, name: str) -> list[Occurrence]:
        """Undo a fault now, by its name."""
        healed = [one for one in self.active() if one.fault.name == name]
        for one in healed:
            self._heal(one)
        return healed

    def end_load(self) -> None:
        """The load is over: nothing new begins; what has a planned end still ends then."""
        if self._load_over:
            return
        self._load_over = self._world.load_over = True
        for one in self.planned():
            self._skip(one, "the load ended before it")
        for fault in self.waiting():
            self.troubles += 1
            reason = f"its condition never came: {fault.trigger}"
            self._tell("fault-skipped", fault=fault.name, do=fault.kind, on=list(fault.on), reason=reason)
        self._waiting.clear()

    def close(self) -> None:
        """Undo what is still in force and was to end some time, newest first."""
        if self._closed:
            return
        self.end_load()
        self._closed = True
        self._heap.clear()
        for one in reversed(self.active()):
            self._heal(one, at_end=True)

    # ---- how

    def _expect(
        self, fault: PlannedFault, start: int, end: int | None, *, by_itself: bool = True
    ) -> Occurrence:
        kind = registry("fault").find(fault.kind)
        assert kind is not None, fault.kind
        number = self._counts[fault.name] = self._counts.get(fault.name, 0) + 1
        one = Occurrence(fault, kind, number, start, end)
        self._all.append(one)
        if by_itself and needs_asking(fault.on):
            self._at(one, start - round(LEAD_S * 1e9), _STEP, self._take_aim)
        self._at(one, start, _START, self._start)
        return one

    def _at(self, one: Occurrence, at_ns: int, rank: int, deed: Callable[[Occurrence], None]) -> None:
        self._order += 1
        late = _SLOW if action_class(one.kind.name).SLOW else 0
        heapq.heappush(self._heap, (at_ns, rank + late, self._order, lambda: deed(one)))

    def _take_aim(self, one: Occurrence) -> None:
        rng = Random(f"{self._seed}/{one.fault.name}/{one.number}")
        with contextlib.suppress(Exception):  # tried again, and told, when the fault is due
            one.aim = Aim(one.fault.on, one.kind.targets, self._world, rng)

    def _start(self, one: Occurrence) -> None:
        if one.state != "planned":
            return
        try:
            if one.aim is None:
                rng = Random(f"{self._seed}/{one.fault.name}/{one.number}")
                one.aim = Aim(one.fault.on, one.kind.targets, self._world, rng)
            one.hit = one.aim.settle()
            one.aim = None  # answers of the cluster are not kept for the whole run
            lasts_s = None if one.end_ns is None else (one.end_ns - one.start_ns) / 1e9
            settings = one.kind.settings.model_validate(one.fault.settings)
            one.action = action_class(one.kind.name)(settings, one.hit, lasts_s)
            began_ns = self._clock()
            one.action.apply(self._world)
            one.hit = one.action.hit
        except Exception as error:  # whatever a fault runs into, the others go on and the run knows
            self._failed(one, "apply", error)
            one.state = "over"
            if one.action is not None:
                with contextlib.suppress(Exception):
                    one.action.undo(self._world)
            return
        one.state = "active"
        one.applied_ns = began_ns
        took_ms = round((self._clock() - began_ns) / 1e6, 3)
        self._tell("fault-applied", at_ns=began_ns, planned_ns=one.start_ns, took_ms=took_ms, **one.facts())
        if one.end_ns is not None and not one.kind.momentary:
            self._at(one, one.end_ns, _HEAL, self._heal)
        self._note_held()
        self._step(one)

    def _step(self, one: Occurrence) -> None:
        if one.state != "active" or one.action is None:
            return
        try:
            again_s = one.action.step(self._world, (max(self._clock(), one.start_ns) - one.start_ns) / 1e9)
        except Exception as error:
            self._failed(one, "apply", error)
            again_s = None
        if again_s is not None:
            self._at(one, one.start_ns + round(again_s * 1e9), _STEP, self._step)
        elif one.kind.momentary:
            self._heal(one)

    def _heal(self, one: Occurrence, *, at_end: bool = False) -> None:
        if one.state != "active" or one.action is None:
            return
        one.state = "over"
        at_ns = self._clock()
        stays = at_end and one.end_ns is None and one.action.HOLDS
        try:
            if not stays:  # what was killed for good is not brought back to life only to be stopped
                one.action.undo(self._world)
        except Exception as error:
            self._failed(one, "heal", error)
        else:
            planned = one.end_ns if one.end_ns is not None and not one.kind.momentary else None
            self._tell("fault-healed", at_ns=at_ns, planned_ns=planned, at_end=at_end, **one.facts())
        one.action = None
        self._note_held()
        if not at_end:
            self._ended.add(one.fault.name)
            for fault in self.waiting():
                if one.fault.name in (names := faults_waited_for(fault.trigger)) and self._ended.issuperset(
                    names
                ):
                    self.fire(fault, self._clock())

    def _skip(self, one: Occurrence, reason: str) -> None:
        one.state = "over"
        self.troubles += 1
        self._tell("fault-skipped", planned_ns=one.start_ns, reason=reason, **one.facts())

    def _failed(self, one: Occurrence, what: str, error: Exception) -> None:
        self.troubles += 1
        reason = str(error) or type(error).__name__
        self._tell("fault-failed", planned_ns=one.start_ns, what=what, reason=reason, **one.facts())

    def _note_held(self) -> None:
        self.held = frozenset(
            name
            for one in self.active()
            if one.action is not None and (one.end_ns is not None or one.kind.momentary)
            for name in one.action.held(self._world)
        )
