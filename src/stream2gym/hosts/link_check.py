"""Measures every link of a network with real packets, and compares it with its settings.

A link is measured between two hosts whose path crosses it, while all other links are unshaped. Small datagrams
measure the round-trip time, and one TCP stream in each direction the throughput.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import combinations

from stream2gym.hosts.emulation import EmulatedNetwork
from stream2gym.hosts.probing import Probe
from stream2gym.jsonable import Jsonable
from stream2gym.link import LinkSettings
from stream2gym.plan.planned import Network, PlannedLink
from stream2gym.plan.routes import Router

# Bytes of the headers of IP and TCP, with time stamps.
HEADERS = 52
PAIRS_TRIED = 20_000
_PING_PORT = 7
_STREAM_PORT = 5001


@dataclass(frozen=True)
class LinkMeasure(Jsonable):
    """One link: its settings and what was measured. None means that it could not be measured, or has no limit."""

    link: str
    between: tuple[str, str]
    rtt_asked_ms: float
    rtt_ms: float | None
    # Share of the datagrams that came back.
    answered: float
    # Forward and backward.
    goodput_asked_mbps: tuple[float | None, float | None]
    goodput_mbps: tuple[float | None, float | None]

    @property
    def as_asked(self) -> bool | None:
        """Whether the measures are close to the settings: 1 ms or 5 % of the latency, 10 % of the bandwidth.

        None if the link could not be measured.
        """
        if self.rtt_ms is None:
            return None
        good = abs(self.rtt_ms - self.rtt_asked_ms) <= max(1.0, 0.05 * self.rtt_asked_ms)
        for asked, seen in zip(self.goodput_asked_mbps, self.goodput_mbps, strict=True):
            if asked is not None and seen is not None:
                good = good and abs(seen - asked) <= 0.1 * asked
        return good


def check_links(
    network: EmulatedNetwork, *, seconds: float = 0.6, on_measure: Callable[[LinkMeasure], None] = lambda _: None
) -> list[LinkMeasure]:
    """Measure every link in turn; ``on_measure`` is called with each measure at once."""
    pairs = crossing_pairs(network.network)
    measures = []
    for link in network.network.links:
        pair = pairs.get(link.name)
        measure = unmeasured(link) if pair is None else _measure(network, link, pair, seconds)
        on_measure(measure)
        measures.append(measure)
    return measures


def crossing_pairs(network: Network) -> dict[str, tuple[str, str]]:
    """For each link, the two nearest hosts whose path crosses it in forward direction."""
    router = Router.of(network)
    best: dict[str, tuple[int, tuple[str, str]]] = {}
    names = [host.name for host in network.hosts]
    for tried, (one, other) in enumerate(combinations(names, 2)):
        if tried >= PAIRS_TRIED and len(best) == len(network.links):
            break
        path = router.path(one, other) or ()
        for hop in path:
            pair = (one, other) if hop.direction == "forward" else (other, one)
            if hop.link not in best or len(path) < best[hop.link][0]:
                best[hop.link] = (len(path), pair)
    return {link: pair for link, (_length, pair) in best.items()}


def unmeasured(link: PlannedLink) -> LinkMeasure:
    """The measure of a link that no pair of hosts uses."""
    asked = link.forward.latency_ms + link.backward.latency_ms
    return LinkMeasure(link.name, (link.a, link.b), asked, None, 0.0, (None, None), (None, None))


def goodput_mbps(settings: LinkSettings) -> float | None:
    """The throughput that a TCP stream can reach: the bandwidth without headers; None without a limit."""
    if settings.bandwidth_bps is None:
        return None
    return settings.bandwidth_bps * (settings.mtu - HEADERS) / settings.mtu / 1e6


def _measure(network: EmulatedNetwork, link: PlannedLink, pair: tuple[str, str], seconds: float) -> LinkMeasure:
    source, target = pair
    asked = (goodput_mbps(link.forward), goodput_mbps(link.backward))
    with _alone(network, link):
        with Probe(network, target, "echo-server", "--port", _PING_PORT) as server:
            server.line()
            words = ("udp-ping", target, "--port", _PING_PORT, "--count", 30, "--interval-ms", 10)
            with Probe(network, source, *words) as ping:
                echoes = ping.line()
        seen = (
            _stream(network, source, target, seconds) if asked[0] else None,
            _stream(network, target, source, seconds) if asked[1] else None,
        )
    return LinkMeasure(
        link.name,
        pair,
        link.forward.latency_ms + link.backward.latency_ms,
        echoes["rtt_ms"]["mean"] if echoes["received"] else None,
        echoes["received"] / echoes["sent"],
        asked,
        seen,
    )


def _stream(network: EmulatedNetwork, source: str, target: str, seconds: float) -> float:
    skip = seconds / 2
    words = ("tcp-receive", "--port", _STREAM_PORT, "--connections", 1, "--skip-s", skip)
    with Probe(network, target, *words) as receiver:
        receiver.line()
        send = ("tcp-send", target, "--port", _STREAM_PORT, "--seconds", seconds + skip)
        with Probe(network, source, *send) as sender:
            sender.line(60)
            return float(receiver.line(60)["mbps"])


@contextmanager
def _alone(network: EmulatedNetwork, link: PlannedLink) -> Iterator[None]:
    """While the block runs, all other links are unshaped."""
    others = [other for other in network.network.links if other.name != link.name]
    network.fabric.set_links({other.name: (_wide(other.forward), _wide(other.backward)) for other in others})
    try:
        yield
    finally:
        network.fabric.set_links({other.name: (other.forward, other.backward) for other in others})


def _wide(settings: LinkSettings) -> LinkSettings:
    return replace(LinkSettings(), mtu=settings.mtu)
