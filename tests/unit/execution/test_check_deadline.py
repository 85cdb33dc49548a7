"""How long a check may take: five minutes, and ten seconds once somebody asked the run to end."""

from __future__ import annotations

import pytest

from stream2gym.execution import result_checks
from stream2gym.execution.result_checks import CHECK_AFTER_INTERRUPT_S, CHECK_TIMEOUT_S, _CheckDeadline
from stream2gym.execution.waiter import Waiter
from stream2gym.interrupts import Interrupts


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [1000.0]
    monkeypatch.setattr(result_checks, "monotonic", lambda: now[0])
    return now


def test_a_check_has_its_time(clock: list[float]) -> None:
    deadline = _CheckDeadline(Waiter(Interrupts()))
    clock[0] += CHECK_TIMEOUT_S - 1
    assert deadline.why_over() == ""
    clock[0] += 2
    assert deadline.why_over() == "it did not end within 300 s"


@pytest.mark.parametrize("asked_s", [-50.0, 20.0])
def test_after_an_interrupt_it_has_less(clock: list[float], asked_s: float) -> None:
    interrupts = Interrupts()
    deadline = _CheckDeadline(Waiter(interrupts))
    interrupts.asked_at = clock[0] + asked_s
    clock[0] += max(0.0, asked_s) + CHECK_AFTER_INTERRUPT_S - 1
    assert deadline.why_over() == ""
    clock[0] += 2
    assert deadline.why_over() == "it did not end within 10 s after the interrupt"
