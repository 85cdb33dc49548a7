"""Starting one process on a host: fork, enter, exec. What fails before exec comes back as one line."""

from __future__ import annotations

import base64
import contextlib
import os
import resource
import signal
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from stream2gym.hosts.machine import Machine
from stream2gym.jsonable import Jsonable


@dataclass(frozen=True)
class Program(Jsonable):
    """What to run: an argument list, never a shell string."""

    argv: tuple[str, ...]
    env: dict[str, str] = field(default_factory=dict)
    cwd: str = "/tmp/work"
    own_session: bool = True  # away from the terminal, so that Ctrl-C reaches only the command
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
        machine.enter()
        if program.own_session:
            os.setsid()
        _give_way(program)
        resource.setrlimit(resource.RLIMIT_NOFILE, open_files)
        for target, source in enumerate(_above(stdio)):
            os.dup2(source, target)
        for path, content in program.files.items():
            step = f"writing {path!r}"
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(base64.b64decode(content))
        step = f"changing to folder {program.cwd!r}"
        os.chdir(program.cwd)
        step = f"running {program.argv[0]!r}"
        os.execvpe(program.argv[0], program.argv, program.env)
    except BaseException as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        os.write(report, f"{step}: {reason}".encode())
    os._exit(127)


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
    if program.own_session and program.niceness > 0:
        # With autogroup a session competes as a whole: niceness inside it does not reach the fabric.
        with contextlib.suppress(OSError), open("/proc/self/autogroup", "w") as autogroup:
            autogroup.write(str(program.niceness))
