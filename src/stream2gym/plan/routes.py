"""Routes: the links that a packet takes from one host to another. Pure, lazy, and cached for each destination.

Only switches forward packets; a host is an end. Costs are whole numbers that include a tie-break. So the best path is
unique and does not depend on the order of the input, and if both directions have the same costs it is the same in
both. Any topology works, because following the least cost towards a destination cannot loop.

The graph algorithms are our own and not those of networkx, because the fabric process also asks for routes. It has to
start in tens of milliseconds, and finds a path in about a microsecond once its destination is known. Tests compare
the results with networkx.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable
from heapq import heappop, heappush
from itertools import pairwise
from typing import Literal, NamedTuple

from stream2gym.plan.natural_order import natural
from stream2gym.plan.planned import Network, PlannedLink, Routing

Direction = Literal["forward", "backward"]
NONE_DOWN: frozenset[str] = frozenset()

_RANK_BITS, _NOISE_BITS, _HOP_BITS = 48, 80, 24
_TIE_BITS = _RANK_BITS + _NOISE_BITS
_MASK = (1 << 64) - 1
_STATES_KEPT = 16  # sets of cut links whose routes are cached
_HOPS_KEPT = 1_000_000  # hops in all cached paths for one set of cut links


class Hop(NamedTuple):
    """One link in one direction."""

    link: str
    direction: Direction


class _Edge:
    """One direction of a link in the graph."""

    __slots__ = ("cost", "head", "hop", "link", "only", "tail", "width")

    def __init__(self, tail: str, head: str, hop: Hop, cost: int, width: float) -> None:
        self.tail, self.head, self.hop, self.cost, self.width = tail, head, hop, cost, width
        self.link = hop.link
        self.only = (self,)


# For one destination: the edges that a packet at each node may take next.
_Choices = dict[str, tuple[_Edge, ...]]


class _State:
    """The cached routes while one set of links is down."""

    __slots__ = ("down", "hops", "paths", "trees", "widths")

    def __init__(self, down: frozenset[str]) -> None:
        self.down = down
        self.trees: dict[tuple[str, float], _Choices] = {}
        self.widths: dict[str, dict[str, float]] = {}
        self.paths: dict[tuple[str, str, float], tuple[Hop, ...] | None] = {}
        self.hops = 0


class Router:
    """Finds the paths of packets. It knows nothing of time or of the traffic on the links."""

    def __init__(
        self,
        hosts: Iterable[str],
        switches: Iterable[str],
        links: Iterable[PlannedLink],
        routing: Routing,
        seed: int,
    ) -> None:
        self._by = routing.by
        self._seed = _mix(seed & _MASK)
        self._switches = frozenset(switches)
        self._nodes = self._switches | frozenset(hosts)
        self._number = {name: number for number, name in enumerate(sorted(self._nodes, key=natural))}
        ranked = sorted(links, key=lambda link: natural(link.name))
        self.initially_down = frozenset(link.name for link in ranked if not (link.forward.up and link.backward.up))
        edges = [edge for rank, link in enumerate(ranked) for edge in self._both_ways(rank, link)]
        self._out: dict[str, list[_Edge]] = {name: [] for name in self._nodes}
        for edge in edges:
            self._out[edge.tail].append(edge)
        # A host with one link, to a switch, is a leaf: it shares the routes of its switch.
        self._leaf = {
            name: ways[0]
            for name, ways in self._out.items()
            if name not in self._switches and len(ways) == 1 and ways[0].head in self._switches
        }
        self._leaf_in = {edge.head: edge for edge in edges if edge.head in self._leaf}
        self._into: dict[str, list[_Edge]] = {name: [] for name in self._nodes if name not in self._leaf}
        for edge in edges:
            if edge.tail not in self._leaf and edge.head not in self._leaf:
                self._into[edge.head].append(edge)
        self._core_widths = sorted({edge.width for ways in self._into.values() for edge in ways})
        self._given = self._given_hops(routing.given)
        self._states: dict[frozenset[str], _State] = {}

    @classmethod
    def of(cls, network: Network) -> Router:
        """The router of a planned network."""
        names = (host.name for host in network.hosts)
        return cls(names, network.switches, network.links, network.routing, network.seed)

    def path(
        self, source: str, target: str, *, flow: int = 0, down: frozenset[str] = NONE_DOWN
    ) -> tuple[Hop, ...] | None:
        """The links from source to target without those in ``down``; None if there is no path.

        ``flow`` chooses among equally good paths under ECMP and has no other effect. The caller says which links are
        down; ``initially_down`` are those that the plan declares down.
        """
        if source == target:
            return ()
        given = self._given.get((source, target))
        if given is not None and (not down or not any(hop.link in down for hop in given)):
            return given
        first, last = self._leaf.get(source), self._leaf_in.get(target)
        if down and ((first and first.link in down) or (last and last.link in down)):
            return None
        start = source if first is None else first.head
        end = target if last is None else last.tail
        if start == end:
            middle: tuple[Hop, ...] | None = ()
        else:
            state = self._states.get(down) or self._new_state(down)
            floor = self._floor(state, start, end, first, last) if self._by == "widest" else 0.0
            if self._by == "ecmp":
                middle = self._walk(state, (start, end, floor), self._flow_hash(source, target, flow))
            else:
                key = (start, end, floor)
                middle = state.paths.get(key)
                if middle is None and key not in state.paths:
                    middle = self._remember(state, key, self._walk(state, key, 0))
        if middle is None:
            return None
        if first is not None:
            middle = (first.hop, *middle)
        return middle if last is None else (*middle, last.hop)

    def nodes(self, source: str, path: tuple[Hop, ...]) -> tuple[str, ...]:
        """The nodes of a path, its ends included."""
        names = [source]
        for hop in path:
            names.append(next(edge.head for edge in self._out[names[-1]] if edge.hop == hop))
        return tuple(names)

    def _both_ways(self, rank: int, link: PlannedLink) -> tuple[_Edge, _Edge]:
        """The edges of both directions of a link. Both have the same tie-break."""
        tie = (rank << _NOISE_BITS) + _mix(self._seed ^ rank)
        forward, backward = Hop(link.name, "forward"), Hop(link.name, "backward")
        there, back = link.forward, link.backward
        return (
            _Edge(link.a, link.b, forward, self._cost(there.latency_ms) + tie, _width(there.bandwidth_bps)),
            _Edge(link.b, link.a, backward, self._cost(back.latency_ms) + tie, _width(back.bandwidth_bps)),
        )

    def _cost(self, latency_ms: float) -> int:
        """The cost of an edge: its latency if that counts, one hop, and room for the tie-break."""
        nanoseconds = round(latency_ms * 1e6) if self._by == "latency" else 0
        return ((nanoseconds << _HOP_BITS) + 1) << _TIE_BITS

    def _given_hops(self, given: dict[str, tuple[str, ...]]) -> dict[tuple[str, str], tuple[Hop, ...]]:
        """The given paths as hops. The reverse path has the same nodes unless it is given, too."""
        if self._by != "given":
            return {}
        ways = [nodes[::-1] for nodes in given.values()] + list(given.values())
        return {(way[0], way[-1]): tuple(self._best_link(tail, head) for tail, head in pairwise(way)) for way in ways}

    def _best_link(self, tail: str, head: str) -> Hop:
        """The cheapest link between two neighbours."""
        return min((e for e in self._out[tail] if e.head == head), key=lambda edge: edge.cost).hop

    def _new_state(self, down: frozenset[str]) -> _State:
        """An empty cache for this set of links. The oldest cache is dropped if there are too many."""
        if len(self._states) >= _STATES_KEPT:
            self._states.pop(next(iter(self._states)))
        return self._states.setdefault(down, _State(down))

    @staticmethod
    def _remember(state: _State, key: tuple[str, str, float], path: tuple[Hop, ...] | None) -> tuple[Hop, ...] | None:
        """Cache a path and return it. The cache is emptied when it holds too many hops."""
        if state.hops > _HOPS_KEPT:
            state.paths.clear()
            state.hops = 0
        state.hops += 1 + len(path or ())
        state.paths[key] = path
        return path

    def _walk(self, state: _State, key: tuple[str, str, float], mixed: int) -> tuple[Hop, ...] | None:
        """Follow the next edges from start to end.

        ``mixed`` chooses among equally good ones; None if there is no path.
        """
        start, end, floor = key
        choices = self._tree(state, end, floor)
        hops, node = [], start
        while node != end:
            ways = choices.get(node)
            if ways is None:
                return None
            edge = ways[0] if len(ways) == 1 else ways[_mix(mixed ^ self._number[node]) % len(ways)]
            hops.append(edge.hop)
            node = edge.head
        return tuple(hops)

    def _tree(self, state: _State, end: str, floor: float) -> _Choices:
        """The next edges on the cheapest paths from every node to ``end``, over links at least ``floor`` wide."""
        known = state.trees.get((end, floor))
        if known is not None:
            return known
        best, choices, equal = {end: 0}, _Choices(), self._by == "ecmp"
        heap = [(0, end)]
        while heap:
            cost, head = heappop(heap)
            if cost > best[head] or (head != end and head not in self._switches):
                continue
            for edge in self._into[head]:
                if edge.width < floor or edge.link in state.down or edge.tail == end:
                    continue
                tail, total = edge.tail, cost + edge.cost
                before = best.get(tail)
                if equal and before is not None and total >> _TIE_BITS == before >> _TIE_BITS:
                    choices[tail] = (*choices[tail], edge)
                elif before is None or total < before:
                    choices[tail] = edge.only
                if before is None or total < before:
                    best[tail] = total
                    heappush(heap, (total, tail))
        if equal:
            for tail, ways in choices.items():
                if len(ways) > 1:
                    choices[tail] = tuple(sorted(ways, key=lambda edge: edge.cost))
        state.trees[end, floor] = choices
        return choices

    def _floor(
        self,
        state: _State,
        start: str,
        end: str,
        first: _Edge | None,
        last: _Edge | None,
    ) -> float:
        """The least width of a link on the widest path.

        The links of both hosts count: if they are the bottleneck, a short path as wide as they are is better than a
        wider detour. The result is rounded up to the width of a link, so that there are few different results.
        """
        widths = state.widths.get(end)
        if widths is None:
            widths = state.widths[end] = self._widest(end, state.down)
        width = min(widths.get(start, 0.0), *(edge.width for edge in (first, last) if edge), math.inf)
        position = bisect_left(self._core_widths, width)
        return self._core_widths[position] if position < len(self._core_widths) else width

    def _widest(self, end: str, down: frozenset[str]) -> dict[str, float]:
        """The width of the widest path from every node to ``end``."""
        widths = {end: math.inf}
        heap = [(-math.inf, self._number[end], end)]
        while heap:
            negative, _, head = heappop(heap)
            if -negative < widths[head] or (head != end and head not in self._switches):
                continue
            for edge in self._into[head]:
                width = min(-negative, edge.width)
                if edge.link not in down and width > widths.get(edge.tail, 0.0):
                    widths[edge.tail] = width
                    heappush(heap, (-width, self._number[edge.tail], edge.tail))
        return widths

    def _flow_hash(self, source: str, target: str, flow: int) -> int:
        """A hash of the flow, so that each flow keeps its path."""
        ends = (self._number[source] << 32) | self._number[target]
        return _mix(_mix(self._seed ^ ends) ^ (flow & _MASK))


def _width(bandwidth_bps: float | None) -> float:
    return math.inf if bandwidth_bps is None else bandwidth_bps


def _mix(number: int) -> int:
    """A well-spread 64-bit hash of a number (the finaliser of splitmix64)."""
    number = (number + 0x9E3779B97F4A7C15) & _MASK
    number = ((number ^ (number >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    number = ((number ^ (number >> 27)) * 0x94D049BB133111EB) & _MASK
    return number ^ (number >> 31)
