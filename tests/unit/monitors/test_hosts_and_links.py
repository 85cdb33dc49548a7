"""Hosts and links as numbers: rates between two looks, and what is not sampled."""

from __future__ import annotations

import time
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from stream2gym.errors import Defect
from stream2gym.fabric.protocol import FabricStats, LinkCounters
from stream2gym.monitors.hosts import HostMonitor, MemoryMonitor, host_numbers
from stream2gym.monitors.link_rates import LinkRateMonitor, link_rates
from tests.unit.monitors.test_monitors import Recorded, stats

UP, DOWN = ("h1 -- s1", "forward"), ("h1 -- s1", "backward")


def snapshot(at_s: float, delivered: int, queued: int = 0) -> FabricStats:
    counters = LinkCounters(*UP, delivered_bytes=delivered, queue_bytes=queued)
    return stats((), counters, LinkCounters(*DOWN), at_ns=round(at_s * 1e9))


def test_network_counters_of_a_host_become_rates_and_the_rest_stays() -> None:
    before = {"received_bytes": 100.0, "sent_bytes": 0.0, "threads": 3.0}
    now = {"received_bytes": 350.0, "sent_bytes": 50.0, "threads": 4.0}
    assert host_numbers(before, now, 2.0) == {"received_bps": 1000.0, "sent_bps": 200.0, "threads": 4.0}
    assert host_numbers(None, now, 2.0) == {"threads": 4.0}


def test_a_host_that_appears_later_has_its_rates_from_its_second_look_on() -> None:
    recorded = Recorded()
    answers: list[dict[str, Any]] = [
        {"h1": {"received_bytes": 1, "sent_bytes": 1, "threads": 1}},
        {name: {"received_bytes": 9, "sent_bytes": 9, "threads": 1} for name in ("h1", "h2")},
    ]
    monitor = HostMonitor(recorded.run(SimpleNamespace(host_usage=lambda: answers.pop(0))))
    monitor.look()
    monitor.look()
    assert ("h1", "received_bps") in {(obj, metric) for obj, metric, _ in recorded.samples}
    assert ("h2", "received_bps") not in {(obj, metric) for obj, metric, _ in recorded.samples}
    assert recorded.value("h2", "threads") == 1


def test_the_memory_of_every_host_is_sampled() -> None:
    recorded = Recorded()
    MemoryMonitor(recorded.run(SimpleNamespace(host_memory=lambda: {"h1": 8192, "h3": 4096}))).look()
    assert recorded.samples == [("h1", "pss_bytes", 8192), ("h3", "pss_bytes", 4096)]


def test_a_link_has_a_rate_a_share_of_its_bandwidth_and_a_queue_that_grows() -> None:
    rates = dict(link_rates(snapshot(1.0, 1000, 500), snapshot(3.0, 3500, 100), {UP: 1e6, DOWN: None}))
    assert rates[UP] == {"bps": 10_000.0, "queue_growth_Bps": -200.0, "use": 0.01}
    assert rates[DOWN] == {"bps": 0.0, "queue_growth_Bps": 0.0}


def monitor_of(recorded: Recorded, latest: list[FabricStats]) -> LinkRateMonitor:
    plan: Any = SimpleNamespace(network=SimpleNamespace(links=()))
    return LinkRateMonitor(replace(recorded.run(), plan=plan), lambda: latest[-1] if latest else None)


def test_a_link_without_traffic_is_sampled_once_so_that_its_end_shows() -> None:
    recorded, latest = Recorded(), list[FabricStats]()
    monitor = monitor_of(recorded, latest)
    monitor.look()
    now_s = time.monotonic()
    for step, delivered in enumerate((0, 100, 100, 100, 300)):
        latest.append(snapshot(now_s + step, delivered))
        monitor.look()
    rates = [value for obj, metric, value in recorded.samples if (obj, metric) == ("h1 -- s1 forward", "bps")]
    assert rates == [pytest.approx(800.0, rel=1e-6), 0.0, pytest.approx(1600.0, rel=1e-6)]


def test_old_counters_of_the_fabric_are_a_failure_and_no_rate_of_zero() -> None:
    recorded = Recorded()
    monitor = monitor_of(recorded, [snapshot(time.monotonic() - 60.0, 100)])
    with pytest.raises(Defect, match="are 60"):
        monitor.look()
    assert recorded.samples == []
