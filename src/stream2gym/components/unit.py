"""One process of a component through its whole life: started, ended, started again, stopped.

A process that exits 0 has finished. One that ends otherwise and that nobody asked to end has died: an event,
and a new start while the component's restart policy allows one.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from stream2gym.errors import S2gError
from stream2gym.hosts.process import Process

State = Literal["new", "running", "waiting", "finished", "died", "stopped"]
STOP_GRACE_S = 5.0
KILL_GRACE_S = 5.0
SETTLE_S = 30.0
_OVER = ("finished", "died", "stopped")

Launch = Callable[[int], Process]  # takes the number of the start, from 1
Tell = Callable[..., Any]  # writes an event: tell("died", component=..., ...)


@dataclass(frozen=True)
class RestartPolicy:
    """How often a process that died is started again, and after how long."""

    times: int = 0
    delay_s: float = 1.0


class Unit:
    """A slot for one process. ``tell`` gets every event of its life."""

    def __init__(
        self,
        component: str,
        host: str,
        launch: Launch,
        tell: Tell,
        *,
        instance: int = 1,
        policy: RestartPolicy | None = None,
        grace_s: float = STOP_GRACE_S,
    ) -> None:
        self.component = component
        self.host = host
        self.instance = instance
        self.state: State = "new"
        self.starts = 0
        self.process: Process | None = None
        self._launch = launch
        self._tell = tell
        self._policy = policy or RestartPolicy()
        self._left = self._policy.times
        self._grace_s = grace_s
        self._asked = ""  # why its end is no surprise: stop, kill
        self._timer: threading.Timer | None = None
        self._reviving = False  # a start that somebody asked for is under way
        # Not set while a process runs, or while its end is being written down.
        self._ending = threading.Event()
        self._ending.set()
        self._lock = threading.RLock()

    @property
    def running(self) -> bool:
        return self.state == "running"

    @property
    def over(self) -> bool:
        """Whether it has ended and nobody will start it again."""
        return self.state in _OVER and not self._reviving

    def start(self) -> None:
        self._start(lambda: True)

    def ask_to_stop(self) -> None:
        """SIGTERM, once: clients take a second one as an order to drop everything."""
        with self._lock:
            self._cancel_restart()
            if self._asked:
                return
            self._asked = "stop"
            if self.state in ("new", "waiting"):
                self.state = "stopped"
        if self.process is not None:
            self.process.signal(signal.SIGCONT)
            self.process.signal(signal.SIGTERM)

    def wait_for_stop(self) -> None:
        """Wait for the end that was asked for; kill what ignores the request."""
        if self.process is None:
            return
        try:
            self.process.wait(self._grace_s)
        except TimeoutError:
            self._event("ignored-stop", after_s=self._grace_s)
            self.process.signal(signal.SIGKILL)
            self.process.wait(KILL_GRACE_S)

    def expect_end(self, why: str = "stop") -> None:
        """Its end is no surprise from now on, whoever brings it about."""
        with self._lock:
            self._asked = self._asked or why
            self._cancel_restart()

    def expect_life(self) -> None:
        """Its end would be a surprise again, if it still runs."""
        with self._lock:
            if self.state == "running":
                self._asked = ""

    def strike(self) -> None:
        """SIGKILL on purpose: no death to report, no restart by policy. Nobody waits for its end."""
        with self._lock:
            self._asked = "kill"
            self._cancel_restart()
        if self.process is not None:
            self.process.signal(signal.SIGKILL)

    def kill(self) -> None:
        """SIGKILL on purpose, and wait until it is gone."""
        self.strike()
        if self.process is not None:
            self.process.wait(KILL_GRACE_S)

    def restart(self) -> None:
        """Start again what has ended."""
        if self.process is None or self.process.poll() is not None:
            self.start()
            self._event("restarted", why="asked")

    def revive(self) -> None:
        """Start again what has ended, without waiting for it; a start that fails is a death."""
        with self._lock:
            if self._reviving or (self.process is not None and self.process.poll() is None):
                return
            self._cancel_restart()
            self._reviving = True
            self._start_later(0.0, "asked")

    def settle(self) -> None:
        """Wait for a start that is under way."""
        timer = self._timer
        if self._reviving and timer is not None:
            timer.join(SETTLE_S)

    def pause(self) -> None:
        if self.process is not None:
            self.process.signal(signal.SIGSTOP)

    def resume(self) -> None:
        if self.process is not None:
            self.process.signal(signal.SIGCONT)

    def _start(self, still_wanted: Callable[[], bool]) -> bool:
        """Launch a process, unless somebody thought better of it.

        The lock is not held meanwhile: the thread that brings the answer may be the one that tells of another end.
        """
        self._ending.wait(KILL_GRACE_S)  # what is to be said of the last one is said first
        with self._lock:
            if not still_wanted():
                return False
            self._asked = ""
            self.starts += 1
            number = self.starts
        process = self._launch(number)
        with self._lock:
            self.process, self.state = process, "running"
            self._event("started", pid=process.pid, start=number)
            self._ending.clear()
            asked = self._asked
        process.when_ended(self._ended)
        if asked:  # meanwhile
            process.signal(signal.SIGTERM if asked == "stop" else signal.SIGKILL)
        return True

    def _ended(self, process: Process) -> None:
        """From the network's reader thread: decide and write down, but never ask the network anything here."""
        how = process.poll()
        if how is None:
            return
        with self._lock:
            used = {"cpu_s": round(how.cpu_s, 3), "max_rss_bytes": how.max_rss_bytes}
            if self._asked:
                self.state = "stopped"
                self._event("stopped", how=str(how), why=self._asked, **used)
            elif how.code == 0:
                self.state = "finished"
                self._event("finished", **used)
            else:
                again = self._left > 0
                self.state = "waiting" if again else "died"
                self._event("died", how=str(how), code=how.code, restarts_left=self._left, **used)
                if again:
                    self._left -= 1
                    self._start_later(self._policy.delay_s, "policy")
        self._ending.set()

    def _start_later(self, delay_s: float, why: str) -> None:
        self._timer = threading.Timer(delay_s, self._start_again, (why,))
        self._timer.daemon = True
        self._timer.start()

    def _start_again(self, why: str) -> None:
        try:
            if self._start(lambda: self._reviving if why == "asked" else self.state == "waiting"):
                self._event("restarted", why=why)
        except (S2gError, TimeoutError, OSError) as error:
            self.state = "died"
            self._event("died", how=str(error), restarts_left=0)
        finally:
            self._reviving = False

    def _cancel_restart(self) -> None:
        self._reviving = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _event(self, kind: str, **details: Any) -> None:
        self._tell(kind, component=self.component, host=self.host, instance=self.instance, **details)
