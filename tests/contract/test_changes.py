"""What may change while packets flow, whatever moves them: settings, cuts, routes, captures."""

from __future__ import annotations

import socket
import struct
import time
from pathlib import Path

import pytest

from stream2gym.errors import BadInput
from stream2gym.link import LinkSettings
from stream2gym.wait import wait_until
from tests.contract.conftest import Build
from tests.support.network import Lab


def entered(running: Lab, link: str, at_least: int, direction: str = "forward") -> None:
    wait_until(
        lambda: running.counters(link, direction).entered_packets >= at_least,
        timeout_s=5,
        reason="traffic",
        every_s=0.001,
    )


def test_a_change_is_in_force_at_once_and_loses_nothing(lab: Build) -> None:
    running = lab({"h1 -- h2": LinkSettings(latency_ms=5)})
    receiver = running.server("h2", "udp-receive", "--list")
    sender = running.client("udp-send", "h1", "h2", count=1500, rate=2000)
    entered(running, "h1 -- h2", 500)
    before = time.monotonic()
    running.fabric.set_link("h1 -- h2", forward=LinkSettings(latency_ms=25))
    after = time.monotonic()
    sender.result()
    seen = receiver.result()
    assert (seen["distinct"], seen["overtaken"]) == (1500, 0)
    early, late = [], []
    for delay, arrived in zip(seen["delays_ms"], seen["arrivals_s"], strict=True):
        sent = arrived - delay / 1e3
        if sent < before - 0.005:
            early.append(delay)
        elif sent > after + 0.005:
            late.append(delay)
    assert 5 <= min(early) < 6
    assert sorted(early)[len(early) // 2] < 15
    assert 25 <= min(late) < 26


def test_nothing_overtakes_when_latency_falls(lab: Build) -> None:
    running = lab({"h1 -- h2": LinkSettings(latency_ms=60)})
    receiver = running.server("h2", "udp-receive")
    sender = running.client("udp-send", "h1", "h2", count=800, rate=2000)
    entered(running, "h1 -- h2", 200)
    running.fabric.set_link("h1 -- h2", forward=LinkSettings(latency_ms=1))
    sender.result()
    seen = receiver.result()
    assert (seen["distinct"], seen["overtaken"]) == (800, 0)
    assert seen["delay_ms"]["min"] < 3


def test_bandwidth_and_many_links_change_in_one_step(lab: Build) -> None:
    running = lab({"h1 -- s1": LinkSettings(), "h2 -- s1": LinkSettings()})
    slow = LinkSettings(bandwidth_bps=10e6)
    running.fabric.set_links({"h1 -- s1": (slow, slow), "h2 -- s1": (None, slow)})
    assert running.goodput_mbps("h1", "h2", 1.0) == pytest.approx(10 * 1448 / 1500, rel=0.1)


def test_a_cut_stops_both_directions_until_it_heals(lab: Build) -> None:
    running = lab({"h1 -- s1": LinkSettings(latency_ms=1), "h2 -- s1": LinkSettings(latency_ms=1)})
    assert running.ping("h1", "h2", count=3)["received"] == 3
    running.fabric.cut("h1 -- s1")
    assert running.ping("h1", "h2", count=3, wait_s=0.1)["received"] == 0
    assert running.ping("h2", "h1", count=3, wait_s=0.1)["received"] == 0
    assert running.counters("h1 -- s1").dropped == {"down": 3}
    assert running.counters("h1 -- s1", "backward").dropped == {"down": 3}
    running.fabric.heal("h1 -- s1")
    assert running.ping("h1", "h2", count=3)["received"] == 3


def test_one_direction_may_be_down_alone(lab: Build) -> None:
    running = lab({"h1 -- h2": LinkSettings()})
    running.fabric.set_link("h1 -- h2", forward=LinkSettings(up=False))
    assert running.datagrams("h2", "h1", count=5, rate=1000)["distinct"] == 5
    running.client("udp-send", "h1", "h2", count=5, rate=1000).result()
    assert running.counters("h1 -- h2").dropped == {"down": 5}


def test_packets_on_a_link_arrive_although_it_is_cut(lab: Build) -> None:
    running = lab({"h1 -- h2": LinkSettings(latency_ms=200)})
    receiver = running.server("h2", "udp-receive")
    running.client("udp-send", "h1", "h2", count=20, rate=1000).result()
    running.fabric.cut("h1 -- h2")
    assert running.counters("h1 -- h2").in_flight_packets > 0
    assert receiver.result()["distinct"] == 20


def test_routes_go_around_a_cut_and_back(lab: Build) -> None:
    ring = ("s1 -- s2", "s2 -- s3", "s3 -- s4", "s4 -- s1", "h1 -- s1", "h2 -- s2")
    running = lab({name: LinkSettings(latency_ms=2) for name in ring}, reconverge_ms=100)
    assert 12 <= running.ping("h1", "h2", count=10)["rtt_ms"]["min"] < 13
    running.server("h2", "echo-server")
    pings = running.client("udp-ping", "h1", "h2", count=60, interval_ms=10, wait_s=0.3, list=True)
    entered(running, "s1 -- s2", 10 + 8)
    running.fabric.cut("s1 -- s2")
    times = pings.result()["rtts_ms"]
    lost = sum(one is None for one in times)
    assert 5 <= lost <= 20
    assert 20 <= min(times[-20:]) < 21
    around = running.counters("s4 -- s1", "backward").entered_packets
    back = running.client("udp-ping", "h1", "h2", count=40, interval_ms=10, list=True)
    entered(running, "s4 -- s1", around + 3, "backward")
    running.fabric.heal("s1 -- s2")
    seen = back.result()
    assert seen["received"] == 40
    assert min(seen["rtts_ms"][:3]) >= 20
    assert 12 <= min(seen["rtts_ms"][-10:]) < 13


def test_an_unknown_link_is_named(lab: Build) -> None:
    running = lab({"h1 -- h2": LinkSettings()})
    with pytest.raises(BadInput, match="h1 -- h9"):
        running.fabric.cut("h1 -- h9")


def read_pcap(path: Path) -> list[tuple[float, bytes]]:
    content = path.read_bytes()
    magic, *_, kind = struct.unpack_from("=IHHiIII", content)
    assert (magic, kind) == (0xA1B23C4D, 101)
    packets, at = [], 24
    while at < len(content):
        seconds, nanoseconds, size, original = struct.unpack_from("=IIII", content, at)
        assert size == original
        packets.append((seconds + nanoseconds / 1e9, content[at + 16 : at + 16 + size]))
        at += 16 + size
    assert at == len(content)
    return packets


def ones_sum(data: bytes) -> int:
    total: int = sum(word for (word,) in struct.iter_unpack("!H", data + bytes(len(data) % 2)))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


@pytest.mark.every_device
def test_a_capture_shows_the_wire_with_valid_checksums(lab: Build, tmp_path: Path) -> None:
    running = lab({"h1 -- h2": LinkSettings(latency_ms=1, bandwidth_bps=100e6)})
    started = time.time()
    running.fabric.capture("h1 -- h2", tmp_path / "link.pcap")
    receiver = running.server("h2", "tcp-receive")
    running.client("tcp-send", "h1", "h2", bytes=300_000).result()
    receiver.result()
    running.fabric.stop_capture("h1 -- h2")
    packets = read_pcap(tmp_path / "link.pcap")
    counters = [running.counters("h1 -- h2", way) for way in ("forward", "backward")]
    assert len(packets) == sum(one.entered_packets for one in counters)
    times = [at for at, _ in packets]
    assert times == sorted(times)
    assert started - 0.01 <= times[0] <= times[-1] <= time.time() + 0.01
    payload = 0
    for _, packet in packets:
        assert len(packet) <= 1500
        assert ones_sum(packet[:20]) == 0xFFFF
        pseudo = packet[12:20] + struct.pack("!HH", packet[9], len(packet) - 20)
        assert ones_sum(pseudo + packet[20:]) == 0xFFFF
        if packet[12:16] == socket.inet_aton("10.0.0.1"):
            payload += len(packet) - 20 - (packet[32] >> 4 << 2)
    assert payload >= 300_000


def test_settings_change_a_thousand_times_under_traffic(lab: Build) -> None:
    running = lab({f"h{number} -- s1": LinkSettings(latency_ms=1) for number in range(1, 5)})
    running.server("h4", "echo-server")
    pings = [running.client("udp-ping", f"h{one}", "h4", count=500, interval_ms=2, wait_s=0.3) for one in (1, 2, 3)]
    for number in range(1000):
        link = f"h{1 + number % 4} -- s1"
        settings = LinkSettings(latency_ms=1 + number % 5, bandwidth_bps=1e7 * (1 + number % 7))
        running.fabric.set_link(link, forward=settings, backward=settings)
    assert all(ping.result()["received"] == 500 for ping in pings)
