"""Signals that ask a process to end: counted from anywhere, and the second one is the last."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.hangups import hangups

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# An import that never ends and swallows what is raised inside it, and a thread that waits for its lock.
HANGING_IMPORT = """
import sys, threading, time
from stream2gym.interrupts import Interrupts
sys.path.insert(0, sys.argv[1])
with Interrupts(ends_process=True) as interrupts, interrupts.orderly(lambda: print("asked", flush=True)):
    waiting = threading.Thread(target=lambda: __import__("endless"))
    waiting.start()
    try:
        import endless
    finally:
        waiting.join()
"""
ENDLESS = """
import time
print("ready", flush=True)
while True:
    try:
        time.sleep(60)
    except KeyboardInterrupt:
        pass
"""
# The main thread holds the lock that ``on_first`` needs: a handler that took it on that thread would never return.
HELD_LOCK = """
import threading, time
from stream2gym.interrupts import Interrupts
lock = threading.Lock()
def told():
    with lock:
        print("asked", flush=True)
with Interrupts(ends_process=True) as interrupts, interrupts.orderly(told):
    with lock:
        print("ready", flush=True)
        while not interrupts.asked:
            time.sleep(0.01)
    time.sleep(60)
"""
# A command without an orderly stop whose KeyboardInterrupt is swallowed.
DEAF = """
import time
from stream2gym.interrupts import Interrupts
with Interrupts(ends_process=True):
    while True:
        try:
            print("ready", flush=True)
            time.sleep(60)
        except KeyboardInterrupt:
            print("asked", flush=True)
"""
BLOCKED_LAST_DEED = """
import time
from stream2gym.interrupts import Interrupts
with Interrupts(ends_process=True) as interrupts:
    with interrupts.orderly(lambda: print("asked", flush=True), lambda: time.sleep(60)):
        print("ready", flush=True)
        time.sleep(60)
"""


class Script:
    """A Python program that says ``ready`` and ``asked``."""

    def __init__(self, text: str, *arguments: str) -> None:
        with hangups(signal.SIG_DFL):
            self.process = subprocess.Popen(
                [sys.executable, "-c", text, *arguments], stdout=subprocess.PIPE, start_new_session=True
            )
        self.hears("ready")

    def hears(self, word: str) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.readline().decode().strip() == word

    def end(self, within_s: float) -> int:
        began = time.monotonic()
        try:
            code = self.process.wait(within_s)
        finally:
            self.process.kill()
            self.process.wait()
        assert time.monotonic() - began < within_s
        return code

    def end_by(self, first: signal.Signals, second: signal.Signals) -> int:
        """Send one signal, and another one when the first was heard. Returns the exit code."""
        self.process.send_signal(first)
        self.hears("asked")
        self.process.send_signal(second)
        return self.end(5)


@pytest.mark.parametrize("number", SIGNALS)
def test_the_second_signal_ends_a_process_that_is_stuck_in_an_import(tmp_path: Path, number: signal.Signals) -> None:
    (tmp_path / "endless.py").write_text(ENDLESS)
    script = Script(HANGING_IMPORT, str(tmp_path))
    assert script.end_by(number, number) == 130


def test_the_first_signal_is_told_although_the_main_thread_holds_the_lock_for_it() -> None:
    script = Script(HELD_LOCK)
    assert script.end_by(signal.SIGINT, signal.SIGTERM) == 130


def test_a_command_that_swallows_the_only_signal_is_ended_all_the_same() -> None:
    script = Script(DEAF)
    script.process.send_signal(signal.SIGINT)
    script.hears("asked")
    assert script.end(10) == 130


def test_what_is_done_before_the_exit_cannot_keep_the_process() -> None:
    script = Script(BLOCKED_LAST_DEED)
    assert script.end_by(signal.SIGTERM, signal.SIGTERM) == 130


def test_who_was_started_with_nohup_goes_on_without_a_terminal() -> None:
    text = BLOCKED_LAST_DEED.replace("import time\n", "import signal, time\n", 1).replace(
        "with Interrupts", "signal.signal(signal.SIGHUP, signal.SIG_IGN)\nwith Interrupts", 1
    )
    script = Script(text)
    script.process.send_signal(signal.SIGHUP)
    script.process.send_signal(signal.SIGINT)
    script.hears("asked")
    os.kill(script.process.pid, signal.SIGHUP)
    with pytest.raises(subprocess.TimeoutExpired):
        script.end(1.5)


def test_what_an_import_makes_of_an_interrupt_is_not_shown(tmp_path: Path) -> None:
    (tmp_path / "odd.py").write_text(
        "import time\ntry:\n    print('ready', flush=True)\n    time.sleep(60)\n"
        "except KeyboardInterrupt:\n    raise RuntimeError('odd') from None\n"
    )
    script = Script(
        "import sys\nsys.path.append(sys.argv[1])\nfrom stream2gym.cli import main\n"
        "main.run_subcommand = lambda *_: __import__('odd')\nfrom stream2gym.__main__ import main\nmain()\n",
        str(tmp_path),
    )
    script.process.send_signal(signal.SIGINT)
    assert script.end(10) == 130
