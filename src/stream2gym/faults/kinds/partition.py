"""``partition``: groups of hosts no longer reach each other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from stream2gym.faults.base import Action, CannotApply, World
from stream2gym.faults.linkbook import Pair
from stream2gym.faults.shapes import apart, halves, ring, words


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
        everyone = [host for group in groups for host in group]
        if not all(groups) or len(everyone) != len(set(everyone)):
            raise CannotApply(f"no groups to part: {words(groups)}")
        return apart(groups, one_way), (words(groups),)


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
