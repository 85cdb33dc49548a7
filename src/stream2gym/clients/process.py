"""What every client process has in common: status lines, signals, exit codes, an end that cannot hang.

A status line is ``S2G {json}`` on standard output, one write each. Nobody need read them: when the pipe is
full a progress line is dropped rather than let the load wait. SIGTERM and SIGINT ask to stop; a second one, or
the deadline after the first, ends the process at once, which loses nothing that was recorded.
"""

from __future__ import annotations

import json
import os
import select
import signal
import stat
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

from stream2gym.errors import BadInput
from stream2gym.record.journal import RecordFull

DONE, BAD_CONFIG, CANNOT, RECORD_FULL = 0, 2, 3, 5
STATUS_EVERY_NS = 500_000_000
GRACE_S = 1.0


class Cannot(Exception):
    """Why a client cannot go on."""


class Status:
    """Writes status lines."""

    def __init__(self, fd: int = 1) -> None:
        self._fd = fd
        self._pipe = stat.S_ISFIFO(os.fstat(fd).st_mode)
        if self._pipe:
            os.set_blocking(fd, False)

    def say(self, event: str, **details: Any) -> bool:
        """Write a line; one that matters waits up to a second for room in the pipe. Says whether it went out."""
        line = (
            b"S2G " + json.dumps({"event": event, "at_ns": time.monotonic_ns(), **details}).encode() + b"\n"
        )
        try:
            while line:
                try:
                    line = line[os.write(self._fd, line) :]
                except BlockingIOError:
                    if event == "progress" and line.startswith(b"S2G "):
                        return False
                    if not select.select([], [self._fd], [], 1.0)[1]:
                        return False
        except OSError:
            return False  # nobody listens any more; the record is elsewhere
        return True


class StopFlag:
    """Set by SIGTERM or SIGINT; from then on the process lives at most ``within_s`` longer.

    A thread keeps the deadline: a call into the Kafka library cannot be interrupted, and Python runs no signal
    handler before it returns, but the thread hears of the signal at once.
    """

    def __init__(self, within_s: float) -> None:
        self.asked = False
        self._within_s = within_s
        self._deadline = 0.0
        self._heard, wakeup = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        signal.set_wakeup_fd(wakeup, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)
        threading.Thread(target=self._keep_deadline, daemon=True).start()

    @property
    def left_s(self) -> float:
        """How long an orderly end may still take."""
        return max(0.0, self._deadline - time.monotonic()) if self.asked else self._within_s

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        if not self.asked:
            self._deadline = time.monotonic() + self._within_s
            self.asked = True

    def _keep_deadline(self) -> None:
        heard = select.poll()
        heard.register(self._heard, select.POLLIN)
        heard.poll()
        os.read(self._heard, 1)
        again = heard.poll((self._within_s + GRACE_S) * 1000)
        leave(128 + os.read(self._heard, 1)[0] if again else CANNOT)


def leave(code: int) -> None:
    """End at once: the Kafka library's own clean-up may wait for brokers that are gone."""
    sys.stderr.flush()
    os._exit(code)


def launch(name: str, main: Callable[[str], int]) -> None:
    """Run a client as a program: its only argument is the file with its configuration."""
    if len(sys.argv) != 2:
        complain(f"usage: python -m stream2gym.clients.{name} CONFIG.json")
        leave(BAD_CONFIG)
    leave(main(sys.argv[1]))


def ended(status: Status, error: BaseException) -> int:
    """Say why a client ends early; returns its exit code."""
    complain(words(error))
    status.say("error", what=words(error))
    if isinstance(error, RecordFull):
        return RECORD_FULL
    return BAD_CONFIG if isinstance(error, BadInput) else CANNOT


def words(error: BaseException) -> str:
    """What an error says; Kafka's own words when it is Kafka's."""
    cause = error.args[0] if error.args else error
    return str(cause.str()) if hasattr(cause, "str") else str(error)


def complain(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def read_gate(stop: StopFlag, every_s: float, serve: Any) -> int | None:
    """Wait for t0, a line with CLOCK_MONOTONIC nanoseconds on standard input; None when asked to stop."""
    line = b""
    while not stop.asked:
        serve()
        if not select.select([0], [], [], every_s)[0]:
            continue
        part = os.read(0, 4096)
        if not part:
            raise EOFError("standard input closed before it said when to start")
        line += part
        if b"\n" in line:
            return int(line.split(b"\n", 1)[0])
    return None
