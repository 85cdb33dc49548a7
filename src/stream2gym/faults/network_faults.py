"""Faults of the network as a whole: groups that no longer reach each other, hosts cut off, dead switches, moves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from itertools import combinations

from stream2gym.faults.base import Action, CannotApply, World
from stream2gym.faults.linkbook import Change, Pair, both_ways, down

RING_LEAST = 5  # with fewer nodes in a ring every node sees all others


class Isolate(Action):
    """Hosts reach nobody, or are reached by nobody (``ways``: in, out, both)."""

    def apply(self, world: World) -> None:
        changes: dict[str, tuple[Change | None, Change | None]] = {}
        for host in self.hit:
            for link in world.links.links_of(host):
                out, into = ("forward", "backward") if link.a == host else ("backward", "forward")
                ways = {"both": "both", "out": out, "in": into}[self.settings.ways]
                there, back = both_ways(down, ways)
                before = changes.get(link.name, (None, None))
                changes[link.name] = (there or before[0], back or before[1])
        world.links.change(self, changes)

    def undo(self, world: World) -> None:
        world.links.restore(self)


class SwitchDown(Action):
    """Switches forward nothing: all their links are down."""

    def apply(self, world: World) -> None:
        names = [link.name for switch in self.hit for link in world.links.links_of(switch)]
        world.links.change(self, dict.fromkeys(names, (down, down)))

    def undo(self, world: World) -> None:
        world.links.restore(self)


class Partition(Action):
    """Who no longer reaches whom, whatever the links between them."""

    def apply(self, world: World) -> None:
        hosts = list(self.hit) or _broker_hosts(world)
        pairs, self.hit = self._pairs(world, hosts)
        world.links.block(self, pairs)

    def undo(self, world: World) -> None:
        world.links.unblock(self)

    def _pairs(self, world: World, hosts: Sequence[str]) -> tuple[set[Pair], tuple[str, ...]]:
        """What is dropped, and the groups in words."""
        shape, one_way = self.settings.shape, self.settings.one_way
        if shape == "ring":
            return ring(hosts), (f"ring of {' '.join(hosts)}",)
        if shape == "bridge":
            joins = self.settings.bridge or hosts[len(hosts) // 2]
            rest = [host for host in hosts if host != joins]
            groups = halves(rest, len(rest) // 2)
            if joins not in {host.name for host in world.network.hosts}:
                raise CannotApply(f"there is no host {joins}")
            return apart(groups, one_way), (f"{words(groups)} over {joins}",)
        if shape == "groups":
            groups = [hosts_named(world, names) for names in self.settings.groups]
        else:  # halves; or the smaller part apart from a majority
            groups = halves(hosts, len(hosts) // 2 if shape == "halves" else (len(hosts) - 1) // 2)
        both = set(groups[0]).intersection(*groups[1:])
        if not all(groups) or both:
            raise CannotApply(f"no groups to part: {words(groups)}")
        return apart(groups, one_way), (words(groups),)


def apart(groups: Sequence[Sequence[str]], one_way: bool) -> set[Pair]:
    """Pairs of hosts of different groups; one way: what earlier groups send to later ones."""
    pairs = {(a, b) for mine, theirs in combinations(groups, 2) for a in mine for b in theirs}
    return pairs if one_way else pairs | {(b, a) for a, b in pairs}


def halves(hosts: Sequence[str], first: int) -> list[list[str]]:
    return [list(hosts[:first]), list(hosts[first:])]


def ring(hosts: Sequence[str]) -> set[Pair]:
    """Every node sees its neighbours on a ring: a majority, and each a different one."""
    count = len(hosts)
    if count < RING_LEAST:
        raise CannotApply(f"a ring needs {RING_LEAST} hosts or more, there are {count}")
    reach = (count // 2 + 1) // 2
    return {
        (a, b)
        for i, a in enumerate(hosts)
        for j, b in enumerate(hosts)
        if min((i - j) % count, (j - i) % count) > reach
    }


def words(groups: Iterable[Iterable[str]]) -> str:
    return " | ".join(" ".join(group) for group in groups)


def hosts_named(world: World, names: Iterable[str]) -> list[str]:
    """Hosts by name or glob; a switch stands for the hosts at it."""
    network = world.network
    found: dict[str, None] = {}
    for pattern in names:
        found |= dict.fromkeys(host.name for host in network.hosts if fnmatchcase(host.name, pattern))
        for switch in network.switches:
            if fnmatchcase(switch, pattern):
                ends = {end for link in world.links.links_of(switch) for end in (link.a, link.b)}
                found |= dict.fromkeys(host.name for host in network.hosts if host.name in ends)
    return list(found)


def _broker_hosts(world: World) -> list[str]:
    """Where brokers run; every host in an experiment without."""
    hosts = dict.fromkeys(part.host for part in world.components().values() if part.kind == "broker")
    return list(hosts) or [host.name for host in world.network.hosts]


class Move(Action):
    """A host's link leads to another switch, and back again afterwards."""

    def apply(self, world: World) -> None:
        for host in self.hit:
            link = world.links.links_of(host)[0]
            ends = (host, self.settings.to) if link.a == host else (self.settings.to, host)
            world.links.fabric.move(link.name, *ends)

    def undo(self, world: World) -> None:
        for host in self.hit:
            link = world.links.links_of(host)[0]
            world.links.fabric.move(link.name, link.a, link.b)
