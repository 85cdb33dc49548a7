"""The thread that lets faults happen on time, and takes what people ask for by hand while the run goes on."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from typing import Any

from stream2gym.components.unit import Tell
from stream2gym.errors import BadInput, Mistake
from stream2gym.fabric.userspace.priority import take_priority
from stream2gym.faults.base import World
from stream2gym.faults.timeline import Timeline
from stream2gym.kinds.conditions import Condition, Senses, parse_condition
from stream2gym.plan.model import PlannedFault

WATCH_S = 0.05  # between two looks at a condition
JOIN_S = 60.0


class FaultRunner:
    """Handle of the faults of one run: started at t0, closed before the components stop."""

    def __init__(
        self,
        faults: Iterable[PlannedFault],
        world: World,
        tell: Tell,
        senses: Senses,
        *,
        t0_ns: int,
        end_ns: int,
        seed: int,
    ) -> None:
        self._changed = threading.Condition(threading.RLock())
        self._timeline = Timeline(world, tell, t0_ns=t0_ns, end_ns=end_ns, seed=seed, clock=time.monotonic_ns)
        for fault in faults:
            self._timeline.add(fault)
        self._senses = senses
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._run, name="s2g-faults", daemon=True)]
        conditions = [(fault, parse_condition(fault.trigger)) for fault in self._timeline.waiting()]
        watched = [(fault, condition) for fault, condition in conditions if condition is not None]
        if watched:
            self._threads.append(
                threading.Thread(
                    target=self._watch, args=(watched,), name="s2g-fault-conditions", daemon=True
                )
            )
        for thread in self._threads:
            thread.start()

    @property
    def held(self) -> frozenset[str]:
        """Components that faults keep from running and will start again: the load waits for them."""
        return self._timeline.held

    def apply(self, fault: PlannedFault) -> dict[str, Any]:
        """Let a fault happen now, by hand; says what it hit."""
        with self._changed:
            names = {one.fault.name for one in (*self._timeline.active(), *self._timeline.planned())}
            if fault.name in names:
                raise BadInput(Mistake(fault.name, "there is a fault of this name already", "--name another"))
            troubles = self._timeline.troubles
            one = self._timeline.fire(fault, time.monotonic_ns())
            self._timeline.run_due(time.monotonic_ns())
            self._changed.notify_all()
            return one.facts() | {"state": one.state, "failed": self._timeline.troubles > troubles}

    def heal(self, name: str) -> list[dict[str, Any]]:
        """Undo a fault now."""
        with self._changed:
            healed = self._timeline.heal(name)
            if not healed:
                active = sorted({one.fault.name for one in self._timeline.active()})
                hint = f"active: {', '.join(active)}" if active else "no fault is active"
                raise BadInput(Mistake(name, "no such fault is in force", hint))
            self._changed.notify_all()
            return [one.facts() for one in healed]

    def overview(self) -> dict[str, Any]:
        """What is in force, what is to come, what waits."""
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
        """Nothing new begins from now on."""
        with self._changed:
            self._timeline.end_load()

    def close(self) -> None:
        """Undo what is in force, and end."""
        self._over.set()
        with self._changed:
            self._timeline.close()
            self._changed.notify_all()
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(JOIN_S)

    def _run(self) -> None:
        take_priority()  # of this thread: a busy machine should not make faults late
        with self._changed:
            while not self._over.is_set():
                now = time.monotonic_ns()
                due = self._timeline.next_due()
                if due is not None and due <= now:
                    self._timeline.run_due(now)
                else:
                    self._changed.wait(None if due is None else (due - now) / 1e9)

    def _watch(self, watched: list[tuple[PlannedFault, Condition]]) -> None:
        """Looks at conditions; asking may take its time, so it has a thread of its own."""
        while watched and not self._over.wait(WATCH_S):
            came = [fault for fault, condition in watched if condition.holds(self._senses)]
            watched = [(fault, condition) for fault, condition in watched if fault not in came]
            with self._changed:
                waiting = self._timeline.waiting()
                for fault in came:
                    if fault in waiting:
                        self._timeline.fire(fault, time.monotonic_ns())
                self._changed.notify_all()
