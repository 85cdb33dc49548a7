"""The signals that ask this process to end: SIGINT, SIGTERM and SIGHUP.

A thread counts them. It reads the interpreter's wake-up pipe. So a main thread that is inside an import, a lock or a
foreign library does not delay a signal, and nothing is raised where a lock would stay held. During a run the first
signal asks for an orderly stop. The second signal ends the process, whatever it does; what a run has started ends
with it (see ``hosts/keeper.py`` and ``software/process_guard.py``).
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType, TracebackType
from typing import Any, NoReturn, Self

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
EXIT_CODE = 130
# What ``before_exit`` may take.
BEFORE_EXIT_S = 1.0
# What a command without an orderly stop may take to end after the first signal.
LEAVE_S = 3.0
_SHOW_CURSOR = b"\x1b[?25h"


class Interrupts:
    """Counts the signals of this process while its block runs. Only the main thread can listen to signals.

    With ``ends_process``, the second signal ends the process at once. Outside of ``orderly`` the first one raises
    KeyboardInterrupt, and ends the process if it still runs ``LEAVE_S`` later. Without ``ends_process`` (in a program
    that uses our Python API) the second signal raises KeyboardInterrupt instead.
    """

    def __init__(self, *, ends_process: bool = False) -> None:
        self.count = 0
        # When the first signal came, on the clock of time.monotonic.
        self.asked_at: float | None = None
        self._ends_process = ends_process
        self._handled = 0
        self._is_orderly = False
        self._on_first: Callable[[], None] = lambda: None
        self._before_exit: Callable[[], None] = lambda: None
        self._before: dict[int, Any] = {}
        self._wakeup_before = -1
        self._ours: socket.socket | None = None
        self._interpreters: socket.socket | None = None

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._ours, self._interpreters = socket.socketpair()
            self._interpreters.setblocking(False)
            self._wakeup_before = signal.set_wakeup_fd(self._interpreters.fileno(), warn_on_full_buffer=False)
            threading.Thread(target=self._listen, args=(self._ours,), name="s2g-signals", daemon=True).start()
            for number in SIGNALS:
                # A process that was started with nohup goes on when its terminal is closed.
                if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
                    self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop listening, and restore what every signal did before."""
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before.clear()
        if self._interpreters is not None:
            signal.set_wakeup_fd(self._wakeup_before)
            # This ends the thread.
            self._interpreters.close()
            self._interpreters = None

    @property
    def asked(self) -> bool:
        """Whether this process was asked to end."""
        return self.count > 0 or self._handled > 0

    @contextlib.contextmanager
    def orderly(self, on_first: Callable[[], None], before_exit: Callable[[], None] = lambda: None) -> Iterator[None]:
        """While the block runs, the first signal calls ``on_first`` and raises nothing; the block checks ``asked``.

        ``before_exit`` is called before the process is ended at once. Both are called on another thread. Blocks may
        be nested: the innermost one is told, and then the one around it applies again.
        """
        outer = self._on_first, self._before_exit, self._is_orderly
        self._on_first = on_first
        self._before_exit = before_exit
        self._is_orderly = True
        try:
            if self.asked:
                # The KeyboardInterrupt that was raised before has been swallowed.
                raise KeyboardInterrupt
            yield
        finally:
            self._on_first, self._before_exit, self._is_orderly = outer

    def stop_raising(self) -> None:
        """Let signals raise nothing from now on, because the process is about to end by itself."""
        self._is_orderly = True

    def _handle(self, _number: int, _frame: FrameType | None) -> None:
        """Raise KeyboardInterrupt where one is due. The interpreter calls this on the main thread."""
        self._handled += 1
        if self._ends_process:
            if self._handled == 1 and not self._is_orderly:
                raise KeyboardInterrupt
        elif self._handled > 1:
            raise KeyboardInterrupt

    def _listen(self, ours: socket.socket) -> None:
        with ours:
            while True:
                leaving = self._ends_process and self.asked and not self._is_orderly
                readable, _, _ = select.select([ours], [], [], LEAVE_S if leaving else None)
                if not readable:
                    self._end_at_once()
                    return
                numbers = ours.recv(64)
                if not numbers:
                    return
                for _ in range(sum(number in SIGNALS for number in numbers)):
                    self._count()

    def _count(self) -> None:
        self.count += 1
        if self.count == 1:
            self.asked_at = time.monotonic()
            with contextlib.suppress(Exception):
                self._on_first()
        elif self._ends_process:
            self._end_at_once()

    def _end_at_once(self) -> None:
        """End the process, whatever its threads do, after ``before_exit``, which has a limited time."""
        with contextlib.suppress(Exception):
            thread = threading.Thread(target=self._before_exit, daemon=True)
            thread.start()
            thread.join(BEFORE_EXIT_S)
        with contextlib.suppress(OSError):
            if os.isatty(2):
                os.write(2, _SHOW_CURSOR)
        os._exit(EXIT_CODE)


def leave(code: int) -> NoReturn:
    """End this process with an exit code, without waiting for any thread. What it printed is flushed first."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(code)
