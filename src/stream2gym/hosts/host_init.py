"""The init of a host: process 1 of the host's own PID namespace.

Every process of the host is in that namespace. So a program can see and signal the processes of its own host only,
and the kernel kills all of them when the init ends. The init only waits for orphans. It is started with the first
process of the host, and again with the first one after the host was without power.
"""

from __future__ import annotations

import contextlib
import os
import signal
from typing import NoReturn

from stream2gym import linux


def start_host_init(mnt: int, own_pid: int) -> tuple[int, int]:
    """Start the init of the host with the mount namespace ``mnt``; ``own_pid`` is our own PID namespace.

    Returns the PID of the init and a descriptor of its PID namespace. ``/proc`` of the host shows that namespace.
    """
    read, write = os.pipe()
    linux.unshare(linux.CLONE_NEWPID)
    try:
        pid = os.fork()
        if pid == 0:
            _live(mnt, write)
    finally:
        # Otherwise the next child of this process, for whatever host, would be in this namespace.
        linux.setns(own_pid, linux.CLONE_NEWPID)
        os.close(write)
    with os.fdopen(read) as report:
        problem = report.read()
    if problem:
        os.waitpid(pid, 0)
        number, _, step = problem.partition(" ")
        raise OSError(int(number), os.strerror(int(number)), step)
    return pid, os.open(f"/proc/{pid}/ns/pid", os.O_RDONLY | os.O_CLOEXEC)


def _live(mnt: int, report: int) -> NoReturn:
    try:
        ignore_signals()
        linux.name_process("s2g-host")
        linux.setns(mnt, linux.CLONE_NEWNS)
        linux.mount("proc", "/proc", "proc", linux.MS_NOSUID | linux.MS_NODEV | linux.MS_NOEXEC)
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
        linux.close_all_but()
        while True:
            signal.sigwait({signal.SIGCHLD})
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
    except OSError as error:
        os.write(report, f"{error.errno} {error.filename or 'the init of the host'}".encode())
    finally:
        os._exit(1)


def ignore_signals() -> None:
    """Ignore every signal that can be ignored, except SIGCHLD, so that children can be waited for."""
    signal.set_wakeup_fd(-1)
    for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD}:
        with contextlib.suppress(OSError, ValueError):
            signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
