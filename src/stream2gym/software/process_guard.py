"""The guard: a small process that runs a program outside the emulated network and kills it when our process ends.

Run as ``python -I -S process_guard.py LIFE FOLDER COMMAND ...``. LIFE is the reading end of a pipe that only our
process holds open. However our process ends, the pipe closes, and the guard kills the program with its whole
process group. FOLDER (empty: none) is made before the program starts and removed after it. If the guard is killed,
the kernel kills the program (parent death signal). The guard ends with the exit code of the program, or with 128 +
N after signal N.

It imports little, because a run waits for its start.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import sys
from typing import NoReturn

_PR_SET_PDEATHSIG = 1
# The terminal and `kill -- -GROUP` mean us, not the guard: it follows us.
IGNORED = (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP)


def main() -> int:
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)
    life, folder, command = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
    if folder:
        os.mkdir(folder, 0o700)
    try:
        return run(life, command)
    finally:
        if folder:
            import shutil

            shutil.rmtree(folder, ignore_errors=True)


def run(life: int, command: list[str]) -> int:
    """Run the program until it ends or the pipe closes."""
    libc, guard = ctypes.CDLL(None), os.getpid()
    program = os.fork()
    if program == 0:
        become(command, libc, guard)
    handle = os.pidfd_open(program)
    ready, _, _ = select.select([life, handle], [], [])
    if handle not in ready:
        signal.pidfd_send_signal(handle, signal.SIGKILL)
    # The group's number is the program's own until it is waited for. What the program left of it goes, too.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(program, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(program, 0)[1])
    return code if code >= 0 else 128 - code


def become(command: list[str], libc: ctypes.CDLL, guard: int) -> NoReturn:
    try:
        for number in IGNORED:
            signal.signal(number, signal.SIG_DFL)
        os.setsid()
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() == guard:  # else it died before the line above
            os.execvp(command[0], command)
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode())
    os._exit(127)


if __name__ == "__main__":
    sys.exit(main())
