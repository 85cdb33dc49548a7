"""Networks that benchmarks measure on, and short ways to say what is sent through them."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from stream2gym.hosts.emulation import EmulatedNetwork
from stream2gym.hosts.probing import Probe
from stream2gym.plan.make_plan import make_plan
from stream2gym.plan.planned import Network
from stream2gym.spec.model import Experiment

PORT = 5000
MEASURING = -10 if os.geteuid() == 0 else 0  # of the programs with the clock: their own delay is not the network's


def network_of(hosts: Sequence[str], links: Sequence[str], switches: Sequence[str] = (), *, seed: int = 1) -> Network:
    """A planned network from links as people write them."""
    topology = {"hosts": list(hosts), "switches": list(switches), "links": list(links)}
    return make_plan(Experiment.model_validate({"topology": topology}), seed=seed).network


def pairs(settings: Sequence[str], hops: int = 1) -> tuple[list[str], list[str], list[str]]:
    """For each setting two hosts joined by that many links of it: hosts, switches, links."""
    hosts, switches, links = [], [], []
    for number, setting in enumerate(settings):
        one, other = f"a{number}x{hops}", f"b{number}x{hops}"
        middle = [f"m{number}x{hops}x{i}" for i in range(hops - 1)]
        chain = [one, *middle, other]
        hosts += [one, other]
        switches += middle
        links += [f"{left} -- {right}: {setting}" for left, right in pairwise(chain)]
    return hosts, switches, links


def echo(net: EmulatedNetwork, source: str, target: str, *, count: int = 200) -> dict[str, float]:
    """Round trips in ms of datagrams every 5 ms, answered by a program: what the programs cost is in it."""
    with Probe(net, target, "echo-server", "--port", PORT, niceness=MEASURING) as server:
        server.line()
        words = ("udp-ping", target, "--port", PORT, "--count", count, "--interval-ms", 5, "--wait-s", 3)
        with Probe(net, source, *words, niceness=MEASURING) as probe:
            return dict(probe.line(count / 200 + 30)["rtt_ms"])


def stream(net: EmulatedNetwork, source: str, target: str, *, seconds: float, skip: float) -> float:
    """One TCP stream; payload in Mbps after the start."""
    return streams(net, [source], target, seconds=seconds, skip=skip)[0]


def streams(net: EmulatedNetwork, sources: Sequence[str], target: str, *, seconds: float, skip: float) -> list[float]:
    """One TCP stream from each source at once; payload in Mbps of each after the start."""
    words = ("tcp-receive", "--port", PORT, "--connections", len(sources), "--skip-s", skip)
    with Probe(net, target, *words) as receiver:
        receiver.line()
        senders = [Probe(net, source, "tcp-send", target, "--port", PORT, "--seconds", seconds) for source in sources]
        rates = [float(receiver.line(seconds * 4 + 60)["mbps"]) for _ in sources]
        for sender in senders:
            sender.close()
        return rates


def datagrams(
    net: EmulatedNetwork, source: str, target: str, *, count: int, rate: float, idle_s: float = 1.0
) -> dict[str, Any]:
    """Numbered datagrams one way; what udp-receive says."""
    with Probe(net, target, "udp-receive", "--port", PORT, "--idle-s", idle_s, "--list") as receiver:
        receiver.line()
        words = ("udp-send", target, "--port", PORT, "--count", count, "--rate", rate)
        with Probe(net, source, *words) as sender:
            sender.line(count / rate + 60)
            return receiver.line(60)


def binomial_99(share: float, count: int) -> tuple[float, float]:
    """The 99 % interval of an observed share."""
    margin = 2.576 * math.sqrt(share * (1 - share) / count)
    return share - margin, share + margin


def jain(values: Sequence[float]) -> float:
    """1 when all are equal, 1/n when one has everything."""
    return sum(values) ** 2 / (len(values) * sum(value * value for value in values))


def exponent(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """The k of cost ~ size^k, by least squares on logarithms."""
    xs, ys = [math.log(size) for size in sizes], [math.log(cost) for cost in costs]
    mx, my = sum(xs) / len(xs), sum(ys) / len(ys)
    return sum((x - mx) * (y - my) for x, y in zip(xs, ys, strict=True)) / sum((x - mx) ** 2 for x in xs)
