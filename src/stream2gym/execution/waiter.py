"""Waits inside a run: for an observed condition, until a deadline, and not longer than waiting makes sense.

A wait ends early when the user asks the run to stop (Ctrl-C), when the emulated network breaks, or when a component
ends without which nothing works.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from stream2gym.errors import Interrupted, S2gError, StartFailed
from stream2gym.interrupts import Interrupts
from stream2gym.wait import wait_until

T = TypeVar("T")
TICK_S = 0.25
SPARE_S = 60.0


class Waiter:
    """Waits on behalf of one run.

    ``failure_checks`` are called during every wait: one that returns an error ends the wait with it. ``on_tick`` is
    called a few times a second during waits.
    """

    def __init__(self, interrupts: Interrupts) -> None:
        self._interrupts = interrupts
        self._next_tick = 0.0
        self.on_tick: Callable[[], None] = lambda: None
        self.failure_checks: list[Callable[[], S2gError | None]] = []
        self.stops_on_interrupt = True

    @property
    def interrupted_at(self) -> float | None:
        """When the run was asked to end, on the clock of time.monotonic; None while it was not."""
        return self._interrupts.asked_at

    def check_failures(self) -> None:
        """Raise what makes further waiting useless: an interrupt, or the error of a failure check."""
        now = time.monotonic()
        if now >= self._next_tick:
            self._next_tick = now + TICK_S
            self.on_tick()
        if self.stops_on_interrupt and self._interrupts.asked:
            raise Interrupted("stopped by the user")
        for find_failure in self.failure_checks:
            error = find_failure()
            if error is not None:
                raise error

    def wait_until(self, condition: Callable[[], T | None], timeout_s: float, reason: str) -> T:
        """Return the first truthy value of the condition; raise StartFailed with the reason at the deadline."""

        def watched() -> T | None:
            self.check_failures()
            return condition()

        return wait_until(watched, timeout_s=timeout_s, reason=reason, error=StartFailed)

    def wait_at_most(self, timeout_s: float, condition: Callable[[], bool]) -> bool:
        """Return whether the condition came true in time. Running out of time is no failure here."""
        deadline = time.monotonic() + timeout_s

        def over() -> bool:
            return condition() or time.monotonic() >= deadline

        self.wait_until(over, timeout_s + SPARE_S, "the clock")
        return condition()
