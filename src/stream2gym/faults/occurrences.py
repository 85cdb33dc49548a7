"""The timeline of faults: each occurrence of each fault, from resolving its targets to undoing it.

The timeline has no thread and no clock of its own. The runner calls ``run_due`` with the time, and tests do so with
times that they choose. The timeline reports events, with the time at which each action began: ``fault-applied``,
``fault-healed``, ``fault-failed`` (``what``: apply or heal) and ``fault-skipped``. Each event has the name of the
fault, the number of the occurrence (``instance``), the kind (``do``) and what it hit (``on``). For a role,
``fault-applied`` also has the time of the request whose answer was used (``resolved_ns``) and who had the role
according to the first answer (``was``).
"""

from __future__ import annotations

import contextlib
import heapq
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from stream2gym.components.component_process import Tell
from stream2gym.faults.action import Action, FaultContext
from stream2gym.faults.action_classes import action_class
from stream2gym.faults.target_resolution import LEADS_S, TargetResolver, needs_asking
from stream2gym.kinds.conditions import faults_waited_for
from stream2gym.kinds.registry import Kind, registry
from stream2gym.plan.planned import PlannedFault

# The order of actions that are due at the same moment. Ends come before starts, so that a sequence does not overlap
# itself. Slow faults come last, so that they delay no other.
_HEAL, _STEP, _START = 0, 1, 2
_SLOW = 3


@dataclass(eq=False)
class Occurrence:
    """One occurrence of a fault."""

    fault: PlannedFault
    kind: Kind
    number: int
    start_ns: int
    end_ns: int | None
    targets: TargetResolver | None = None
    action: Action | None = None
    hit: tuple[str, ...] = ()
    state: str = "planned"  # planned, active, over
    applied_ns: int = 0

    def facts(self) -> dict[str, Any]:
        """What every event about this occurrence says."""
        return {
            "fault": self.fault.name,
            "instance": self.number,
            "do": self.kind.name,
            "on": list(self.hit or self.fault.on),
        }


