"""The warm-up of a run: what it waits for, and what makes the start fail."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from stream2gym.errors import StartFailed
from stream2gym.execution.drive_load import Load
from stream2gym.execution.start_faults import LoadState
from stream2gym.execution.waiter import Waiter
from stream2gym.execution.warm_up import find_death, warm_up
from stream2gym.interrupts import Interrupts


class FakeProducer:
    name = "gen"
    host = "h1"
    hopeless = False

    def __init__(self) -> None:
        self.began_ns = 0
        self.ended_ns = 0

    def begin_warmup(self, begin_ns: int) -> None:
        self.began_ns = begin_ns

    def end_warmup(self) -> None:
        self.ended_ns = time.monotonic_ns()

    def is_paused(self) -> bool:
        return True


class FakeEngine:
    name = "job"
    host = "h3"
    hopeless = False

    def __init__(self, log: Path, warm_after_s: float, never: str = "") -> None:
        self.log = log
        self._warm_at = time.monotonic() + warm_after_s
        self._never = never

    def is_warm(self) -> bool:
        return not self._never and time.monotonic() >= self._warm_at

    def why_not_warm(self) -> str:
        return "upper had no batch with data"

    def why_never_warm(self) -> str:
        return self._never

    def ready_timeout_s(self) -> float:
        return 1.0


class FakeRun:
    """A run with one producer, and with engines."""

    def __init__(self, warmup_s: float, *engines: Any, has_warmup: bool = True) -> None:
        self.told: list[str] = []
        self.producer = FakeProducer()
        self.components: Any = SimpleNamespace(
            producers=[self.producer], engines=list(engines), programs=[], observer=None, consumers=[],
            all=lambda: [self.producer, *engines], find_full_record=lambda: None,
            topic_readers=list, observed_programs=list, counts=lambda: {"sent": 7},
        )  # fmt: skip
        self.run: Any = SimpleNamespace(
            planned=SimpleNamespace(
                plan=SimpleNamespace(has_warmup=has_warmup, warmup_s=warmup_s, startup="as-configured"),
                experiment=SimpleNamespace(drain=1.0),
            ),
            waiter=Waiter(Interrupts()),
            recorder=SimpleNamespace(phase=self.told.append, tell=lambda kind, **_details: self.told.append(kind)),
        )

    def go(self) -> float:
        """How long producers sent."""
        warm_up(self.run, self.components)
        return (self.producer.ended_ns - self.producer.began_ns) / 1e9


def test_a_run_without_a_warm_up_has_no_such_phase() -> None:
    fake = FakeRun(0.0, has_warmup=False)
    fake.go()
    assert (fake.told, fake.producer.began_ns) == ([], 0)


def test_it_lasts_as_long_as_the_experiment_says() -> None:
    fake = FakeRun(0.3)
    assert 0.3 <= fake.go() < 2.0
    assert fake.told == ["warmup", "warmed-up"]
    assert fake.run.waiter.failure_checks == []


def test_it_lasts_until_the_first_batch_even_if_that_is_longer(tmp_path: Path) -> None:
    assert 0.5 < FakeRun(0.1, FakeEngine(tmp_path / "log", 0.6)).go() < 3.0


def test_a_batch_that_never_comes_makes_the_start_fail_with_the_reason(tmp_path: Path) -> None:
    fake = FakeRun(0.0, FakeEngine(tmp_path / "log", 60.0))
    with pytest.raises(
        StartFailed, match=r"job on h3 did not finish its first batch: upper had no batch .* after 1 s"
    ):
        fake.go()


def test_what_can_never_be_warm_is_not_waited_for(tmp_path: Path) -> None:
    fake = FakeRun(0.0, FakeEngine(tmp_path / "log", 60.0, never="a DStream program"))
    began = time.monotonic()
    with pytest.raises(StartFailed, match="a DStream program"):
        fake.go()
    assert time.monotonic() - began < 0.9


def test_a_component_that_dies_in_the_warm_up_makes_the_start_fail_at_once(tmp_path: Path) -> None:
    fake = FakeRun(60.0)
    fake.producer.hopeless = True
    with pytest.raises(StartFailed, match="gen on h1 died in the warm-up"):
        fake.go()


def test_a_program_of_the_users_may_end_before_t0() -> None:
    program: Any = SimpleNamespace(hopeless=True, name="p", host="h1")
    components: Any = SimpleNamespace(programs=[program], all=lambda: [program])
    assert find_death(components) is None


def test_conditions_of_faults_count_from_t0() -> None:
    components: Any = SimpleNamespace(counts=lambda: {"sent": 620, "received": 610})
    load = Load(0, components, None, warmup_counts={"sent": 600, "received": 600})
    state = LoadState(load, None)
    assert (state.number("sent"), state.number("received")) == (20, 10)
    assert load.progress().sent == 20
    assert load.recorded_messages() == 1230, "the record holds the warm-up, too"
