"""A fabric that could not keep up says so: how long packets waited for it, and what its devices dropped."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from stream2gym.fabric.userspace import devices
from stream2gym.link import LinkSettings
from stream2gym.wait import wait_until
from tests.contract.conftest import Build
from tests.support.network import Lab, assert_counters_add_up, fabric_process, network

# More than a device holds of the smallest packets.
TOO_MANY = {"tun": 5_000, "veth": 70_000}


@contextmanager
def fabric_stopped() -> Iterator[None]:
    """The fabric gets no CPU for a while."""
    process = int(fabric_process().name)
    os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(process, signal.SIGCONT)


@pytest.mark.every_device
@pytest.mark.parametrize("latency_ms", [0, 5])
def test_a_packet_that_waited_for_the_fabric_is_late_by_its_wait(lab: Build, latency_ms: float) -> None:
    running = lab({"h1 -- h2": LinkSettings(latency_ms=latency_ms)})
    receiver = running.server("h2", "udp-receive", "--idle-s", 1)
    with fabric_stopped():
        running.client("udp-send", "h1", "h2", count=10).result()
        time.sleep(0.2)
    assert receiver.result()["distinct"] == 10
    seen = running.fabric.stats().lateness
    late = sum(count for bound, count in zip(seen.bounds_us, seen.counts, strict=True) if bound > 200_000)
    assert late == 10


@pytest.mark.every_device
def test_packets_of_an_idle_network_are_not_late(lab: Build) -> None:
    running = lab({"h1 -- h2": LinkSettings()})
    running.ping("h1", "h2", count=20, interval_ms=50)
    seen = running.fabric.stats().lateness
    early = sum(count for bound, count in zip(seen.bounds_us, seen.counts, strict=True) if bound < 20_000)
    assert early >= 0.8 * sum(seen.counts)


@pytest.mark.parametrize("kind", [*dict.fromkeys((devices.choose_device(), "veth"))])
def test_what_a_full_device_drops_is_known(kind: str) -> None:
    count = TOO_MANY[kind]
    with Lab(network({"h1 -- h2": LinkSettings()}), device=kind) as running:
        with fabric_stopped():
            running.client("udp-send", "h1", "h2", count=count).result()

        def accounted() -> bool:
            entered = running.counters("h1 -- h2").entered_packets
            return entered + sum(running.fabric.stats().unasked_drops.values()) >= count

        wait_until(accounted, timeout_s=20, reason="every packet to be counted")
        stats = running.fabric.stats()
        assert sum(stats.unasked_drops.values()) == count - running.counters("h1 -- h2").entered_packets > 0
        assert_counters_add_up(stats)
