"""The reports about stores, as samples; a store that does not answer is a failure until it answers again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from stream2gym.errors import Defect
from stream2gym.monitors.stores import StoreMonitor
from tests.unit.monitors.test_monitors import Recorded

GOOD = {"at_ns": 5, "found": {"db": {"connections": 2, "rows": {"t": 7}}}, "failed": {}}
BAD = {"at_ns": 6, "found": {}, "failed": {"db": "it is gone"}}


class Scene:
    """A monitor, and the function with which its client reports."""

    def __init__(self) -> None:
        self.recorded = Recorded()
        self.listeners: list[Callable[[dict[str, Any]], None]] = []
        self.monitor = StoreMonitor(self.recorded.run(), self.listeners.append, 2.0)

    def report(self, report: dict[str, Any]) -> None:
        self.listeners[0](report)


def test_connections_and_rows_are_sampled() -> None:
    scene = Scene()
    scene.report(GOOD)
    scene.monitor.look()
    assert scene.recorded.samples == [("db", "connections", 2), ("db/t", "rows", 7)]


def test_a_store_that_is_gone_fails_until_a_report_says_otherwise() -> None:
    scene = Scene()
    scene.report(BAD)
    for _ in range(2):
        with pytest.raises(Defect, match="db: it is gone"):
            scene.monitor.look()
    scene.report(GOOD)
    scene.monitor.look()


def test_a_client_that_says_nothing_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene()
    scene.monitor.look()
    monkeypatch.setattr("stream2gym.monitors.stores.SPARE_S", 0.0)
    silent = StoreMonitor(scene.recorded.run(), lambda _listener: None, -1.0)
    with pytest.raises(Defect, match="has ended or hangs"):
        silent.look()
