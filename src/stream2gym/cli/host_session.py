"""A program on a host of a run that goes on, at this terminal: keys go there, and what it writes comes here."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import sys
import termios
import tty
from collections.abc import Iterator, Mapping, Sequence

from stream2gym.execution.host_requests import HostProgram, start_on_host
from stream2gym.record.folder import RunFolder

_BLOCK = 1 << 16
_SIZE = b"\0" * 8


def run_on_host(folder: RunFolder, host: str, argv: Sequence[str], env: Mapping[str, str] | None = None) -> int:
    """Run a program on a host and return its exit code. At a terminal it gets a terminal of its own."""
    sys.stdout.flush()
    if not (os.isatty(0) and os.isatty(1)):
        program = start_on_host(folder, host, argv, (0, 1, 2), env=env)
        try:
            return program.wait()
        finally:
            program.close()
    ours, theirs = os.openpty()
    try:
        copy_size(ours)
        program = start_on_host(folder, host, argv, (theirs, theirs, theirs), env=env, terminal=True)
    finally:
        os.close(theirs)
    try:
        with raw_terminal(ours):
            relay(ours, program)
        return program.wait()
    finally:
        program.close()
        os.close(ours)


def relay(ours: int, program: HostProgram) -> None:
    """Carry bytes between this terminal and that of the program, until the program or the run has ended."""
    connection = program.connection.fileno()
    sources = [0, ours, connection]
    while True:
        ready, _, _ = select.select(sources, [], [])
        if ours in ready:
            try:
                data = os.read(ours, _BLOCK)
            except OSError:  # nobody has the other side of it any more
                return
            os.write(1, data)
        elif connection in ready:
            return
        if 0 in ready:
            typed = os.read(0, _BLOCK)
            if not typed:
                sources.remove(0)
            with contextlib.suppress(OSError):
                os.write(ours, typed or b"\x04")


@contextlib.contextmanager
def raw_terminal(ours: int) -> Iterator[None]:
    """Hand every key on as it is, and every change of the window's size."""
    settings = termios.tcgetattr(0)
    before = signal.signal(signal.SIGWINCH, lambda *_: copy_size(ours))
    try:
        tty.setraw(0)
        yield
    finally:
        signal.signal(signal.SIGWINCH, before)
        termios.tcsetattr(0, termios.TCSADRAIN, settings)


def copy_size(ours: int) -> None:
    """Give the terminal of the program the size of this one."""
    with contextlib.suppress(OSError):
        fcntl.ioctl(ours, termios.TIOCSWINSZ, fcntl.ioctl(0, termios.TIOCGWINSZ, _SIZE))
