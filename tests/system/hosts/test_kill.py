"""Whatever is killed, and whenever: nothing stays."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.leaks import left_behind, snapshot
from tests.support.users import User

PROGRAMS = (["sleep", "60"], ["sleep", "0.2"], ["true"])
VICTIMS = ("command", "keeper", "supervisor", "fabric", "init", "program")


def kill_many(user: User, topology: Path, times: int, seed: int) -> None:
    dice = random.Random(seed)
    before = snapshot()
    hits = dict.fromkeys((*VICTIMS, "nobody"), 0)
    for batch in range(times // 4):
        runs = [_Run(user, topology, dice, batch * 4 + number) for number in range(4)]
        with ThreadPoolExecutor(len(runs)) as pool:
            for hit in pool.map(_Run.kill, runs):
                hits[hit] += 1
        for run in runs:
            run.process.wait(20)
    assert left_behind(before) == {}
    assert min(hits[victim] for victim in VICTIMS) > 0, hits


class _Run:
    """One command that will be hit at a random moment: set-up, running or tear-down.

    Victims come in turn. The first round runs a long program, so that each kind is surely hit once.
    """

    def __init__(self, user: User, topology: Path, dice: random.Random, number: int) -> None:
        self.victim = VICTIMS[number % len(VICTIMS)]
        is_long = number < len(VICTIMS) or self.victim == "program"
        program = ["sleep", "60"] if is_long else dice.choice(PROGRAMS)
        self.process = user.popen(
            "shell", str(topology), "h3", "--", *program,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self.kill_after_s = dice.uniform(0.0, 1.5 if self.victim == "command" else 0.4)

    def kill(self) -> str:
        """Hit the victim some time after it was first seen; the command when the run was over before."""
        found = None
        while found is None and self.process.poll() is None:
            found = _chain(self.process.pid).get(self.victim)
            time.sleep(0.002)
        time.sleep(self.kill_after_s)
        hit = self.victim if found in _chain(self.process.pid).values() else "nobody"
        if found is not None and hit != "nobody":
            with contextlib.suppress(ProcessLookupError):
                os.kill(found, signal.SIGKILL)
        if hit in ("program", "nobody"):
            self.process.terminate()
        return hit


def _chain(command: int) -> dict[str, int]:
    """The processes of the run, found from parent to child, so that no one else's is ever hit."""
    chain = {"command": command}
    for child in _children(command):
        chain["keeper"] = child
        for inner in _children(child):
            chain["supervisor"] = inner
            for last in _children(inner):
                chain[_kind(last)] = last
    return chain


def _kind(pid: int) -> str:
    """Which child of the supervisor it is; the init of a host is a copy of the supervisor itself."""
    command = _command(pid)
    return "fabric" if "fabric.userspace" in command else "init" if "hosts.keeper" in command else "program"


def _children(pid: int) -> list[int]:
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return ""


def test_killing_any_process_of_a_run_leaves_nothing_behind(user: User, topology: Path) -> None:
    kill_many(user, topology, times=40, seed=1)


@pytest.mark.long
@pytest.mark.timeout(600)
def test_a_hundred_kills_leave_nothing_behind(user: User, topology: Path) -> None:
    kill_many(user, topology, times=100, seed=2)
