"""A handle of a process on an emulated host."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Exit:
    """How a process ended. ``code`` is negative for a signal, as in subprocess."""

    code: int
    cpu_s: float = 0.0
    max_rss_bytes: int = 0

    @property
    def shell_code(self) -> int:
        return self.code if self.code >= 0 else 128 - self.code

    def __str__(self) -> str:
        return f"exit code {self.code}" if self.code >= 0 else f"killed by {signal.Signals(-self.code).name}"


class Process:
    """Can be asked, waited for and signalled; never outlives its network."""

    def __init__(self, number: int, host: str, name: str, send: Callable[[int, int], bool]) -> None:
        self.number = number
        self.host = host
        self.name = name
        self.pid = 0  # inside the run's PID namespace
        self._send = send
        self._exit: Exit | None = None
        self._ended = threading.Event()
        self._listeners: list[Callable[[Process], None]] = []
        self._stop_listeners: list[Callable[[Process], None]] = []
        self._lock = threading.Lock()

    def poll(self) -> Exit | None:
        """How it ended, or None while it runs."""
        return self._exit

    def wait(self, timeout_s: float | None = None) -> Exit:
        """Wait for its end; TimeoutError at the deadline."""
        if not self._ended.wait(timeout_s) or self._exit is None:
            raise TimeoutError(f"{self.name} on {self.host} still runs after {timeout_s:g} s")
        return self._exit

    def signal(self, number: int = signal.SIGTERM) -> bool:
        """Send a signal; False when it has ended already."""
        return self._exit is None and self._send(self.number, number)

    def when_ended(self, listener: Callable[[Process], None]) -> None:
        """Call back once, at its end (at once when it has ended); from the network's reader thread."""
        with self._lock:
            if self._exit is None:
                self._listeners.append(listener)
                return
        listener(self)

    def when_stopped(self, listener: Callable[[Process], None]) -> None:
        """Call back whenever it is stopped from the terminal (Ctrl-Z); from the network's reader thread."""
        self._stop_listeners.append(listener)

    def stopped(self) -> None:
        """Told by the network that holds it."""
        for listener in self._stop_listeners:
            listener(self)

    def ended(self, how: Exit) -> None:
        """Told by the network that holds it."""
        with self._lock:
            self._exit = how
            listeners, self._listeners = self._listeners, []
        self._ended.set()
        for listener in listeners:
            listener(self)
