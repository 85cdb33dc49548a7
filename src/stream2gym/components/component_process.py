"""One process of a component, over all its starts and ends.

A process that exits with 0 has finished. One that ends otherwise, and that was not asked to end, has died: this is an
event, and the process is started again as long as the restart policy of its component allows.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Self

from stream2gym.errors import S2gError
from stream2gym.hosts.process import Process
from stream2gym.spec.model import Restart

State = Literal["new", "running", "waiting", "finished", "died", "stopped"]
STOP_GRACE_S = 5.0
KILL_GRACE_S = 5.0
RESTART_S = 30.0
_OVER = ("finished", "died", "stopped")

# Starts a process; its argument is the number of the start, from 1.
Launch = Callable[[int], Process]
# Records an event: tell("died", component=..., ...).
Tell = Callable[..., Any]


@dataclass(frozen=True)
class RestartPolicy:
    """How often a process that died is started again, and after how long."""

    times: int = 0
    delay_s: float = 1.0

    @classmethod
    def of(cls, restart: Restart) -> Self:
        """The policy that an experiment asks for."""
        return cls(restart.times, float(restart.delay))


class ComponentProcess:
    """One process of a component, which may be started again and again. ``tell`` records every start and end.

    ``handle`` is the handle of the process that was started last; None before the first start.
    """

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
        self.handle: Process | None = None
        # When its last process ended, on CLOCK_MONOTONIC; None while none has.
        self.ended_ns: int | None = None
        self._launch = launch
        self._tell = tell
        self._policy = policy or RestartPolicy()
        self._left = self._policy.times
        self._grace_s = grace_s
        # Why its end is no death: stop, kill. Empty while its end would be one.
        self._asked = ""
        self._timer: threading.Timer | None = None
        # It was stopped by hand and is never started again.
        self.is_retired = False
        # Whether a start that was asked for is under way.
        self._reviving = False
        # Cleared while a process runs, and until its end is recorded.
        self._ending = threading.Event()
        self._ending.set()
        self._lock = threading.RLock()

    @property
    def running(self) -> bool:
        return self.state == "running"

    @property
    def is_asked_to_end(self) -> bool:
        """Whether it was asked or made to end, so that its end is no death."""
        return bool(self._asked)

    @property
    def over(self) -> bool:
        """Whether it has ended and will not be started again."""
        return self.state in _OVER and not self._reviving

    def start(self) -> None:
        """Start a process."""
        self._start(lambda: True)

    def ask_to_stop(self) -> None:
        """Send SIGTERM, but only once: a second one makes our clients drop everything."""
        with self._lock:
            self._cancel_restart()
            if self._asked:
                return
            self._asked = "stop"
            if self.state in ("new", "waiting"):
                self.state = "stopped"
        if self.handle is not None:
            # In this order a process that was stopped does nothing before it learns that it is to end.
            self.handle.signal(signal.SIGTERM)
            self.handle.signal(signal.SIGCONT)

    def wait_for_stop(self) -> None:
        """Wait for the end that was asked for. A process that ignores the request is killed after a while."""
        if self.handle is None:
            return
        try:
            self.handle.wait(self._grace_s)
        except TimeoutError:
            self._event("ignored-stop", after_s=self._grace_s)
            self.handle.signal(signal.SIGKILL)
            self.handle.wait(KILL_GRACE_S)

    def retire(self) -> None:
        """Start it never again, whatever its restart policy or a fault that ends would do."""
        with self._lock:
            self.is_retired = True
            self._cancel_restart()

    def expect_end(self, why: str = "stop") -> None:
        """From now on its end is no death, whoever causes it."""
        with self._lock:
            self._asked = self._asked or why
            self._cancel_restart()

    def expect_running(self) -> None:
        """If it still runs, its end is a death again."""
        with self._lock:
            if self.state == "running":
                self._asked = ""

    def send_kill(self) -> None:
        """Send SIGKILL on purpose, so that it is no death and the restart policy does not apply. Does not wait."""
        with self._lock:
            self._asked = "kill"
            self._cancel_restart()
            if self.state == "waiting":
                self.state = "stopped"
        if self.handle is not None:
            self.handle.signal(signal.SIGKILL)

    def kill(self) -> None:
        """Send SIGKILL on purpose, and wait until the process has ended."""
        self.send_kill()
        if self.handle is not None:
            self.handle.wait(KILL_GRACE_S)

    def restart(self) -> None:
        """Start it again if it has ended, without waiting for the start. A start that fails is a death."""
        with self._lock:
            if self.is_retired or self._reviving or (self.handle is not None and self.handle.poll() is None):
                return
            self._cancel_restart()
            self._reviving = True
            self._start_later(0.0, "asked")

    def wait_for_restart(self) -> None:
        """Wait for a start that is under way."""
        timer = self._timer
        if self._reviving and timer is not None:
            timer.join(RESTART_S)

    def pause(self) -> None:
        """Freeze the process (SIGSTOP)."""
        if self.handle is not None:
            self.handle.signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let a frozen process continue (SIGCONT)."""
        if self.handle is not None:
            self.handle.signal(signal.SIGCONT)

    def _start(self, still_wanted: Callable[[], bool]) -> bool:
        """Launch a process if it is still wanted. Returns whether it was launched.

        The lock is not held during the launch, because the thread that brings the answer of the network may have to
        record another end first.
        """
        # The end of the last process is recorded before the start of the next.
        self._ending.wait(KILL_GRACE_S)
        with self._lock:
            if not still_wanted():
                return False
            self._asked = ""
            self.starts += 1
            number = self.starts
        process = self._launch(number)
        with self._lock:
            self.handle = process
            self.state = "running"
            self._event("started", pid=process.pid, start=number)
            self._ending.clear()
            asked = self._asked
        process.when_ended(self._ended)
        if asked:  # during the launch
            process.signal(signal.SIGTERM if asked == "stop" else signal.SIGKILL)
        return True

    def _ended(self, process: Process) -> None:
        """Record how the process ended, and start it again if its policy says so.

        The reader thread of the network calls this; therefore it must not ask the network anything.
        """
        how = process.poll()
        if how is None:
            return
        with self._lock:
            self.ended_ns = time.monotonic_ns()
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
