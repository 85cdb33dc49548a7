"""What all client processes share: status lines, signals, exit codes, and an end that cannot hang.

A status line is ``S2G {json}`` on standard output. When the pipe is full, a progress line is dropped, so that the
load never waits for a reader. SIGTERM and SIGINT ask the client to stop. A second signal, or the deadline after the
first, ends the process at once; nothing that was recorded is lost.
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


class CannotContinue(Exception):
    """The client cannot go on; the text says why."""


class Status:
    """Writes status lines, from any thread."""

    def __init__(self, fd: int = 1) -> None:
        self._fd = fd
        # A pipe takes more than 4,096 bytes in pieces, between which another thread's line could go.
        self._writing = threading.Lock()
        self._is_torn = False
        self._pipe = stat.S_ISFIFO(os.fstat(fd).st_mode)
        if self._pipe:
            os.set_blocking(fd, False)

    def say(self, event: str, **details: Any) -> bool:
        """Write a line; all but progress lines wait up to a second for room. Returns whether it was written."""
        line = b"S2G " + json.dumps({"event": event, "at_ns": time.monotonic_ns(), **details}).encode() + b"\n"
        with self._writing:
            return self._write(line, may_drop=event == "progress")

    def _write(self, line: bytes, may_drop: bool) -> bool:
        if self._is_torn:
            line = b"\n" + line  # the rest of the last one never went out
        left = line
        try:
            while left:
                try:
                    left = left[os.write(self._fd, left) :]
                    self._is_torn = bool(left)
                except BlockingIOError:
                    if may_drop and left is line:
                        return False
                    if not select.select([], [self._fd], [], 1.0)[1]:
                        return False
        except OSError:
            return False  # nobody listens any more; the record is elsewhere
        return True


class StopFlag:
    """Set by SIGTERM or SIGINT; from then on the process lives at most ``within_s`` longer.

    A thread watches the deadline, because Python runs no signal handler during a call into the Kafka library. The
    thread learns of the signal at once, through a pipe.
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
    """End the process at once, because the clean-up of the Kafka library may wait for brokers that are gone."""
    sys.stderr.flush()
    os._exit(code)


def launch(name: str, main: Callable[[str], int]) -> None:
    """Run a client as a program: its only argument is the file with its configuration."""
    if len(sys.argv) != 2:
        complain(f"usage: python -m stream2gym.clients.{name} CONFIG.json")
        leave(BAD_CONFIG)
    leave(main(sys.argv[1]))


def report_error(status: Status, error: BaseException) -> int:
    """Report why a client ends early. Returns its exit code."""
    complain(error_text(error))
    status.say("error", what=error_text(error))
    if isinstance(error, RecordFull):
        return RECORD_FULL
    return BAD_CONFIG if isinstance(error, BadInput) else CANNOT


def error_text(error: BaseException) -> str:
    """The text of an error; of a Kafka error, the text that Kafka gives."""
    cause = error.args[0] if error.args else error
    return str(cause.str()) if hasattr(cause, "str") else str(error)


def complain(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


class GateLines:
    """The lines that come through the gate of a client, which is its standard input."""

    def __init__(self, fd: int = 0) -> None:
        self._fd = fd
        self._rest = b""

    def next_line(self, wait_s: float = 0.0) -> str | None:
        """The next line, waiting at most so long for it; None if there is none. EOFError: the gate was closed."""
        if b"\n" not in self._rest:
            if not select.select([self._fd], [], [], wait_s)[0]:
                return None
            part = os.read(self._fd, 4096)
            if not part:
                raise EOFError("standard input closed before it said when to start")
            self._rest += part
        if b"\n" not in self._rest:
            return None
        line, self._rest = self._rest.split(b"\n", 1)
        return line.decode()


def read_gate(stop: StopFlag, every_s: float, serve: Any) -> int | None:
    """Wait for t0: a line with CLOCK_MONOTONIC nanoseconds on standard input. Returns None when asked to stop."""
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
