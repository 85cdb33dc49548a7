"""The analysis on a thread of its own: it has its time, and an end once somebody asked the run to end."""

from __future__ import annotations

import threading
import time

import pytest

from stream2gym import api
from stream2gym.api import run_on_thread
from stream2gym.errors import Defect
from stream2gym.interrupts import Interrupts


def test_without_an_interrupt_it_takes_the_time_that_it_needs() -> None:
    def wait() -> int:
        time.sleep(0.3)
        return 7

    assert run_on_thread(wait, Interrupts()) == 7


def test_after_an_interrupt_an_analysis_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "ANALYSIS_AFTER_INTERRUPT_S", 0.2)
    interrupts = Interrupts()
    interrupts.asked_at = time.monotonic() - 60
    never = threading.Event()
    began = time.monotonic()
    assert run_on_thread(never.wait, interrupts) is None
    assert 0.2 < time.monotonic() - began < 5
    never.set()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_an_analysis_that_dies_without_an_answer_is_a_defect() -> None:
    def die() -> None:
        raise SystemExit

    with pytest.raises(Defect, match="without an answer"):
        run_on_thread(die)
