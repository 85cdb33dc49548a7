"""Resolves the targets of a fault to names. Names and globs are known; for roles the cluster or the fabric is asked.

A ``TargetResolver`` asks when it is made, shortly before the fault is due, and again until then (``ask_again``).
``resolve`` uses the newest answers when the fault is due. So asking does not delay the fault, and a role that moves
in the meantime is followed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from random import Random
from typing import Any

from stream2gym.errors import S2gError
from stream2gym.fabric.protocol import FabricStats
from stream2gym.faults.action import Answer, CannotApply, FaultContext
from stream2gym.kinds.targets import Target, matches_link, parse_target

# The cluster is asked so long before a fault is due: early enough for slow answers, late enough for recent changes.
LEADS_S = (0.25, 0.2, 0.15, 0.1, 0.06, 0.02)
ANSWER_S = 5.0
_ASKED = ("leader", "follower", "controller", "coordinator", "busiest")


def needs_asking(on: Iterable[str]) -> bool:
    """Whether the cluster or the fabric must be asked to resolve one of the targets."""
    return any(_innermost(parse_target(text)).form in _ASKED for text in on)


def _innermost(target: Target) -> Target:
    return target if target.among is None else _innermost(target.among)


@dataclass(frozen=True)
class Asked:
    """One request about a role, and when it was sent."""

    at_ns: int
    answer: Answer


class TargetResolver:
    """Resolves the targets of one occurrence. ``nouns`` are what its kind of fault acts on: host, link, topic ..."""

    def __init__(
        self,
        on: Sequence[str],
        nouns: frozenset[str],
        context: FaultContext,
        rng: Random,
        *,
        clock: Callable[[], int],
    ) -> None:
        self._targets = [parse_target(text) for text in on]
        self._nouns = nouns
        self._context = context
        self._rng = rng
        self._clock = clock
        self._asked: dict[Target, list[Asked]] = {}
        self._before: FabricStats | None = None
        # When the answers that were used were asked for, and who had each role according to the first answer.
        self._resolved_ns: list[int] = []
        self._was: dict[str, list[str]] = {}
        for target in map(_innermost, self._targets):
            if target.form == "busiest":
                self._before = self._context.links.fabric.stats()
            else:
                self._ask(target)

    def ask_again(self) -> None:
        """Ask the cluster again who has the roles."""
        for target in map(_innermost, self._targets):
            self._ask(target)

    def resolution(self) -> dict[str, Any]:
        """For the event, after ``resolve``: when the answers were asked for, and who had the roles at first."""
        return {"resolved_ns": min(self._resolved_ns), "was": self._was} if self._resolved_ns else {}

    def resolve(self) -> tuple[str, ...]:
        """The names of what the fault acts on, in the order of its targets, each once."""
        hit: dict[str, None] = {}
        for target in self._targets:
            found = self._names_of(target)
            if not found:
                raise CannotApply(f"nothing matches {target.text!r} now")
            hit |= dict.fromkeys(found)
        return tuple(hit)

    def _ask(self, target: Target) -> None:
        if target.form not in _ASKED or target.form == "busiest":
            return
        cluster = self._context.cluster
        if cluster is None:
            raise CannotApply(f"{target.text}: there is no cluster")
        at_ns = self._clock()
        if target.form == "controller":
            answer = cluster.ask("controller", timeout_s=ANSWER_S)
        elif target.form == "coordinator":
            answer = cluster.ask("coordinator", group=target.subject, timeout_s=ANSWER_S)
        else:
            answer = cluster.ask("describe", topics=[target.subject])
        self._asked.setdefault(target, []).append(Asked(at_ns, answer))

    def _names_of(self, target: Target) -> list[str]:
        if target.form == "random" and target.among is not None:
            among = self._names_of(target.among)
            if len(among) < target.count:
                raise CannotApply(f"{target.text}: there are only {len(among)}")
            return sorted(self._rng.sample(among, target.count), key=among.index)
        if target.form == "link":
            links = self._context.network.links
            return [link.name for link in links if matches_link(target, link.a, link.b)]
        if target.form == "busiest":
            return self._busiest(target.count)
        if target.form in _ASKED:
            return self._as_noun(self._role(target))
        return self._named(target.text)

    def _named(self, pattern: str) -> list[str]:
        """The names that match a name or glob, of the first noun that has any."""
        context = self._context
        pools = {
            "component": list(context.components()),
            "host": [host.name for host in context.network.hosts],
            "switch": list(context.network.switches),
            "topic": [topic.name for topic in context.experiment.topics],
            "nothing": [*(host.name for host in context.network.hosts), *context.network.switches],
        }
        for noun, names in pools.items():
            found = [name for name in names if noun in self._nouns and fnmatchcase(name, pattern)]
            if found:
                return found
        return []

    def _as_noun(self, brokers: list[str]) -> list[str]:
        """The brokers, or their hosts when the fault acts on hosts."""
        if "component" in self._nouns:
            return brokers
        return list(dict.fromkeys(self._context.component(name).host for name in brokers))

    def _role(self, target: Target) -> list[str]:
        """Who has the role according to the newest answer. If none has arrived, the first one is waited for."""
        asked = self._asked[target]
        try:
            if not any(one.answer.done for one in asked):
                asked[0].answer.result(ANSWER_S)
            answered = [(one.at_ns, _said(one.answer)) for one in asked if one.answer.done]
            good = [(at_ns, said) for at_ns, said in answered if said is not None]
            if not good:
                asked[-1].answer.result(ANSWER_S)  # raises the refusal
        except S2gError as error:
            raise CannotApply(f"{target.text}: {error}") from error
        self._resolved_ns.append(good[-1][0])
        self._was[target.text] = self._holders(target, good[0][1])
        return self._holders(target, good[-1][1])

    def _holders(self, target: Target, said: dict[str, Any]) -> list[str]:
        """The brokers that have the role according to an answer of the cluster."""
        cluster = self._context.cluster
        assert cluster is not None
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
            # A topic may have several leaders: take the one with the most partitions, then the lowest node id.
            nodes = [max(sorted(set(nodes)), key=nodes.count)]
        return [cluster.broker(node) for node in dict.fromkeys(nodes[:1])]

    def _busiest(self, count: int) -> list[str]:
        """The links with the most bytes since this resolver was made, then since the start."""
        before = {
            (one.link, one.direction): one.entered_bytes for one in (self._before.links if self._before else ())
        }
        recent: dict[str, int] = {}
        total: dict[str, int] = {}
        for one in self._context.links.fabric.stats().links:
            new = one.entered_bytes - before.get((one.link, one.direction), 0)
            recent[one.link] = recent.get(one.link, 0) + new
            total[one.link] = total.get(one.link, 0) + one.entered_bytes
        order = sorted(recent, key=lambda link: (-recent[link], -total[link], link))
        return order[:count]


def _said(answer: Answer) -> dict[str, Any] | None:
    """What an answer that has arrived says; None for a refusal."""
    try:
        return answer.result(0.0)
    except S2gError:
        return None
