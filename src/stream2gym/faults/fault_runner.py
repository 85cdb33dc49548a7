"""The thread that applies and undoes faults on time, and the requests for faults by hand during a run."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from typing import Any

from stream2gym.components.component_process import Tell
from stream2gym.errors import BadInput, Mistake
from stream2gym.faults.action import FaultContext
from stream2gym.faults.occurrences import FaultTimeline
from stream2gym.kinds.conditions import Condition, RunState, parse_condition
from stream2gym.linux import take_priority
from stream2gym.plan.planned import PlannedFault

WATCH_S = 0.05  # between two checks of a condition
JOIN_S = 60.0


class FaultRunner:
    """Handle of the faults of one run. It is made before t0 and closed before the components stop."""

    def __init__(
        self,
        faults: Iterable[PlannedFault],
        context: FaultContext,
        tell: Tell,
        state: RunState,
        *,
        t0_ns: int,
        end_ns: int,
        seed: int,
    ) -> None:
        self._changed = threading.Condition(threading.RLock())
        self._timeline = FaultTimeline(context, tell, t0_ns=t0_ns, end_ns=end_ns, seed=seed, clock=time.monotonic_ns)
        for fault in faults:
            self._timeline.add(fault)
        self._timeline.apply_before_load()
        self._state = state
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._run, name="s2g-faults", daemon=True)]
        conditions = [(fault, parse_condition(fault.trigger)) for fault in self._timeline.waiting()]
        watched = [(fault, condition) for fault, condition in conditions if condition is not None]
        if watched:
            self._threads.append(
                threading.Thread(target=self._watch, args=(watched,), name="s2g-fault-conditions", daemon=True)
            )
        for thread in self._threads:
            thread.start()

    @property
    def held(self) -> frozenset[str]:
        """Components that faults keep from running and will start again: the load waits for them."""
        return self._timeline.held

    def apply(self, fault: PlannedFault) -> dict[str, Any]:
        """Apply a fault now, by hand. Returns what it hit, and whether it failed."""
        with self._changed:
            names = {one.fault.name for one in (*self._timeline.active(), *self._timeline.planned())}
            if fault.name in names:
                raise BadInput(Mistake(fault.name, "there is a fault of this name already", "--name another"))
            failures = self._timeline.failures
            one = self._timeline.fire(fault, time.monotonic_ns())
            self._timeline.run_due(time.monotonic_ns())
            self._changed.notify_all()
            return one.facts() | {"state": one.state, "failed": self._timeline.failures > failures}

    def heal(self, name: str) -> list[dict[str, Any]]:
        """Undo a fault now. Returns what it had hit; BadInput when it is not in force."""
        with self._changed:
            healed = self._timeline.heal(name)
            if not healed:
                active = sorted({one.fault.name for one in self._timeline.active()})
                hint = f"active: {', '.join(active)}" if active else "no fault is active"
                raise BadInput(Mistake(name, "no such fault is in force", hint))
            self._changed.notify_all()
            return [one.facts() for one in healed]

    def overview(self) -> dict[str, Any]:
        """The faults in force, the planned ones, and those that wait for a condition."""
        with self._changed:
            timeline = self._timeline
            return {
                "active": [one.facts() | {"until_ns": one.end_ns} for one in timeline.active()],
                "planned": [one.facts() | {"at_ns": one.start_ns} for one in timeline.planned()],
                "waiting": [
                    {"fault": fault.name, "do": fault.kind, "on": list(fault.on), "for": fault.trigger}
                    for fault in timeline.waiting()
                ],
            }

    def end_load(self) -> None:
        """Start no further fault."""
        with self._changed:
            self._timeline.end_load()

    def close(self) -> None:
        """Undo the faults in force and end the threads."""
        self._over.set()
        with self._changed:
            self._timeline.close()
            self._changed.notify_all()
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(JOIN_S)

    def _run(self) -> None:
        """Apply and undo faults when they are due, until the runner is closed."""
        # Raises the priority of this thread, because a busy machine must not delay faults.
        take_priority()
        with self._changed:
            while not self._over.is_set():
                now = time.monotonic_ns()
                due = self._timeline.next_due()
                if due is not None and due <= now:
                    self._timeline.run_due(now)
                else:
                    self._changed.wait(None if due is None else (due - now) / 1e9)

    def _watch(self, watched: list[tuple[PlannedFault, Condition]]) -> None:
        """Check the conditions again and again. It has a thread of its own because the cluster may answer slowly."""
        while watched and not self._over.wait(WATCH_S):
            met = [fault for fault, condition in watched if condition.holds(self._state)]
            watched = [(fault, condition) for fault, condition in watched if fault not in met]
            with self._changed:
                waiting = self._timeline.waiting()
                for fault in met:
                    if fault in waiting:
                        self._timeline.fire(fault, time.monotonic_ns())
                self._changed.notify_all()
