"""What a link promises, whatever moves the packets: time and capacity.

Bounds from above hold for the quickest packets, since the machine may be busy with something else; how exact all
packets are is what the benchmarks measure.
"""

from __future__ import annotations

import threading

import pytest

from stream2gym.link import LinkSettings
from tests.contract.conftest import Build
from tests.support.network import PORT, address


@pytest.mark.every_device
def test_a_link_delays_every_packet_by_its_latency(lab: Build) -> None:
    seen = lab({"h1 -- h2": LinkSettings(latency_ms=10)}).ping("h1", "h2", count=50, interval_ms=5)
    assert seen["received"] == 50
    assert 20 <= seen["rtt_ms"]["min"] < 20.5


def test_latencies_of_several_hops_add_up(lab: Build) -> None:
    links = {"h1 -- s1": 5.0, "s1 -- s2": 3.0, "h2 -- s2": 2.0}
    running = lab({name: LinkSettings(latency_ms=latency) for name, latency in links.items()})
    seen = running.ping("h1", "h2", count=50, interval_ms=5)
    assert seen["received"] == 50
    assert 20 <= seen["rtt_ms"]["min"] < 20.5


def test_each_direction_has_a_latency_of_its_own(lab: Build) -> None:
    running = lab({"h1 -- h2": (LinkSettings(latency_ms=20), LinkSettings())})
    there = running.datagrams("h1", "h2", count=50, rate=200)
    back = running.datagrams("h2", "h1", count=50, rate=200)
    assert 20 <= there["delay_ms"]["min"] < 20.4
    assert back["delay_ms"]["min"] < 0.4


@pytest.mark.every_device
@pytest.mark.parametrize("mbps", [10, 100])
def test_tcp_fills_the_bandwidth_and_no_more(lab: Build, mbps: int) -> None:
    running = lab({"h1 -- h2": LinkSettings(latency_ms=1, bandwidth_bps=mbps * 1e6)})
    goodput = running.goodput_mbps("h1", "h2", 1.2)
    assert 0.9 < goodput / (mbps * 1448 / 1500) < 1.1


@pytest.mark.every_device
def test_datagrams_leave_at_the_pace_of_the_link(lab: Build) -> None:
    running = lab({"h1 -- h2": LinkSettings(bandwidth_bps=12e6, queue_packets=200)})
    seen = running.datagrams("h1", "h2", count=200, size=1472, list=True)
    assert seen["distinct"] == 200
    assert seen["overtaken"] == 0
    first_sent = seen["arrivals_s"][0] - seen["delays_ms"][0] / 1e3
    assert 0.2 <= seen["arrivals_s"][-1] - first_sent < 0.23


@pytest.mark.every_device
def test_the_queue_is_bounded(lab: Build) -> None:
    running = lab({"h1 -- h2": LinkSettings(bandwidth_bps=12e6, queue_packets=20)})
    seen = running.datagrams("h1", "h2", count=300, size=1472)
    counters = running.counters("h1 -- h2")
    assert 21 <= seen["distinct"] < 60
    assert counters.dropped == {"queue": 300 - seen["distinct"]}
    assert counters.queue_bytes_max <= 21 * 1500


def test_flows_share_the_link_they_share(lab: Build) -> None:
    running = lab(
        {
            "h1 -- s1": LinkSettings(latency_ms=1),
            "h2 -- s1": LinkSettings(latency_ms=1),
            "h3 -- s1": LinkSettings(latency_ms=1, bandwidth_bps=20e6, queue_packets=50),
        }
    )
    receiver = running.server("h3", "tcp-receive", "--connections", 2, "--skip-s", 0.5)
    senders = [running.client("tcp-send", host, "h3", seconds=2.0) for host in ("h1", "h2")]
    speeds = [receiver.line()["mbps"] for _ in senders]
    for sender in senders:
        sender.result()
    assert sum(speeds) == pytest.approx(20 * 1448 / 1500, rel=0.1)
    assert min(speeds) > 2


def test_a_flow_from_far_away_does_not_block_one_from_nearby(lab: Build) -> None:
    """Packets queue for a shared link when they reach it, not when they are sent."""
    running = lab(
        {
            "h1 -- s1": LinkSettings(latency_ms=200),
            "h2 -- s1": LinkSettings(latency_ms=1),
            "h3 -- s1": LinkSettings(bandwidth_bps=50e6),
        }
    )
    running.server("h3", "echo-server")
    far = running.client("udp-send", "h1", "h3", count=200, size=1000, rate=400)
    near = running.client("udp-ping", "h2", "h3", count=40, interval_ms=10).result()
    far.result()
    assert near["received"] == 40
    assert near["rtt_ms"]["p50"] < 10


