"""Whatever is killed, and whenever: nothing stays."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.support.leaks import left_behind, snapshot
from tests.support.users import User

VICTIMS = ("command", "keeper", "supervisor", "fabric", "program")


def kill_many(user: User, topology: Path, times: int, seed: int) -> None:
    dice = random.Random(seed)
    before = snapshot()
    hits = dict.fromkeys(VICTIMS, 0)
    for _batch in range(times // 4):
        runs = [_Run(user, topology, dice) for _ in range(4)]
        for run in sorted(runs, key=lambda run: run.kill_at):
            hits[run.kill()] += 1
        for run in runs:
            run.process.wait(20)
    assert left_behind(before) == {}
    assert min(hits["command"], hits["keeper"], hits["supervisor"], hits["fabric"]) > 0, hits


class _Run:
    """One command that will be hit at a random moment: set-up, running or tear-down."""

    def __init__(self, user: User, topology: Path, dice: random.Random) -> None:
        program = dice.choice((["sleep", "60"], ["sleep", "0.1"], ["true"]))
        self.process = user.popen(
            "shell", str(topology), "h3", "--", *program,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self.victim = dice.choice(VICTIMS)
        self.kill_at = time.monotonic() + dice.uniform(0.0, 1.6)

    def kill(self) -> str:
        time.sleep(max(0.0, self.kill_at - time.monotonic()))
        chain = _chain(self.process.pid)
        name = self.victim if self.victim in chain else "command"
        with contextlib.suppress(ProcessLookupError):
            os.kill(chain.get(name, self.process.pid), signal.SIGKILL)
        if name == "program" or chain.get(name) is None:
            self.process.kill()
        return name


def _chain(command: int) -> dict[str, int]:
    """The processes of the run, found from parent to child, so that no one else's is ever hit."""
    chain = {"command": command}
    for child in _children(command):
        chain["keeper"] = child
        for inner in _children(child):
            chain["supervisor"] = inner
            for last in _children(inner):
                kind = "fabric" if "fabric.userspace" in _command(last) else "program"
                chain[kind] = last
    return chain


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
