"""``partition``: groups of hosts no longer reach each other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from itertools import combinations

from stream2gym.faults.action import CannotApply, FaultContext, LinkAction
from stream2gym.faults.link_changes import Pair
from stream2gym.kinds.fault_settings import RING_LEAST


class PartitionFault(LinkAction):
    """Packets between groups of hosts are dropped, whatever links they would take."""

    def apply(self, context: FaultContext) -> None:
        hosts = list(self.hit) or _broker_hosts(context)
        pairs, self.hit = self._pairs(context, hosts)
        context.links.block(self, pairs)

    def undo(self, context: FaultContext) -> None:
        context.links.unblock(self)

    def _pairs(self, context: FaultContext, hosts: Sequence[str]) -> tuple[set[Pair], tuple[str, ...]]:
        """The pairs of hosts whose packets are dropped, and the groups as text for events."""
        shape, one_way = self.settings.shape, self.settings.one_way
        if shape == "ring":
            return ring(hosts), (f"ring of {' '.join(hosts)}",)
        if shape == "bridge":
            joins = self.settings.bridge or hosts[len(hosts) // 2]
            rest = [host for host in hosts if host != joins]
            groups = halves(rest, len(rest) // 2)
            if joins not in {host.name for host in context.network.hosts}:
                raise CannotApply(f"there is no host {joins}")
            return apart(groups, one_way), (f"{group_text(groups)} over {joins}",)
        if shape == "groups":
            groups = [hosts_named(context, names) for names in self.settings.groups]
        else:  # halves, or a minority apart from a majority
            groups = halves(hosts, len(hosts) // 2 if shape == "halves" else (len(hosts) - 1) // 2)
        everyone = [host for group in groups for host in group]
        if not all(groups) or len(everyone) != len(set(everyone)):
            raise CannotApply(f"cannot separate these groups: {group_text(groups)}")
        return apart(groups, one_way), (group_text(groups),)


def hosts_named(context: FaultContext, names: Iterable[str]) -> list[str]:
    """Hosts by name or glob. A switch means the hosts that are linked to it."""
    network = context.network
    found: dict[str, None] = {}
    for pattern in names:
        found |= dict.fromkeys(host.name for host in network.hosts if fnmatchcase(host.name, pattern))
        for switch in network.switches:
            if fnmatchcase(switch, pattern):
                ends = {end for link in context.links.links_of(switch) for end in (link.a, link.b)}
                found |= dict.fromkeys(host.name for host in network.hosts if host.name in ends)
    return list(found)


def _broker_hosts(context: FaultContext) -> list[str]:
    """The hosts of the brokers, or every host in an experiment without brokers."""
    hosts = dict.fromkeys(part.host for part in context.components().values() if part.kind == "broker")
    return list(hosts) or [host.name for host in context.network.hosts]


def apart(groups: Sequence[Sequence[str]], one_way: bool) -> set[Pair]:
    """The pairs of hosts in different groups. ``one_way``: only from earlier groups to later ones."""
    pairs = {(a, b) for mine, theirs in combinations(groups, 2) for a in mine for b in theirs}
    return pairs if one_way else pairs | {(b, a) for a, b in pairs}


def halves(hosts: Sequence[str], first: int) -> list[list[str]]:
    """Two groups: the first so many hosts, and the others."""
    return [list(hosts[:first]), list(hosts[first:])]


def ring(hosts: Sequence[str]) -> set[Pair]:
    """The pairs to separate so that every host reaches its neighbours on a ring only: each a different majority."""
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


def group_text(groups: Iterable[Iterable[str]]) -> str:
    """The groups as ``h1 h2 | h3``."""
    return " | ".join(" ".join(group) for group in groups)
