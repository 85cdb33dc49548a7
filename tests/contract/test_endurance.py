"""A minute of traffic between 200 hosts while settings change a thousand times: nothing leaks, everything adds up."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

import pytest

from stream2gym.link import LinkSettings
from stream2gym.wait import wait_until
from tests.contract.conftest import Build
from tests.support.network import assert_counters_add_up, fabric_process

HOSTS, SECONDS, CHANGES, PINGERS = 200, 60, 1000, 30


def resident_bytes(process: Path) -> int:
    return int((process / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.long
def test_nothing_leaks_under_traffic_and_change(lab: Build) -> None:
    running = lab({f"h{number} -- s1": LinkSettings(latency_ms=1) for number in range(1, HOSTS + 1)})
    chance = random.Random(1)
    for target in range(PINGERS + 1, 2 * PINGERS + 1):
        running.server(f"h{target}", "echo-server")
    pings = [
        running.client("udp-ping", f"h{source}", f"h{source + PINGERS}", count=50 * SECONDS, interval_ms=20)
        for source in range(1, PINGERS + 1)
    ]
    wait_until(lambda: running.counters("h1 -- s1").entered_packets > 50, timeout_s=30, reason="traffic")
    process = fabric_process()
    files, memory = len(list((process / "fd").iterdir())), resident_bytes(process)
    started = time.monotonic()
    for number in range(CHANGES):
        link = f"h{chance.randint(1, HOSTS)} -- s1"
        settings = LinkSettings(
            latency_ms=chance.choice([0, 1, 5, 20]),
            bandwidth_bps=chance.choice([None, 1e6, 1e8]),
            loss=chance.choice([0, 0, 0.01]),
            duplicate=chance.choice([0, 0, 0.01]),
            jitter_ms=chance.choice([0, 1]),
        )
        running.fabric.set_link(link, forward=settings)
        if number % 100 == 0:
            running.fabric.cut(link)
            running.fabric.heal(link)
            assert_counters_add_up(running.fabric.stats())
        pause = started + (number + 1) * (SECONDS - 5) / CHANGES - time.monotonic()
        time.sleep(max(0.0, pause))
    for ping in pings:
        assert ping.result()["received"] > 45 * SECONDS
    assert len(list((process / "fd").iterdir())) == files
    assert resident_bytes(process) < memory + (8 << 20)
