"""Orderly blocks may be nested: a run inside a sweep ends, and the sweep still hears the signal."""

from __future__ import annotations

import os
import signal

from stream2gym.interrupts import Interrupts
from stream2gym.wait import wait_until


def test_after_an_inner_block_the_outer_one_is_told_and_nothing_is_raised() -> None:
    told: list[str] = []
    with Interrupts(ends_process=True) as interrupts, interrupts.orderly(lambda: told.append("outer")):
        with interrupts.orderly(lambda: told.append("inner")):
            pass
        os.kill(os.getpid(), signal.SIGINT)
        wait_until(lambda: bool(told), timeout_s=10, reason="the signal to be heard")
        assert interrupts.asked
    assert told == ["outer"]


def test_inside_an_inner_block_that_one_is_told() -> None:
    told: list[str] = []
    with (
        Interrupts(ends_process=True) as interrupts,
        interrupts.orderly(lambda: told.append("outer")),
        interrupts.orderly(lambda: told.append("inner")),
    ):
        os.kill(os.getpid(), signal.SIGINT)
        wait_until(lambda: bool(told), timeout_s=10, reason="the signal to be heard")
    assert told == ["inner"]
