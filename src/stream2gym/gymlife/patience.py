"""Waiting inside a run: for an observed condition, until a deadline, and never past what makes waiting useless.

What ends a wait early: the user's Ctrl-C, the death of the emulated network, the death of a component that
nothing works without.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, Self, TypeVar

from stream2gym.errors import Interrupted, S2gError, StartFailed
from stream2gym.wait import wait_until

T = TypeVar("T")
TICK_S = 0.25


class Interrupts:
    """Ctrl-C once asks for an orderly stop; a second time ends the run at once."""

    SIGNALS = (signal.SIGINT, signal.SIGTERM)

    def __init__(self, on_first: Callable[[], None] | None = None) -> None:
        self.count = 0
        self._on_first = on_first
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in self.SIGNALS:
                self._before[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before.clear()

    @property
    def asked(self) -> bool:
        return self.count > 0

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        self.count += 1
        if self.count > 1:
            raise KeyboardInterrupt
        if self._on_first is not None:
            self._on_first()


class Patience:
    """Waits on behalf of one run. ``troubles`` are asked for a reason to give up; ``tick`` runs now and then."""

    def __init__(self, interrupts: Interrupts, tick: Callable[[], None]) -> None:
        self._interrupts = interrupts
        self._tick = tick
        self._next_tick = 0.0
        self.troubles: list[Callable[[], S2gError | None]] = []
        self.heed_interrupts = True

    def check(self) -> None:
        """Raise what makes further waiting useless."""
        now = time.monotonic()
        if now >= self._next_tick:
            self._next_tick = now + TICK_S
            self._tick()
        if self.heed_interrupts and self._interrupts.asked:
            raise Interrupted("stopped by the user")
        for trouble in self.troubles:
            error = trouble()
            if error is not None:
                raise error

    def until(self, condition: Callable[[], T | None], timeout_s: float, reason: str) -> T:
        """The first truthy value of the condition; StartFailed naming the reason at the deadline."""

        def watched() -> T | None:
            self.check()
            return condition()

        return wait_until(watched, timeout_s=timeout_s, reason=reason, error=StartFailed)

    def up_to(self, condition: Callable[[], bool], timeout_s: float) -> bool:
        """Whether the condition came true in time; running out of time is an answer here, not a failure."""
        deadline = time.monotonic() + timeout_s

        def over() -> bool:
            return condition() or time.monotonic() >= deadline

        self.until(over, timeout_s + 60.0, "the clock")
        return condition()
