"""Whole networks: what was planned is what is measured, and long traffic leaks nothing."""

from __future__ import annotations

import os
import random
import time
from dataclasses import replace
from pathlib import Path

import pytest

from stream2gym.hosts.emulation import EmulatedNetwork, start_network
from stream2gym.hosts.probing import Probe
from stream2gym.plan.make_plan import make_plan
from stream2gym.plan.planned import Plan
from stream2gym.spec.model import Experiment

PORT = 5000
PROBES = -10 if os.geteuid() == 0 else 0  # what else runs on the machine is not what is measured


def random_plan(seed: int, hosts: int = 8, switches: int = 6, extra: int = 4) -> Plan:
    """A connected random topology with loops, every link with a latency of its own."""
    dice = random.Random(seed)
    names = [f"s{i + 1}" for i in range(switches)]
    pairs = {(names[dice.randrange(i)], names[i]) for i in range(1, switches)}
    while len(pairs) < switches - 1 + extra:
        one, other = sorted(dice.sample(range(switches), 2))
        pairs.add((names[one], names[other]))
    links = [f"{a} -- {b}: {dice.uniform(0.5, 8):.2f} ms, unlimited" for a, b in sorted(pairs)]
    ends = [f"h{i + 1}" for i in range(hosts)]
    links += [f"{host} -- {dice.choice(names)}: {dice.uniform(0.1, 3):.2f} ms" for host in ends]
    routing = {"by": dice.choice(["hops", "latency"])}
    topology = {"hosts": ends, "switches": names, "links": links, "routing": routing}
    return make_plan(Experiment.model_validate({"topology": topology}), seed=seed)


@pytest.mark.parametrize("seed", range(5))
def test_the_planned_latency_of_a_path_is_the_measured_one(seed: int) -> None:
    plan = random_plan(seed)
    chosen = random.Random(seed).sample(plan.paths, 4)
    with start_network(plan.network) as net:
        for path in chosen:
            words = ("udp-ping", path.target, "--port", PORT, "--count", 15, "--interval-ms", 5)
            with Probe(net, path.target, "echo-server", "--port", PORT, niceness=PROBES) as server:
                server.line()
                with Probe(net, path.source, *words, niceness=PROBES) as ping:
                    seen = ping.line()
            assert seen["received"] == 15, path
            assert path.rtt_ms <= seen["rtt_ms"]["min"] < path.rtt_ms + 1.5, path


def soak(net: EmulatedNetwork, hosts: list[str], seconds: float, changes: int) -> None:
    """Traffic between neighbours while settings change all over."""
    dice = random.Random(7)
    count = int(seconds * 40)
    receivers = [Probe(net, host, "udp-receive", "--port", PORT, "--idle-s", 5) for host in hosts[::2]]
    for receiver in receivers:
        receiver.line(60)
    words = ("--port", PORT, "--count", count, "--rate", 40)
    senders = [
        Probe(net, source, "udp-send", target, *words) for source, target in zip(hosts[1::2], hosts[::2], strict=True)
    ]
    links = {link.name: link for link in net.network.links}
    started = time.monotonic()
    for number in range(changes):
        link = links[dice.choice(sorted(links))]
        changed = replace(
            link.forward,
            latency_ms=dice.uniform(0, 20),
            loss=dice.choice([0, 0, 0.1]),
            bandwidth_bps=dice.choice([None, 1e6]),
        )
        net.fabric.set_link(link.name, forward=changed)
        if number % 50 == 0:
            net.fabric.cut(link.name)
            net.fabric.heal(link.name)
        time.sleep(max(0.0, started + (number + 1) * seconds / changes - time.monotonic()))
    received = sum(receiver.line(seconds + 60)["received"] for receiver in receivers)
    for probe in (*receivers, *senders):
        probe.close()
    assert received > 0.8 * count * len(receivers)


def check_soak(hosts: int, seconds: float, changes: int) -> None:
    names = [f"h{i + 1}" for i in range(hosts)]
    topology = {"hosts": names, "switches": ["s1"], "links": [f"{name} -- s1: 1 ms" for name in names]}
    plan = make_plan(Experiment.model_validate({"topology": topology}))
    with start_network(plan.network) as net:
        fabric = _fabric_pid()
        soak(net, names, seconds / 4, changes // 4)
        files, memory = _open_files(fabric), _resident(fabric)
        soak(net, names, seconds, changes)
        stats = net.fabric.stats()
        assert _open_files(fabric) == files
        assert _resident(fabric) < memory * 1.1 + 4e6
        for link in stats.links:
            assert link.entered_packets == (
                link.delivered_packets + sum(link.dropped.values()) + link.in_flight_packets
            ), link
        assert sum(link.entered_packets for link in stats.links) > 0
        assert stats.unasked_drops == {}


def _fabric_pid() -> int:
    """Our child's child's child."""
    pid = os.getpid()
    for name in ("keeper", "supervisor", "fabric"):
        children = [
            int(word)
            for task in Path(f"/proc/{pid}/task").iterdir()
            for word in (task / "children").read_text().split()
            if f"s2g-{name}" in Path(f"/proc/{word}/comm").read_text()
        ]
        pid = children[0]
    return pid


def _open_files(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


def _resident(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.long
def test_changing_settings_under_traffic_leaks_nothing_and_counters_add_up() -> None:
    check_soak(hosts=8, seconds=4, changes=150)


@pytest.mark.long
def test_two_hundred_hosts_a_minute_of_traffic_and_a_thousand_changes() -> None:
    check_soak(hosts=200, seconds=60, changes=1000)
