"""One monitor that fails or hangs ends neither the run nor another monitor, and everybody can see that it did."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from stream2gym.monitors.sampler import Sampler
from stream2gym.wait import wait_until


class Recorded:
    """Stands for the recorder of a run."""

    def __init__(self) -> None:
        self.looks: list[str] = []
        self.costs: list[float] = []
        self.events: list[tuple[str, str, Any]] = []

    def sample(self, source: str, monitor: str, metric: str, value: float) -> None:
        assert source == "monitor"
        assert metric in ("look_s", "cpu_s")
        assert value >= 0
        if metric == "look_s":
            self.looks.append(monitor)
        else:
            self.costs.append(value)

    def tell(self, kind: str, monitor: str, **details: Any) -> None:
        self.events.append((kind, monitor, details.get("reason", details.get("silent_s"))))

    def told(self, kind: str) -> list[str]:
        return [monitor for event, monitor, _ in self.events if event == kind]


class Played:
    """A monitor whose look is a function."""

    def __init__(self, look: Callable[[], None]) -> None:
        self.look = look


@pytest.fixture
def recorded() -> Recorded:
    return Recorded()


@pytest.fixture
def sampler(recorded: Recorded) -> Iterator[Sampler]:
    sampler = Sampler(recorded.sample, recorded.tell, every_s=0.01, hangs_s=0.1)
    yield sampler
    sampler.stop()


def nothing() -> None:
    """A look that sees nothing."""


def count_far() -> None:
    """A look that takes CPU time."""
    assert sum(range(10_000)) > 0


def wait_in_vain(release: threading.Event) -> None:
    """A look that hangs until the test lets it go."""
    release.wait(60.0)


def wait_for(is_so: Callable[[], bool]) -> None:
    wait_until(is_so, timeout_s=20.0, reason="what the monitors do")


def test_a_monitor_that_fails_is_told_once_and_the_others_look_on(recorded: Recorded, sampler: Sampler) -> None:
    def fail() -> None:
        raise ValueError("no such file")

    sampler.add("bad", lambda: Played(fail))
    sampler.add("good", lambda: Played(nothing))
    wait_for(lambda: recorded.looks.count("good") > 20)
    assert recorded.events == [("monitor-failed", "bad", "ValueError: no such file")]
    assert "bad" not in recorded.looks


def test_even_one_that_wants_to_end_the_program_only_fails(recorded: Recorded, sampler: Sampler) -> None:
    def leave() -> None:
        raise SystemExit(3)

    sampler.add("leaver", lambda: Played(leave))
    sampler.add("good", lambda: Played(nothing))
    wait_for(lambda: recorded.looks.count("good") > 5)
    assert recorded.told("monitor-failed") == ["leaver"]


def test_one_that_cannot_be_made_fails_alone(recorded: Recorded, sampler: Sampler) -> None:
    def make() -> Played:
        raise OSError("no room")

    sampler.add("never", make)
    sampler.add("good", lambda: Played(nothing))
    wait_for(lambda: recorded.looks.count("good") > 5)
    assert recorded.events == [("monitor-failed", "never", "OSError: no room")]


def test_one_that_hangs_is_told_while_the_others_look_on_and_the_stop_leaves_it_behind(recorded: Recorded) -> None:
    # Another test of this process may have left a monitor behind that still hangs.
    before = set(threading.enumerate())
    release = threading.Event()
    sampler = Sampler(recorded.sample, recorded.tell, every_s=0.01, hangs_s=0.1)
    sampler.add("stuck", lambda: Played(lambda: wait_in_vain(release)))
    sampler.add("good", lambda: Played(nothing))
    wait_for(lambda: recorded.told("monitor-failed") == ["stuck"])
    seen = recorded.looks.count("good")
    wait_for(lambda: recorded.looks.count("good") > seen + 20)
    began = time.monotonic()
    sampler.stop()
    assert time.monotonic() - began < 9.0, "the stop waited for a monitor that hangs"
    release.set()
    wait_for(lambda: not any("stuck" in thread.name for thread in set(threading.enumerate()) - before))
    assert [kind for kind, _, _ in recorded.events] == ["monitor-failed"], "nothing is told after the stop"


def test_a_look_that_is_under_way_at_the_stop_is_told(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stream2gym.monitors.sampler.STOP_S", 0.05)
    release = threading.Event()
    sampler = Sampler(recorded.sample, recorded.tell, every_s=0.01, hangs_s=60.0)
    sampler.add("stuck", lambda: Played(lambda: wait_in_vain(release)))
    sampler.stop()
    release.set()
    assert recorded.told("monitor-failed") == ["stuck"]


def test_one_that_works_again_is_told_with_the_time_that_it_missed(recorded: Recorded, sampler: Sampler) -> None:
    fails = threading.Event()
    fails.set()

    def look() -> None:
        if fails.is_set():
            raise OSError("not yet")

    sampler.add("shaky", lambda: Played(look))
    wait_for(lambda: bool(recorded.told("monitor-failed")))
    fails.clear()
    wait_for(lambda: bool(recorded.told("monitor-works-again")))
    [(_, _, silent_s)] = [event for event in recorded.events if event[0] == "monitor-works-again"]
    assert silent_s > 0
    wait_for(lambda: "shaky" in recorded.looks)


def test_every_monitor_looks_once_more_at_the_stop(recorded: Recorded) -> None:
    sampler = Sampler(recorded.sample, recorded.tell, every_s=60.0)
    sampler.add("slow", lambda: Played(nothing))
    wait_for(lambda: recorded.looks == ["slow"])
    sampler.stop()
    assert recorded.looks == ["slow", "slow"]


def test_each_monitor_has_an_interval_of_its_own(recorded: Recorded, sampler: Sampler) -> None:
    sampler.add("often", lambda: Played(nothing))
    sampler.add("seldom", lambda: Played(nothing), every_s=60.0)
    wait_for(lambda: recorded.looks.count("often") > 20)
    assert recorded.looks.count("seldom") == 1


def test_what_the_looks_cost_is_a_sample_that_grows(recorded: Recorded, sampler: Sampler) -> None:
    sampler.add("busy", lambda: Played(count_far))
    wait_for(lambda: len(recorded.costs) > 5)
    assert 0 < recorded.costs[0] < recorded.costs[5]


def test_one_that_is_ended_looks_once_more_and_never_again(recorded: Recorded) -> None:
    sampler = Sampler(recorded.sample, recorded.tell, every_s=0.01)
    sampler.add("slow", lambda: Played(nothing), every_s=60.0)
    sampler.add("good", lambda: Played(nothing))
    wait_for(lambda: "slow" in recorded.looks)
    sampler.end("slow")
    assert recorded.looks.count("slow") == 2
    seen = recorded.looks.count("good")
    wait_for(lambda: recorded.looks.count("good") > seen + 5)
    sampler.stop()
    assert recorded.looks.count("slow") == 2
    assert recorded.events == []
