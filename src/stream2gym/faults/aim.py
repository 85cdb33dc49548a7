"""What a fault hits: names and globs at once, roles by asking the cluster or the fabric just before it fires.

An ``Aim`` asks when it is made, a moment before the fault is due, and ``settle`` takes the answers at the due time,
so that asking costs no punctuality.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from random import Random

from stream2gym.errors import S2gError
from stream2gym.fabric.protocol import FabricStats
from stream2gym.faults.base import Answer, CannotApply, World
from stream2gym.kinds.targets import Target, matches_link, parse_target

LEAD_S = 0.25
ANSWER_S = 5.0
_ASKED = ("leader", "follower", "controller", "coordinator", "busiest")


def needs_asking(on: Iterable[str]) -> bool:
    """Whether a target can only be known by asking."""
    return any(_innermost(parse_target(text)).form in _ASKED for text in on)


def _innermost(target: Target) -> Target:
    return target if target.among is None else _innermost(target.among)


class Aim:
    """The targets of one occurrence; ``nouns`` are what its kind can be done to."""

    def __init__(self, on: Sequence[str], nouns: frozenset[str], world: World, rng: Random) -> None:
        self._targets = [parse_target(text) for text in on]
        self._nouns = nouns
        self._world = world
        self._rng = rng
        self._answers: dict[Target, Answer] = {}
        self._before: FabricStats | None = None
        for target in map(_innermost, self._targets):
            self._ask(target)

    def settle(self) -> tuple[str, ...]:
        """The names that are hit, in the order in which they were written, none twice."""
        hit: dict[str, None] = {}
        for target in self._targets:
            found = self._resolve(target)
            if not found:
                raise CannotApply(f"nothing is {target.text!r} now")
            hit |= dict.fromkeys(found)
        return tuple(hit)

    def _ask(self, target: Target) -> None:
        if target.form == "busiest":
            self._before = self._world.links.fabric.stats()
        elif target.form in _ASKED:
            cluster = self._world.cluster
            if cluster is None:
                raise CannotApply(f"{target.text}: there is no cluster")
            if target.form == "controller":
                self._answers[target] = cluster.ask("controller", timeout_s=ANSWER_S)
            elif target.form == "coordinator":
                self._answers[target] = cluster.ask("coordinator", group=target.subject, timeout_s=ANSWER_S)
            else:
                self._answers[target] = cluster.ask("describe", topics=[target.subject])

    def _resolve(self, target: Target) -> list[str]:
        if target.form == "random" and target.among is not None:
            among = self._resolve(target.among)
            if len(among) < target.count:
                raise CannotApply(f"{target.text}: there are only {len(among)}")
            return sorted(self._rng.sample(among, target.count), key=among.index)
        if target.form == "link":
            links = self._world.network.links
            return [link.name for link in links if matches_link(target, link.a, link.b)]
        if target.form == "busiest":
            return self._busiest(target.count)
        if target.form in _ASKED:
            return self._as_noun(self._role(target))
        return self._named(target.text)

    def _named(self, pattern: str) -> list[str]:
        """Names of the first noun that has any."""
        world = self._world
        pools = {
            "component": list(world.components()),
            "host": [host.name for host in world.network.hosts],
            "switch": list(world.network.switches),
            "topic": [topic.name for topic in world.experiment.topics],
            "nothing": [*(host.name for host in world.network.hosts), *world.network.switches],
        }
        for noun, names in pools.items():
            found = [name for name in names if noun in self._nouns and fnmatchcase(name, pattern)]
            if found:
                return found
        return []

    def _as_noun(self, brokers: list[str]) -> list[str]:
        """Brokers, or their hosts where the fault is done to hosts."""
        if "component" in self._nouns:
            return brokers
        return list(dict.fromkeys(self._world.component(name).host for name in brokers))

    def _role(self, target: Target) -> list[str]:
        cluster = self._world.cluster
        assert cluster is not None
        try:
            said = self._answers[target].result(ANSWER_S)
        except S2gError as error:
            raise CannotApply(f"{target.text}: {error}") from error
        if target.form in ("controller", "coordinator"):
            return [cluster.broker(int(said["node"]))]
        partitions = said["topics"].get(target.subject, {})
        if target.partition is not None:
            partitions = {key: value for key, value in partitions.items() if int(key) == target.partition}
        nodes: list[int] = []
        for leader, _replicas, in_sync in partitions.values():
            if target.form == "leader":
                nodes += [leader] if leader >= 0 else []
            else:
                nodes += [node for node in in_sync if node != leader][:1]
        if target.form == "leader" and target.partition is None and nodes:
            # Of a topic with many leaders the one that leads most is meant, the lowest number where several do.
            nodes = [max(sorted(set(nodes)), key=nodes.count)]
        return [cluster.broker(node) for node in dict.fromkeys(nodes[:1])]

    def _busiest(self, count: int) -> list[str]:
        """Links by the bytes that entered since the aim was taken, then since the start."""
        before = {
            (one.link, one.direction): one.entered_bytes
            for one in (self._before.links if self._before else ())
        }
        recent: dict[str, int] = {}
        total: dict[str, int] = {}
        for one in self._world.links.fabric.stats().links:
            new = one.entered_bytes - before.get((one.link, one.direction), 0)
            recent[one.link] = recent.get(one.link, 0) + new
            total[one.link] = total.get(one.link, 0) + one.entered_bytes
        order = sorted(recent, key=lambda link: (-recent[link], -total[link], link))
        return order[:count]
