"""Calls every monitor at its own interval, each in a thread of its own, as long as there is something to see.

A monitor that fails is asked again after its interval, and one that hangs is waited for. Neither ends the run or
delays another monitor. Events tell when a monitor failed and when it worked again. Every look that succeeded is a
sample (source ``monitor``, metric ``look_s``: how long it took), so that the time in which a monitor saw nothing can
be told from time in which there was nothing to see. ``cpu_s`` beside it is the CPU time of all its looks in our own
process; what others did to answer it is not included.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from stream2gym.errors import S2gError

EVERY_S = 0.5
# A look that takes longer is told as a failure while it still goes on.
HANGS_S = 5.0
STOP_S = 10.0


class HasLook(Protocol):
    """Whatever can be asked to look: a monitor, or an engine."""

    def look(self) -> None:
        """Look once, and sample what is seen."""


class Sampler:
    """Calls monitors until it is stopped.

    ``sample(source, object, metric, value)`` writes a number down, and ``tell(kind, **details)`` an event.
    """

    def __init__(
        self,
        sample: Callable[..., Any],
        tell: Callable[..., Any],
        every_s: float = EVERY_S,
        hangs_s: float = HANGS_S,
    ) -> None:
        self._sample = sample
        self._tell = tell
        self._every_s = every_s
        self._hangs_s = hangs_s
        self._stopping = threading.Event()
        self._threads: tuple[_MonitorThread, ...] = ()
        self._watch = threading.Thread(target=self._watch_for_hangs, name="s2g-monitors", daemon=True)
        self._watch.start()

    def add(self, name: str, make: Callable[[], HasLook], every_s: float | None = None) -> None:
        """Make a monitor and call it from now on, both in its own thread. Any thread may call this.

        ``every_s`` is the time between two looks; without it, that of the sampler.
        """
        every_s = self._every_s if every_s is None else every_s
        started = _MonitorThread(name, make, sample=self._sample, tell=self._tell, every_s=every_s)
        self._threads = (*self._threads, started)

    def end(self, *names: str) -> None:
        """Let these monitors look once more, then end: what they look at ends in order."""
        chosen = [monitor for monitor in self._threads if monitor.name in names]
        self._threads = tuple(monitor for monitor in self._threads if monitor not in chosen)
        _end(chosen)

    def stop(self) -> None:
        """Let every monitor look once more, then end. A monitor that hangs is left behind."""
        self._stopping.set()
        self._watch.join(self._hangs_s)
        _end(self._threads)

    def _watch_for_hangs(self) -> None:
        while not self._stopping.wait(self._every_s):
            for monitor in self._threads:
                monitor.note_hang(self._hangs_s)


def _end(monitors: Sequence[_MonitorThread]) -> None:
    for monitor in monitors:
        monitor.ask_to_end()
    end_s = time.monotonic() + STOP_S
    for monitor in monitors:
        if not monitor.failed:
            monitor.join(end_s - time.monotonic())
    for monitor in monitors:
        monitor.abandon()


class _MonitorThread:
    """The thread of one monitor, and whether it works."""

    def __init__(
        self,
        name: str,
        make: Callable[[], HasLook],
        *,
        sample: Callable[..., Any],
        tell: Callable[..., Any],
        every_s: float,
    ) -> None:
        self.name = name
        self._make = make
        self._sample = sample
        self._tell = tell
        self._every_s = every_s
        self._stopping = threading.Event()
        # Whether its last look failed or hangs; it has been told then.
        self.failed = False
        # When its look under way began; None between two looks.
        self._looking_since: float | None = None
        self._worked_at = time.monotonic()
        self._abandoned = False
        self._noting = threading.Lock()
        self._thread = threading.Thread(target=self._run, name=f"s2g-monitor-{name}", daemon=True)
        self._thread.start()

    def ask_to_end(self) -> None:
        """Let it look once more, at once, and then end."""
        self._stopping.set()

    def join(self, timeout_s: float) -> None:
        """Wait until it has ended, at most for this long."""
        self._thread.join(max(0.0, timeout_s))

    def note_hang(self, after_s: float) -> None:
        """Tell it if a look has been going on for longer than this."""
        with self._noting:
            since = self._looking_since
            if since is not None and (took_s := time.monotonic() - since) > after_s:
                self._note_failure(f"it has been looking for {took_s:.1f} s")

    def abandon(self) -> None:
        """Tell it if a look still goes on. Nothing is told afterwards."""
        self.note_hang(0.0)
        with self._noting:
            self._abandoned = True

    def _run(self) -> None:
        monitor: HasLook | None = None
        due = time.monotonic()
        while True:
            last = self._stopping.is_set()
            began = self._looking_since = time.monotonic()
            try:
                monitor = monitor or self._make()
                monitor.look()
            except S2gError as error:
                self._end_look(str(error))
            except (Exception, SystemExit) as error:  # a plug-in may fail in any way
                self._end_look(f"{type(error).__name__}: {error}")
            else:
                self._end_look("")
                self._sample("monitor", self.name, "look_s", time.monotonic() - began)
                self._sample("monitor", self.name, "cpu_s", time.thread_time())
            if last:
                return
            due = max(due + self._every_s, time.monotonic())
            self._stopping.wait(due - time.monotonic())

    def _end_look(self, failure: str) -> None:
        with self._noting:
            self._looking_since = None
            if failure:
                self._note_failure(failure)
                return
            now = time.monotonic()
            if self.failed and not self._abandoned:
                self.failed = False
                self._tell("monitor-works-again", monitor=self.name, silent_s=round(now - self._worked_at, 3))
            self._worked_at = now

    def _note_failure(self, reason: str) -> None:
        """Tell the first failure since the monitor last worked."""
        if not self.failed and not self._abandoned:
            self.failed = True
            self._tell("monitor-failed", monitor=self.name, reason=reason)
