"""Two signals in a row end the command from anywhere, soon, and nothing stays.

The moments are drawn from the whole life of a command: interpreter start, imports, every phase of a run, the
analysis. Each command has a temporary folder of its own, which must be empty afterwards.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from stream2gym.analysis.fake_run import rehearsal
from tests.support.hangups import hangups
from tests.support.leaks import left_behind, snapshot
from tests.support.users import myself
from tests.system.small import SMALL

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
OVER_WITHIN_S = 5.0
AT_ONCE = 4
NETWORK = 's2g: 1\ntopology: {hosts: [h1, h2], links: ["h1 -- h2: 1 ms"]}\n'
SHORT = SMALL.replace("time: 30 s", "time: 1 s")


@dataclass(frozen=True)
class Case:
    """A command, and how long it takes at most on a busy machine."""

    arguments: tuple[str, ...]
    length_s: float
    last_word: str  # what it prints when its work is done


@dataclass(frozen=True)
class Ended:
    """How one command took its two signals."""

    case: Case
    signals: tuple[signal.Signals, signal.Signals]
    first_s: float
    gap_s: float
    after_s: float | None  # from the second signal to the end; None: it did not end
    code: int | None
    was_ready: bool  # our handlers were installed when the first signal came
    was_over: bool  # it had ended by itself before the first signal
    left: tuple[str, ...]  # in its temporary folder
    said: str

    @property
    def is_right(self) -> bool:
        if self.was_over:
            return True
        was_done = self.code == 0 and self.case.last_word in self.said  # the first signal came a moment too late
        code_is_right = self.code == 130 or was_done if self.was_ready else self.code != 0
        soon = self.after_s is not None and self.after_s < OVER_WITHIN_S
        return soon and code_is_right and not self.left and "Traceback" not in self.said * self.was_ready


def write_cases(folder: Path) -> list[Case]:
    """The commands that are interrupted; the recorded run is made by hand, so that its analysis is all there is."""
    (folder / "net.yaml").write_text(NETWORK)
    (folder / "small.yaml").write_text(SHORT)
    recorded = rehearsal().write(folder / "recorded")
    return [
        Case(("run", "net.yaml"), 3.0, "h1 -- h2"),
        Case(("run", "small.yaml"), 16.0, "report: "),
        Case(("run", "small.yaml"), 16.0, "report: "),
        Case(("report", str(recorded), "--again"), 8.0, "report.html"),
        Case(("validate", "small.yaml"), 0.6, "is valid"),
    ]


def interrupt_twice(folder: Path, number: int, case: Case, seed: int) -> Ended:
    """Start the command, wait, signal, wait, signal, and see what becomes of it."""
    dice = random.Random(seed)
    first_s, gap_s = dice.uniform(0.0, case.length_s), dice.choice((0.0, dice.uniform(0.0, 1.5)))
    signals = (dice.choice(SIGNALS), dice.choice(SIGNALS))
    temporary = folder / f"tmp-{number}"
    temporary.mkdir()
    out = ("--out", str(folder / f"run-{number}")) if case.arguments[0] == "run" else ()
    said = folder / f"said-{number}"
    with said.open("wb") as output:
        process = myself().popen(
            *case.arguments, *out, cwd=folder, env={"TMPDIR": str(temporary)}, stdin=subprocess.DEVNULL,
            stdout=output, stderr=output, start_new_session=True,
        )  # fmt: skip
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(first_s)
    was_over, was_ready = process.poll() is not None, _catches(process.pid, signal.SIGTERM)
    send(process, signals[0], to_group=dice.random() < 0.5)
    _wait_until_taken(process, signals[0])
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(gap_s)
    began = time.monotonic()
    send(process, signals[1], to_group=dice.random() < 0.5)
    after_s: float | None = None
    try:
        process.wait(30.0)
        after_s = time.monotonic() - began
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    deadline = time.monotonic() + 5.0
    while any(temporary.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.02)
    left = tuple(path.name for path in temporary.iterdir())
    words = said.read_text(errors="replace")
    return Ended(case, signals, first_s, gap_s, after_s, process.returncode, was_ready, was_over, left, words[-1500:])


def send(process: subprocess.Popen[bytes], number: signal.Signals, *, to_group: bool) -> None:
    """A signal as ``kill`` sends it, or as a terminal does: to the whole group."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            (os.killpg if to_group else os.kill)(process.pid, number)


def _catches(pid: int, number: signal.Signals) -> bool:
    return _has_bit(pid, "SigCgt", number)


def _wait_until_taken(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """A signal that is still pending would swallow the next one of its kind."""
    while process.poll() is None and _has_bit(process.pid, "ShdPnd", number):
        time.sleep(0.001)


def _has_bit(pid: int, mask: str, number: signal.Signals) -> bool:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return False
    word = next((line.split()[1] for line in lines if line.startswith(f"{mask}:")), "0")
    return bool(int(word, 16) >> (number - 1) & 1)


def interrupt_many(folder: Path, times: int, seed: int) -> None:
    before = snapshot()
    cases = write_cases(folder)
    with hangups(signal.SIG_DFL), ThreadPoolExecutor(AT_ONCE) as pool:
        ended = list(
            pool.map(
                lambda number: interrupt_twice(folder, number, cases[number % len(cases)], seed + number),
                range(times),
            )
        )
    wrong = [one for one in ended if not one.is_right]
    assert not wrong, "\n\n".join(map(str, wrong))
    left = left_behind(before)
    left.pop("/tmp", None)  # each had a temporary folder of its own, which was looked at
    assert left == {}
    assert sum(not one.was_over for one in ended) > times / 2


def test_twenty_double_interrupts_end_at_once_and_leave_nothing(tmp_path: Path) -> None:
    interrupt_many(tmp_path, times=20, seed=1)


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_two_hundred_double_interrupts_end_at_once_and_leave_nothing(tmp_path: Path) -> None:
    interrupt_many(tmp_path, times=200, seed=1000)