class FaultTimeline:
    """The faults of one run: what is due, what is in force, and what waits for a condition."""

    def __init__(
        self, context: FaultContext, tell: Tell, *, t0_ns: int, end_ns: int, seed: int, clock: Callable[[], int]
    ) -> None:
        self._context = context
        self._tell = tell
        self._clock = clock
        self._t0_ns = t0_ns
        self._end_ns = end_ns
        self._seed = seed
        # What is due: its time, its rank at that time, the order of adding, the action.
        self._heap: list[tuple[int, int, int, Callable[[], None]]] = []
        self._order = 0
        self._counts: dict[str, int] = {}
        # Faults whose condition has not been met yet, by name.
        self._waiting: dict[str, PlannedFault] = {}
        # Names of faults that have ended before the end of the run.
        self._ended: set[str] = set()
        self._all: list[Occurrence] = []
        self._closed = False
        self._load_over = False
        # Components that faults keep from running and will start again.
        self.held: frozenset[str] = frozenset()
        # How many faults failed or were skipped.
        self.failures = 0

    # ---- what is due

    def add(self, fault: PlannedFault) -> None:
        """Add a fault of the plan: its windows, or the condition that it waits for."""
        if fault.trigger:
            self._waiting[fault.name] = fault
        for window in fault.windows:
            start = self._t0_ns + round(window.start_s * 1e9)
            end = None if window.end_s is None else self._t0_ns + round(window.end_s * 1e9)
            self._expect(fault, start, end)

    def fire(self, fault: PlannedFault, at_ns: int) -> Occurrence:
        """Schedule a fault now, after its delay: its condition is met, or a person asked for it."""
        self._waiting.pop(fault.name, None)
        at_ns += round(fault.delay_s * 1e9)
        end = None if fault.for_s is None else at_ns + round(fault.for_s * 1e9)
        if end is not None and not self._load_over and at_ns < self._end_ns < end:
            end = self._end_ns
        return self._expect(fault, at_ns, end, by_itself=False)

    def waiting(self) -> list[PlannedFault]:
        """The faults whose condition has not been met yet."""
        return list(self._waiting.values())

    def active(self) -> list[Occurrence]:
        """The occurrences that are in force."""
        return [one for one in self._all if one.state == "active"]

    def planned(self) -> list[Occurrence]:
        """The occurrences that have not started."""
        return [one for one in self._all if one.state == "planned"]

    def next_due(self) -> int | None:
        """The time of the next action; None when nothing is due any more."""
        return self._heap[0][0] if self._heap else None

    def apply_before_load(self) -> None:
        """Apply the faults of links that are due at t0, so that no message passes before them."""
        for one in self.planned():
            is_ahead = action_class(one.kind.name).BEFORE_LOAD and not needs_asking(one.fault.on)
            if is_ahead and one.start_ns <= self._t0_ns:
                self._start(one)

    def run_due(self, now_ns: int) -> None:
        """Do everything that is due at this time."""
        while self._heap and self._heap[0][0] <= now_ns:
            heapq.heappop(self._heap)[3]()

    # ---- ending faults

    def heal(self, name: str) -> list[Occurrence]:
        """Undo every occurrence of a fault that is in force, by the name of the fault. Returns them."""
        healed = [one for one in self.active() if one.fault.name == name]
        for one in healed:
            self._heal(one)
        return healed

    def end_load(self) -> None:
        """Start no further fault, because the load is over. Faults in force still end when planned."""
        if self._load_over:
            return
        self._load_over = self._context.load_over = True
        for one in self.planned():
            self._skip(one, "the load ended before it")
        for fault in self.waiting():
            self.failures += 1
            reason = f"its condition never came: {fault.trigger}"
            self._tell("fault-skipped", fault=fault.name, do=fault.kind, on=list(fault.on), reason=reason)
        self._waiting.clear()

    def close(self) -> None:
        """Undo the faults that are still in force, the newest first."""
        if self._closed:
            return
        self.end_load()
        self._closed = True
        self._heap.clear()
        for one in reversed(self.active()):
            self._heal(one, at_end=True)

    # ---- the steps of one occurrence

    def _expect(self, fault: PlannedFault, start: int, end: int | None, *, by_itself: bool = True) -> Occurrence:
        """Add an occurrence and schedule its start.

        Roles are asked for before it, unless a person or a condition started it.
        """
        kind = registry("fault").find(fault.kind)
        assert kind is not None, fault.kind
        number = self._counts[fault.name] = self._counts.get(fault.name, 0) + 1
        one = Occurrence(fault, kind, number, start, end)
        self._all.append(one)
        if by_itself and needs_asking(fault.on):
            for lead_s in LEADS_S:
                self._at(one, start - round(lead_s * 1e9), _STEP, self._ask_for_targets)
        self._at(one, start, _START, self._start)
        return one

    def _at(self, one: Occurrence, at_ns: int, rank: int, act: Callable[[Occurrence], None]) -> None:
        """Schedule an action of an occurrence."""
        self._order += 1
        late = _SLOW if action_class(one.kind.name).SLOW else 0
        heapq.heappush(self._heap, (at_ns, rank + late, self._order, lambda: act(one)))

    def _ask_for_targets(self, one: Occurrence) -> None:
        """Ask who has the roles, or ask again. After an error it is tried again when the fault is due."""
        if one.state != "planned":
            return
        with contextlib.suppress(Exception):
            if one.targets is None:
                one.targets = self._resolver(one)
            else:
                one.targets.ask_again()

    def _resolver(self, one: Occurrence) -> TargetResolver:
        """A resolver of the targets, with a random generator of its own for each occurrence."""
        rng = Random(f"{self._seed}/{one.fault.name}/{one.number}")
        return TargetResolver(one.fault.on, one.kind.targets, self._context, rng, clock=self._clock)

    def _start(self, one: Occurrence) -> None:
        """Resolve the targets and apply the fault."""
        if one.state != "planned":
            return
        try:
            if one.targets is None:
                one.targets = self._resolver(one)
            one.hit = one.targets.resolve()
            resolution = one.targets.resolution()
            one.targets = None  # the answers of the cluster are not needed any more
            lasts_s = None if one.end_ns is None else (one.end_ns - one.start_ns) / 1e9
            one.action = action_class(one.kind.name)(one.fault.checked_settings, one.hit, lasts_s)
            began_ns = self._clock()
            one.action.apply(self._context)
            one.hit = one.action.hit
        except Exception as error:  # the failure is an event; the other faults go on
            self._failed(one, "apply", error)
            one.state = "over"
            if one.action is not None:
                with contextlib.suppress(Exception):
                    one.action.undo(self._context)
            return
        one.state = "active"
        took_ms = round((self._clock() - began_ns) / 1e6, 3)
        one.applied_ns = max(began_ns, one.start_ns)  # a fault applied before the load counts from t0
        # Nothing else on record tells the settings of a fault by hand.
        facts = one.facts() | resolution | {"settings": one.fault.settings}
        self._tell("fault-applied", at_ns=one.applied_ns, planned_ns=one.start_ns, took_ms=took_ms, **facts)
        if one.end_ns is not None and not one.kind.momentary:
            self._at(one, one.end_ns, _HEAL, self._heal)
        self._note_held()
        self._step(one)

    def _step(self, one: Occurrence) -> None:
        """Let the fault continue, and schedule its next step."""
        if one.state != "active" or one.action is None:
            return
        try:
            again_s = one.action.step(self._context, (max(self._clock(), one.start_ns) - one.start_ns) / 1e9)
        except Exception as error:
            self._failed(one, "apply", error)
            again_s = None
        if again_s is not None:
            self._at(one, one.start_ns + round(again_s * 1e9), _STEP, self._step)
        elif one.kind.momentary:
            self._heal(one)

    def _heal(self, one: Occurrence, *, at_end: bool = False) -> None:
        """Undo the fault. Faults that wait for its end are started."""
        if one.state != "active" or one.action is None:
            return
        one.state = "over"
        at_ns = self._clock()
        # A component that was killed for good is not started at the end of the run; one that was being restarted is.
        is_for_good = at_end and one.end_ns is None and one.action.HOLDS and not one.kind.momentary
        try:
            if not is_for_good:
                one.action.undo(self._context)
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
                if one.fault.name in (names := faults_waited_for(fault.trigger)) and self._ended.issuperset(names):
                    self.fire(fault, self._clock())

    def _skip(self, one: Occurrence, reason: str) -> None:
        """Report that the occurrence does not happen."""
        one.state = "over"
        self.failures += 1
        self._tell("fault-skipped", planned_ns=one.start_ns, reason=reason, **one.facts())

    def _failed(self, one: Occurrence, what: str, error: Exception) -> None:
        """Report that applying or undoing failed."""
        self.failures += 1
        reason = str(error) or type(error).__name__
        self._tell("fault-failed", planned_ns=one.start_ns, what=what, reason=reason, **one.facts())

    def _note_held(self) -> None:
        """Update the components that faults keep from running."""
        self.held = frozenset(
            name
            for one in self.active()
            if one.action is not None and (one.end_ns is not None or one.kind.momentary)
            for name in one.action.held(self._context)
        )
