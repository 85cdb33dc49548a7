"""The paths between hosts that talk: their nodes, their round-trip time and their bottleneck."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import combinations, islice

from stream2gym.link import LinkSettings
from stream2gym.plan.planned import Network, PathView, PlannedComponent
from stream2gym.plan.routes import Hop, Router

# Without components nobody knows who talks: this many pairs of hosts are shown.
ALL_PAIRS = 200


@dataclass
class NetworkPaths:
    """The paths of a network at the start of a run, with the settings of their links."""

    network: Network
    router: Router = field(init=False)
    _settings: dict[Hop, LinkSettings] = field(init=False)

    def __post_init__(self) -> None:
        self.router = Router.of(self.network)
        self._settings = {}
        for link in self.network.links:
            self._settings[Hop(link.name, "forward")] = link.forward
            self._settings[Hop(link.name, "backward")] = link.backward

    def settings(self, path: Iterable[Hop]) -> list[LinkSettings]:
        """The settings of each link on a path, in its direction."""
        return [self._settings[hop] for hop in path]

    def path(self, source: str, target: str) -> tuple[Hop, ...] | None:
        """The path from one host to another; None where there is none. Links that are declared down are not used."""
        return self.router.path(source, target, down=self.router.initially_down)

    def distance(self, source: str, target: str) -> float:
        """The round-trip time in milliseconds, infinite without a path.

        Of equal times, fewer hops count as nearer.
        """
        there, back = self.path(source, target), self.path(target, source)
        if there is None or back is None:
            return float("inf")
        latency = sum(s.latency_ms for s in self.settings((*there, *back)))
        return latency + 1e-6 * (len(there) + len(back))

    def view(self, source: str, target: str) -> PathView:
        """The path of a pair of hosts as the plan shows it."""
        there, back = self.path(source, target), self.path(target, source)
        if there is None or back is None:
            return PathView(source, target, (), 0.0, None)
        nodes, back_nodes = self.router.nodes(source, there), self.router.nodes(target, back)
        return PathView(
            source=source,
            target=target,
            nodes=nodes,
            rtt_ms=round(sum(s.latency_ms for s in self.settings((*there, *back))), 6),
            bottleneck_bps=_narrowest(self.settings(there)),
            back_nodes=() if back_nodes == nodes[::-1] else back_nodes,
            back_bottleneck_bps=_narrowest(self.settings(back)),
        )


def _narrowest(settings: Iterable[LinkSettings]) -> float | None:
    return min((s.bandwidth_bps for s in settings if s.bandwidth_bps is not None), default=None)


def talking_pairs(components: Iterable[PlannedComponent]) -> list[tuple[str, str]]:
    """The pairs of different hosts whose components talk, each once, in the order of the components."""
    members = list(components)
    host = {member.name: member.host for member in members}
    pairs: dict[frozenset[str], tuple[str, str]] = {}
    for member in members:
        for peer in member.talks_to:
            pair = (member.host, host[peer])
            if pair[0] != pair[1]:
                pairs.setdefault(frozenset(pair), pair)
    return list(pairs.values())


def pairs_of_interest(network: Network, components: Iterable[PlannedComponent]) -> tuple[list[tuple[str, str]], int]:
    """The pairs of hosts that the plan shows, and how many it leaves out."""
    members = list(components)
    if members:
        return talking_pairs(members), 0
    names = [host.name for host in network.hosts]
    every: Iterator[tuple[str, str]] = combinations(names, 2)
    return list(islice(every, ALL_PAIRS)), max(0, len(names) * (len(names) - 1) // 2 - ALL_PAIRS)
