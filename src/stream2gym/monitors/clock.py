"""Steps of the machine's wall clock. Our times do not use it, but time stamps of Kafka and of programs do."""

from __future__ import annotations

import time
from collections.abc import Callable

from stream2gym.kinds.monitor_sources import CLOCK
from stream2gym.monitors.monitor import Monitor, MonitoredRun

STEP_S = 0.5


class ClockMonitor(Monitor):
    """Compares the wall clock with the monotonic clock. A step between two looks is an event."""

    KIND = CLOCK

    def __init__(
        self,
        run: MonitoredRun,
        wall: Callable[[], float] = time.time,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(run)
        self._wall = wall
        self._steady = steady
        self._apart = wall() - steady()

    def look(self) -> None:
        apart = self._wall() - self._steady()
        by_s = apart - self._apart
        self._apart = apart
        if abs(by_s) >= STEP_S:
            self.run.tell("clock-stepped", by_s=round(by_s, 3))
