"""Child processes outside the emulated network. They are killed when this process ends, whatever ends it.

``start`` is for a child whose thread waits for it. ``Guarded`` runs a program under a guard (``process_guard``), for
programs that outlive the thread that started them, have processes of their own, or need a temporary folder.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import secrets
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

from stream2gym.software import process_guard

_PR_SET_PDEATHSIG = 1
ASK_EVERY_S = 0.2
KILL_S = 5.0  # what the guard may take to kill a program and to remove its folder


def start(
    command: Sequence[str], log: Path, folder: Path, env: Mapping[str, str] | None = None
) -> subprocess.Popen[bytes]:
    """Start ``command`` in ``folder`` with both outputs in ``log``."""
    libc, parent = ctypes.CDLL(None), os.getpid()

    def die_with_parent() -> None:
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it died before the line above
            os.kill(os.getpid(), signal.SIGKILL)

    with log.open("wb") as output:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env=env,
            preexec_fn=die_with_parent,  # noqa: PLW1509 - it only makes system calls, so threads do not matter
        )


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill the process if it still runs, and wait for it."""
    if process.poll() is None:
        process.kill()
    process.wait()


def new_folder_name(prefix: str) -> Path:
    """An unused name in the temporary directory; the guard makes the folder."""
    return Path(tempfile.gettempdir()) / f"{prefix}-{secrets.token_hex(6)}"


class Guarded:
    """A program under a guard. Its input is a pipe, its ``folder`` lives as long as the program."""

    def __init__(self, command: Sequence[str], folder: Path, env: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        # A file without a name: it goes with us.
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - it is read as long as this handle lives
        with guarded(folder) as (prefix, life, self._life):
            self._process = subprocess.Popen(
                [*prefix, *command], stdin=subprocess.PIPE, stdout=self._log, stderr=self._log, env=env,
                pass_fds=[life], start_new_session=True,
            )  # fmt: skip

    def poll(self) -> int | None:
        """The exit code of the program, or None while it runs."""
        return self._process.poll()

    def end_input(self) -> None:
        """Close the program's standard input."""
        if self._process.stdin is not None:
            self._process.stdin.close()

    def wait(self, timeout_s: float) -> bool:
        """Whether the program ended in time."""
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return False
        return True

    def kill(self) -> None:
        """Kill the program and remove its folder; may be called twice and from any thread."""
        life, self._life = self._life, -1
        if life >= 0:
            os.close(life)
        self.wait(KILL_S)
        with contextlib.suppress(OSError):
            self.end_input()

    def said(self) -> str:
        """What the program printed."""
        size = os.fstat(self._log.fileno()).st_size
        return os.pread(self._log.fileno(), size, 0).decode(errors="replace")


def run_guarded(
    command: Sequence[str],
    folder: Path,
    env: Mapping[str, str],
    errors: BinaryIO,
    why_over: Callable[[], str],
) -> tuple[int, bytes]:
    """Run a program in ``folder`` to its end. Returns its exit code and its output.

    ``why_over`` is called regularly. If it returns a reason, the program is killed and TimeoutError has that text.
    """
    with guarded() as (prefix, passed_on, life):
        process = subprocess.Popen(
            [*prefix, *command], env=env, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors,
            pass_fds=[passed_on],
        )  # fmt: skip
    output = b""
    try:
        while process.returncode is None:
            try:
                output, _ = process.communicate(timeout=ASK_EVERY_S)
            except subprocess.TimeoutExpired:
                if reason := why_over():
                    raise TimeoutError(reason) from None
    finally:
        os.close(life)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=KILL_S)
    return process.returncode, output


@contextlib.contextmanager
def guarded(folder: Path | None = None) -> Iterator[tuple[list[str], int, int]]:
    """The prefix of a command that runs under a guard, the descriptor to pass on, and the descriptor to hold.

    The program is killed when the held descriptor is closed, at the latest when this process ends. The other
    descriptor is closed here when the block ends.
    """
    read, write = os.pipe()
    try:
        yield [sys.executable, "-I", "-S", process_guard.__file__, str(read), str(folder or "")], read, write
    except BaseException:
        os.close(write)
        raise
    finally:
        os.close(read)
