"""Steps of the machine's wall clock: our times never use it, but Kafka's time stamps and programs do."""

from __future__ import annotations

import time
from collections.abc import Callable

from stream2gym.components.unit import Tell

STEP_S = 0.5


class ClockMonitor:
    """Compares the wall clock with the one that only goes forward; a jump between two looks is an event."""

    def __init__(
        self, tell: Tell, wall: Callable[[], float] = time.time, steady: Callable[[], float] = time.monotonic
    ) -> None:
        self._tell = tell
        self._wall = wall
        self._steady = steady
        self._apart = wall() - steady()

    def look(self) -> None:
        apart = self._wall() - self._steady()
        by_s = apart - self._apart
        self._apart = apart
        if abs(by_s) >= STEP_S:
            self._tell("clock-stepped", by_s=round(by_s, 3))
