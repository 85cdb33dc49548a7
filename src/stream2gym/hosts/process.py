"""A handle of a program on an emulated host: its main process and all descendants of that."""

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
        """The exit code as a shell tells it: 128 and the number of the signal that ended it."""
        return self.code if self.code >= 0 else 128 - self.code

    def __str__(self) -> str:
        return f"exit code {self.code}" if self.code >= 0 else f"killed by {signal.Signals(-self.code).name}"


class Process:
    """A program that can be polled, waited for and signalled. It ends with its network at the latest."""

    def __init__(self, number: int, host: str, name: str, send: Callable[[int, int], bool]) -> None:
        self.number = number
        self.host = host
        self.name = name
        # The PID of the main process on its host.
        self.pid = 0
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
        """Wait until it has ended, and return how; TimeoutError at the deadline."""
        if not self._ended.wait(timeout_s) or self._exit is None:
            raise TimeoutError(f"{self.name} on {self.host} still runs after {timeout_s:g} s")
        return self._exit

    def signal(self, number: int = signal.SIGTERM) -> bool:
        """Send a signal. Returns False if it has ended already.

        SIGKILL, SIGSTOP and SIGCONT reach all descendants. Other signals reach the process group of the main process.
        """
        return self._exit is None and self._send(self.number, number)

    def when_ended(self, listener: Callable[[Process], None]) -> None:
        """Call the listener once, when it ends, on the reader thread of the network.

        If it has ended already, the listener is called at once, on this thread.
        """
        with self._lock:
            if self._exit is None:
                self._listeners.append(listener)
                return
        listener(self)

    def when_stopped(self, listener: Callable[[Process], None]) -> None:
        """Call the listener, on the reader thread of the network, when it is stopped from the terminal (Ctrl-Z)."""
        self._stop_listeners.append(listener)

    def stopped(self) -> None:
        """Note that it was stopped; the network calls this."""
        for listener in self._stop_listeners:
            listener(self)

    def ended(self, how: Exit) -> None:
        """Note how it ended; the network calls this."""
        with self._lock:
            self._exit = how
            listeners, self._listeners = self._listeners, []
        self._ended.set()
        for listener in listeners:
            listener(self)
