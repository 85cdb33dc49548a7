"""The order in which a run stops."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from stream2gym.execution.stop import stop_components


class FakeConsumer:
    """A consumer with one process, which writes down what is done to it."""

    def __init__(self, name: str, done: list[str], *, running: bool) -> None:
        self.name = name
        self.running = running
        self.processes = [self]
        self._done = done

    def ask_to_stop(self) -> None:
        self._done.append(f"{self.name} asked")

    def stop(self) -> None:
        self._done.append(f"{self.name} stopped")


def stop(*consumers: FakeConsumer, done: list[str]) -> None:
    run: Any = SimpleNamespace(
        attempt=lambda step: step(),
        planned=SimpleNamespace(experiment=SimpleNamespace(kafka=SimpleNamespace(stop="kill"))),
        folder=SimpleNamespace(work=Path("work")),
    )
    network = SimpleNamespace(failure=None, collect=lambda _folder: [])
    components: Any = SimpleNamespace(
        context=SimpleNamespace(network=network),
        consuming=lambda: list(consumers),
        load_sources=list,
        line_sources=[],
        sinks=[],
        engines=[],
        stores=[],
        observer=None,
        processes=list,
    )
    faults: Any = SimpleNamespace(close=lambda: done.append("faults undone"))
    stop_components(run, components, None, faults)


def test_consumers_are_asked_to_end_before_a_healed_link_brings_them_anything() -> None:
    done: list[str] = []
    stop(FakeConsumer("see", done, running=True), done=done)
    assert done.index("see asked") < done.index("faults undone") < done.index("see stopped")


def test_a_consumer_that_a_fault_keeps_down_is_asked_only_when_the_fault_was_undone() -> None:
    done: list[str] = []
    stop(FakeConsumer("see", done, running=False), done=done)
    assert done == ["faults undone", "see asked", "see stopped"]
