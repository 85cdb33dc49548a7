"""The grace of programs: each may end by itself, and is asked to stop when its own time is over."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

from stream2gym.execution.end_load import let_programs_end
from stream2gym.execution.waiter import Waiter
from stream2gym.interrupts import Interrupts


class FakeProgram:
    """Ends by itself after so long, or when it is stopped."""

    host = "h1"
    processes: tuple[Any, ...] = ()

    def __init__(self, name: str, grace_s: float, ends_after_s: float, kind: str = "producer") -> None:
        self.name = name
        self.kind = kind
        self.grace_s = grace_s
        self._ends_at = time.monotonic() + ends_after_s
        self.stopped_at: float | None = None

    @property
    def over(self) -> bool:
        return self.stopped_at is not None or time.monotonic() >= self._ends_at

    def stop(self) -> None:
        if not self.over:
            self.stopped_at = time.monotonic()


def end(*programs: FakeProgram) -> tuple[float, list[str]]:
    """How long it took until all had ended, and whom the events name."""
    told: list[str] = []
    recorder = SimpleNamespace(tell=lambda _kind, component, **_details: told.append(component))
    run: Any = SimpleNamespace(waiter=Waiter(Interrupts()), recorder=recorder)
    began = time.monotonic()
    let_programs_end(run, programs, time.monotonic_ns())  # type: ignore[arg-type]
    return time.monotonic() - began, told


def test_nobody_waits_longer_than_until_the_last_has_ended() -> None:
    took_s, told = end(FakeProgram("a", 30.0, 0.1), FakeProgram("b", 30.0, 0.2))
    assert 0.15 < took_s < 5.0
    assert told == []


def test_each_is_stopped_when_its_own_grace_is_over() -> None:
    patient, at_once, short = (FakeProgram(name, s, 60.0) for name, s in (("c", 0.6), ("a", 0.0), ("b", 0.3)))
    _, told = end(patient, at_once, short)
    assert patient.stopped_at is not None
    assert at_once.stopped_at is not None
    assert short.stopped_at is not None
    assert at_once.stopped_at < short.stopped_at < patient.stopped_at
    assert told == ["b", "c"], "one without a grace period was not waited for"


def test_a_consumer_that_runs_until_it_is_asked_to_stop_is_nothing_to_tell() -> None:
    assert end(FakeProgram("a", 0.1, 60.0, "consumer"))[1] == []
