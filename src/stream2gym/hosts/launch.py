"""Starts one program on a host: fork, enter the host, exec. A failure before exec is reported in one line."""

from __future__ import annotations

import base64
import contextlib
import errno
import fcntl
import os
import resource
import signal
import struct
import termios
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NoReturn

from stream2gym import linux
from stream2gym.hosts import host_init
from stream2gym.hosts.emulated_host import WORK, EmulatedHost, OwnNamespaces
from stream2gym.jsonable import Jsonable

# How a program is related to the terminal of the command. "none": it has a session of its own, so that Ctrl-C reaches
# only the command. "group": it is in the process group of the command. "foreground": it has a process group of its
# own in the foreground, so that a shell can control jobs. "own": it has a session of its own, whose terminal is its
# standard input; that is a terminal of another command than the one that owns the network.
Terminal = Literal["none", "group", "foreground", "own"]
# How a program ended, as waitpid tells it.
STATUS = struct.Struct("i")


@dataclass(frozen=True)
class Program(Jsonable):
    """A program to run: an argument list (never a shell string) and how to run it."""

    argv: tuple[str, ...]
    env: dict[str, str] = field(default_factory=dict)
    cwd: str = WORK
    terminal: Terminal = "none"
    niceness: int = 0
    # Whether it runs with SCHED_BATCH, so that it gives way to the fabric.
    batch: bool = False
    # Files that are written before the program starts: content in base64 by path on the host.
    files: dict[str, str] = field(default_factory=dict)

    @property
    def has_own_session(self) -> bool:
        return self.terminal in ("none", "own")


class LaunchError(Exception):
    """The program could not be started; the text names the step and the reason."""


@dataclass(frozen=True)
class Launched:
    """A program that runs. ``pid_on_host`` is its PID on the host; the other PIDs are of the supervisor's namespace.

    ``reaper`` is a child of the supervisor that adopts orphans of the program, or the program itself if it shares the
    terminal of the command. ``status`` is the pipe on which the reaper tells how the program ended, or -1.
    """

    reaper: int
    main: int
    pid_on_host: int
    status: int


def launch(
    host: EmulatedHost, own: OwnNamespaces, program: Program, stdio: Sequence[int], open_files: tuple[int, int]
) -> Launched:
    """Start the program on the host, with the user's limit of open files. Returns when it runs."""
    read, write = os.pipe()
    status_read, status_write = os.pipe()
    linux.setns(host.pid, linux.CLONE_NEWPID)
    try:
        pid = os.fork()
        if pid == 0:
            if program.has_own_session:
                _fork_below_reaper(status_write)
            _become(host, program, stdio, open_files, write)
    finally:
        linux.setns(own.pid, linux.CLONE_NEWPID)
        os.close(write)
        os.close(status_write)
    with os.fdopen(read, "rb") as report:
        numbers, _, problem = report.read().partition(b"\n")
    if problem or not numbers:
        os.waitpid(pid, 0)
        os.close(status_read)
        raise LaunchError(problem.decode(errors="replace") or "it was killed while it started")
    main, pid_on_host = map(int, numbers.split())
    if not program.has_own_session:
        os.close(status_read)
        status_read = -1
    return Launched(pid, main, pid_on_host, status_read)


def _fork_below_reaper(status: int) -> None:
    """Fork, and return in the child only. The parent stays as the reaper of the program.

    A descendant of the program whose parent ends (a daemon that forks twice) becomes a child of the reaper, so that
    the descendants of the reaper are the whole program. The reaper ends after the last of them.
    """
    linux.adopt_orphans()
    main = os.fork()
    if main == 0:
        linux.die_with_parent()
        return
    host_init.ignore_signals()
    linux.name_process("s2g-reaper")
    linux.close_all_but(status)
    os.setsid()
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, how = os.waitpid(-1, 0)
            if pid == main:
                os.write(status, STATUS.pack(how))
                os.close(status)
    os._exit(0)


def _become(
    host: EmulatedHost, program: Program, stdio: Sequence[int], open_files: tuple[int, int], report: int
) -> NoReturn:
    step = "entering the host"
    try:
        # First of all, because a signal to the group of the command must not end a program that has just been forked.
        if program.has_own_session:
            os.setsid()
        for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
            with contextlib.suppress(OSError, ValueError):
                signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        # This /proc is still the supervisor's, so that it shows our PID in the supervisor's namespace.
        os.write(report, f"{os.readlink('/proc/self')} {os.getpid()}\n".encode())
        host.enter()
        _give_way(program)
        resource.setrlimit(resource.RLIMIT_NOFILE, open_files)
        for target, source in enumerate(_above(stdio)):
            os.dup2(source, target)
        if program.terminal == "own":
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        if program.terminal == "foreground":
            os.setpgid(0, 0)
            give_terminal(0, os.getpid())
        for path, content in program.files.items():
            step = f"writing {path!r}"
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(base64.b64decode(content))
        step = f"changing to folder {program.cwd!r}"
        os.chdir(program.cwd)
        step = f"running {program.argv[0]!r}"
        os.execve(find_program(program.argv[0], program.env), program.argv, program.env)
    except BaseException as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        os.write(report, f"{step}: {reason}".encode())
    os._exit(127)


def give_terminal(fd: int, group: int) -> None:
    """Make this process group the foreground group of the terminal, if there is a terminal."""
    # Without the mask, a process in the background is stopped by this.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTOU})
    with contextlib.suppress(OSError):
        os.tcsetpgrp(fd, group)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)


def find_program(name: str, env: Mapping[str, str]) -> str:
    """The file to run: ``name`` itself if it is a path, else the first executable of that name on the PATH."""
    if "/" in name:
        return name
    for folder in os.get_exec_path(env):
        path = os.path.join(folder, name)
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    raise OSError(errno.ENOENT, "No such file on the PATH")


def _above(stdio: Sequence[int]) -> list[int]:
    """Copies of the descriptors above 2, so that moving one to 0, 1 or 2 does not overwrite another."""
    copies = []
    for fd in stdio:
        copy = os.dup(fd)
        while copy <= 2:
            copy = os.dup(fd)
        os.set_inheritable(copy, False)
        copies.append(copy)
    return copies


def _give_way(program: Program) -> None:
    if program.niceness:
        os.nice(program.niceness)
    if program.batch:
        with contextlib.suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    if program.has_own_session and program.niceness > 0:
        # With autogroup, sessions compete as a whole, and niceness counts only inside a session.
        with contextlib.suppress(OSError), open("/proc/self/autogroup", "w") as autogroup:
            autogroup.write(str(program.niceness))