@pytest.mark.every_device
def test_fragments_icmp_and_streams_arrive(lab: Build) -> None:
    running = lab({"h1 -- s1": LinkSettings(latency_ms=1), "h2 -- s1": LinkSettings(latency_ms=1)})
    large = running.ping("h1", "h2", count=10, interval_ms=5, size=9000)
    assert (large["received"], large["duplicates"]) == (10, 0)
    assert running.counters("h1 -- s1").entered_packets == 70
    assert running.client("icmp-ping", "h1", "h2", count=3).result()["received"] == 3
    receiver = running.server("h2", "tcp-receive")
    sent = running.client("tcp-send", "h1", "h2", bytes=3_000_000)
    receiver.result()
    assert sent.result()["bytes"] == 3_000_000


def test_packets_larger_than_the_mtu_of_a_link_do_not_pass(lab: Build) -> None:
    running = lab({"h1 -- s1": LinkSettings(), "h2 -- s1": LinkSettings(mtu=1000)})
    assert running.ping("h1", "h2", count=5, size=900)["received"] == 5
    assert running.ping("h1", "h2", count=5, size=1200, wait_s=0.2)["received"] == 0
    assert running.counters("h2 -- s1", "backward").dropped == {"mtu": 5}


@pytest.mark.every_device
def test_hosts_with_a_large_mtu_send_large_packets(lab: Build) -> None:
    running = lab({"h1 -- h2": LinkSettings(mtu=9000)}, mtu=9000)
    assert running.ping("h1", "h2", count=5, size=8000)["received"] == 5
    assert running.counters("h1 -- h2").entered_packets == 5


@pytest.mark.every_device
def test_an_idle_network_is_silent(lab: Build) -> None:
    running = lab({"h1 -- h2": LinkSettings()})
    running.client("icmp-ping", "h1", "h2", count=2).result()
    assert running.counters("h1 -- h2").entered_packets == 2
    assert running.counters("h1 -- h2", "backward").entered_packets == 2


@pytest.mark.every_device
def test_an_address_without_a_host_is_refused_at_once(lab: Build) -> None:
    running = lab({"h1 -- h2": LinkSettings()})
    code = "import socket, sys, time\nstart = time.monotonic()\n"
    code += "try: socket.create_connection(('10.9.9.9', 80), timeout=5)\n"
    code += "except OSError as error: sys.exit(error.errno if time.monotonic() - start < 2 else 1)"
    process = running.emulation.spawn("h1", ["/usr/bin/env", "python3", "-c", code])
    assert process.wait(10).code == 113  # no route to host
    assert running.fabric.stats().no_route > 0


@pytest.mark.every_device
def test_the_observer_is_outside_of_everything(lab: Build) -> None:
    running = lab({"h1 -- h2": LinkSettings(latency_ms=50, loss=1.0)})
    running.fabric.cut("h1 -- h2")
    seen = running.ping("observer", "h2", count=10)
    assert seen["received"] == 10
    assert seen["rtt_ms"]["min"] < 1
    assert all(one.entered_packets == 0 for one in running.fabric.stats().links)


def test_requests_are_answered_in_milliseconds_under_full_load(lab: Build) -> None:
    running = lab({"h1 -- h2": LinkSettings(latency_ms=0.1)})
    receiver = running.server("h2", "tcp-receive")
    sender = running.client("tcp-send", "h1", "h2", seconds=1.0)
    finished = threading.Event()
    times: list[int] = []

    def ask() -> None:
        while not finished.wait(0.01):
            before = running.fabric.stats().at_ns
            times.append(running.fabric.stats().at_ns - before)

    asking = threading.Thread(target=ask)
    asking.start()
    receiver.result()
    finished.set()
    asking.join()
    sender.result()
    assert len(times) > 10
    assert sorted(times)[len(times) // 2] < 20e6


@pytest.mark.every_device
def test_all_hosts_reach_each_other(lab: Build) -> None:
    hosts = [f"h{number}" for number in range(1, 6)]
    running = lab({f"{host} -- s1": LinkSettings(latency_ms=1) for host in hosts})
    for host in hosts:
        running.server(host, "echo-server")
    pings = [
        running.probe(one, "udp-ping", address(other), "--port", PORT, "--count", 1)
        for one in hosts
        for other in hosts
        if one != other
    ]
    assert all(ping.result()["received"] == 1 for ping in pings)
