"""The thread that asks every monitor for its samples, at a steady pace, for as long as the network lives."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from stream2gym.errors import S2gError

EVERY_S = 0.5


class Monitor(Protocol):
    """Looks once and writes down what it saw."""

    def look(self) -> None: ...


class Sampler:
    """Runs monitors until stopped; what breaks one ends all, since the network is gone then."""

    def __init__(self, monitors: Sequence[Monitor], every_s: float = EVERY_S) -> None:
        self._monitors = monitors
        self._every_s = every_s
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="s2g-sampler", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Look one last time, then end."""
        if not self._stop.is_set():
            self._stop.set()
            self._thread.join(10.0)

    def _run(self) -> None:
        due = time.monotonic()
        while True:
            last = self._stop.is_set()
            try:
                for monitor in self._monitors:
                    monitor.look()
            except (S2gError, OSError):
                return
            if last:
                return
            due = max(due + self._every_s, time.monotonic())
            self._stop.wait(due - time.monotonic())


Sample = Callable[..., None]  # sample(source, object, metric, value, at_ns=...)
