"""Starting one process on a host: fork, enter, exec. What fails before exec comes back as one line."""

from __future__ import annotations

import base64
import contextlib
import errno
import os
import resource
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NoReturn

from stream2gym.hosts.machine import WORK, Machine
from stream2gym.jsonable import Jsonable

# How a program stands to the terminal of the command: away from it in a session of its own, so that Ctrl-C reaches
# only the command; in the command's own process group; or in the foreground, so that shells can control jobs.
Terminal = Literal["none", "group", "foreground"]


@dataclass(frozen=True)
class Program(Jsonable):
    """What to run: an argument list, never a shell string."""

    argv: tuple[str, ...]
    env: dict[str, str] = field(default_factory=dict)
    cwd: str = WORK
    terminal: Terminal = "none"
    niceness: int = 0
    batch: bool = False  # SCHED_BATCH: gives way to the fabric
    files: dict[str, str] = field(
        default_factory=dict
    )  # path on the host to content in base64, written before


class LaunchError(Exception):
    """The program could not be started; the text says at which step and why."""


def launch(machine: Machine, program: Program, stdio: Sequence[int], open_files: tuple[int, int]) -> int:
    """Start the program on the machine, with the user's limit of open files, and return its PID once it runs."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        _become(machine, program, stdio, open_files, write)
    os.close(write)
    with os.fdopen(read, "rb") as report:
        problem = report.read()
    if problem:
        os.waitpid(pid, 0)
        raise LaunchError(problem.decode(errors="replace"))
    return pid


def _become(
    machine: Machine, program: Program, stdio: Sequence[int], open_files: tuple[int, int], report: int
) -> NoReturn:
    step = "entering the host"
    try:
        for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
            with contextlib.suppress(OSError, ValueError):
                signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        machine.enter()
        if program.terminal == "none":
            os.setsid()
        _give_way(program)
        resource.setrlimit(resource.RLIMIT_NOFILE, open_files)
        for target, source in enumerate(_above(stdio)):
            os.dup2(source, target)
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
    """Make the process group the one that the terminal's keys reach; nothing where there is no terminal."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTOU})  # else doing it from behind stops us
    with contextlib.suppress(OSError):
        os.tcsetpgrp(fd, group)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)


def find_program(name: str, env: Mapping[str, str]) -> str:
    """The file to run: ``name`` itself when it is a path, else the first on PATH that may be run."""
    if "/" in name:
        return name
    for folder in os.get_exec_path(env):
        path = os.path.join(folder, name)
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    raise OSError(errno.ENOENT, "No such file on the PATH")


def _above(stdio: Sequence[int]) -> list[int]:
    """Copies of the descriptors beyond 0, 1, 2, so that placing one never overwrites another."""
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
    if program.terminal == "none" and program.niceness > 0:
        # With autogroup a session competes as a whole: niceness inside it does not reach the fabric.
        with contextlib.suppress(OSError), open("/proc/self/autogroup", "w") as autogroup:
            autogroup.write(str(program.niceness))
