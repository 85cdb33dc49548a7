"""Child processes of setup: they write to a log file, and die with us, whatever kills us."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

_PR_SET_PDEATHSIG = 1


def start(command: Sequence[str], log: Path, folder: Path) -> subprocess.Popen[bytes]:
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
            preexec_fn=die_with_parent,  # noqa: PLW1509 - it only makes system calls, so threads do not matter
        )


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill it if it still runs, and reap it."""
    if process.poll() is None:
        process.kill()
    process.wait()
