"""Chooses hosts for the components that name none. Pure; a small search with backtracking.

A policy orders the hosts for each component. Constraints say what must hold: ``colocate`` (all on one host),
``exlocate`` (all on different hosts), ``isolate`` (nothing else on the host of each). Components that the user placed
stay where they are. If no placement meets all constraints, the error names a smallest set that contradicts.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Literal

from stream2gym.errors import BadInput, Mistake
from stream2gym.spec.findings import did_you_mean

Policy = Literal["round-robin", "random", "least-loaded", "nearest", "central"]
ConstraintKind = Literal["colocate", "exlocate", "isolate"]

_STEPS = 20_000  # the most steps of a search; usual placements take a few


@dataclass(frozen=True)
class Rule:
    """A constraint over the names of components."""

    kind: ConstraintKind
    patterns: tuple[str, ...]

    def members(self, names: Sequence[str]) -> list[str]:
        """The names that the constraint is about."""
        return [name for name in names if any(fnmatchcase(name, pattern) for pattern in self.patterns)]

    def __str__(self) -> str:
        return f"{self.kind} [{', '.join(self.patterns)}]"


@dataclass(frozen=True)
class PlacementProblem:
    """What has to be placed: the components in the order of the document, the hosts, and the constraints."""

    components: tuple[str, ...]
    fixed: Mapping[str, str]
    # The hosts that components without a host may get.
    hosts: tuple[str, ...]
    rules: tuple[Rule, ...] = ()
    policy: Policy = "round-robin"
    seed: int = 1
    # The number of processes of a component; 1 if it is not here.
    weight: Mapping[str, int] = field(default_factory=dict)
    peers: Mapping[str, Sequence[str]] = field(default_factory=dict)
    distance: Callable[[str, str], float] = lambda _a, _b: 0.0
    # All hosts, for the policy ``central``.
    everywhere: tuple[str, ...] = ()


def place_components(problem: PlacementProblem) -> dict[str, str]:
    """The host of every component. BadInput names the constraints that contradict."""
    mistakes = [
        Mistake(
            f"placement, {rule}",
            f"no component is called {pattern!r}",
            did_you_mean(pattern, problem.components),
        )
        for rule in problem.rules
        for pattern in rule.patterns
        if not any(fnmatchcase(name, pattern) for name in problem.components)
    ]
    if mistakes:
        raise BadInput(mistakes)
    if not problem.hosts and len(problem.fixed) < len(problem.components):
        raise BadInput("there is no host to place components on")
    try:
        found = _Search(problem, problem.rules, problem.fixed).run()
    except _GaveUp:
        hint = "place some components yourself"
        raise BadInput(Mistake("placement", f"no placement found in {_STEPS} steps", hint)) from None
    if found is None:
        raise BadInput(_contradiction(problem))
    return found


class _GaveUp(Exception):
    """The search took too many steps."""


def _impossible(problem: PlacementProblem, rules: Sequence[Rule], fixed: Mapping[str, str]) -> bool:
    """Whether no placement meets these rules. A search that took too many steps counts as possible."""
    try:
        return _Search(problem, rules, fixed).run() is None
    except _GaveUp:
        return False


def _contradiction(problem: PlacementProblem) -> Mistake:
    """The mistake that names the contradiction: the rules and given hosts without which a placement would exist."""
    rules, fixed = list(problem.rules), dict(problem.fixed)
    for rule in problem.rules:
        fewer = [other for other in rules if other is not rule]
        if _impossible(problem, fewer, fixed):
            rules = fewer
    for name in problem.fixed:
        fewer_fixed = {other: host for other, host in fixed.items() if other != name}
        if _impossible(problem, rules, fewer_fixed):
            fixed = fewer_fixed
    parts = [f"{rule} ({', '.join(rule.members(problem.components))})" for rule in rules]
    parts += [f"{name} is given on {host}" for name, host in fixed.items()]
    hosts = ", ".join(problem.hosts[:8]) + (" ..." if len(problem.hosts) > 8 else "")
    number = f"{len(problem.hosts)} host" + ("" if len(problem.hosts) == 1 else "s")
    return Mistake(
        "placement",
        f"these cannot hold together on {number} ({hosts}): {'; '.join(parts)}",
        "leave one out, or add hosts",
    )


class _Search:
    """One search. Components that must share a host form a group; groups are placed in the order of the document."""

    def __init__(self, problem: PlacementProblem, rules: Sequence[Rule], fixed: Mapping[str, str]) -> None:
        self.problem = problem
        self.leader = {name: name for name in problem.components}
        for rule in rules:
            if rule.kind == "colocate":
                together = rule.members(problem.components)
                for name in together[1:]:
                    self._join(together[0], name)
        self.groups: dict[str, list[str]] = {}
        for name in problem.components:
            self.groups.setdefault(self.leader[name], []).append(name)
        self.apart: dict[str, set[str]] = {group: set() for group in self.groups}
        self.cliques: list[list[str]] = []
        self.possible = self._exclusions(rules)
        self.host: dict[str, str] = {}
        self.load = dict.fromkeys((*problem.hosts, *fixed.values()), 0)
        self.fixed = fixed
        self._central: dict[str, float] = {}

    def run(self) -> dict[str, str] | None:
        """The host of every component; None if no placement meets the rules."""
        if not self.possible or not self._place_fixed():
            return None
        free = [group for group in self.groups if group not in self.host]
        if not self._enough_hosts(free):
            return None
        tried: list[Iterator[str]] = []
        steps, stuck = 0, False
        while len(tried) < len(free):
            last = self.host[free[len(tried) - 1]] if tried else None
            tried.append(iter(self._order(free[len(tried)], last)))
            while tried:
                steps += 1
                if steps > _STEPS:
                    raise _GaveUp
                group = free[len(tried) - 1]
                self._take_back(group)
                closed = self._closed(group)
                host = next((host for host in tried[-1] if host not in closed), None)
                if host is None:
                    tried.pop()
                    stuck = True
                    continue
                self._put(group, host)
                # Checking the rest costs time, and most searches never get stuck. So it begins after the first dead
                # end.
                if not stuck or self._enough_hosts(free[len(tried) :]):
                    break
            if not tried:
                return None
        return {name: self.host[self.leader[name]] for name in self.problem.components}

    def _join(self, a: str, b: str) -> None:
        """Put two components into one group."""
        old, new = self.leader[b], self.leader[a]
        if old != new:
            self.leader = {name: new if lead == old else lead for name, lead in self.leader.items()}

    def _exclusions(self, rules: Sequence[Rule]) -> bool:
        """Note which groups must not share a host. Returns False if that would separate a group."""
        alone = set()
        sets: list[list[str]] = []
        for rule in rules:
            names = rule.members(self.problem.components)
            if rule.kind == "exlocate":
                groups = [self.leader[name] for name in names]
                if len(set(groups)) < len(groups):
                    return False
                sets.append(groups)
            elif rule.kind == "isolate":
                for name in names:
                    if len(self.groups[self.leader[name]]) > 1:
                        return False
                    alone.add(name)
        for group in alone:
            for other in self.groups:
                if other != group:
                    self.apart[group].add(other)
                    self.apart[other].add(group)
        for groups in sets:
            for group in groups:
                self.apart[group].update(other for other in groups if other != group)
        everyone = [] if len(alone) == len(self.groups) else [g for g in self.groups if g not in alone][:1]
        for groups in [*sets, everyone]:
            clique = list(dict.fromkeys([*groups, *(g for g in self.groups if g in alone)]))
            if len(clique) > 1:
                self.cliques.append(clique)
        return True

    def _place_fixed(self) -> bool:
        """Place the components with a given host. Returns False if that contradicts the rules."""
        for name, host in self.fixed.items():
            group = self.leader[name]
            if self.host.get(group, host) != host or host in self._closed(group):
                return False
            if group not in self.host:
                self._put(group, host)
        return True

    def _closed(self, group: str) -> set[str]:
        """The hosts that the group cannot have because of groups that are placed."""
        return {self.host[other] for other in self.apart[group] if other in self.host}

    def _put(self, group: str, host: str) -> None:
        self.host[group] = host
        self.load[host] = self.load.get(host, 0) + self._weight(group)

    def _take_back(self, group: str) -> None:
        host = self.host.pop(group, None)
        if host is not None:
            self.load[host] -= self._weight(group)

    def _weight(self, group: str) -> int:
        return sum(self.problem.weight.get(name, 1) for name in self.groups[group])

    def _enough_hosts(self, free: Sequence[str]) -> bool:
        """Whether each set of groups that need different hosts can still be matched with hosts."""
        waiting = set(free)
        for clique in self.cliques:
            groups = [group for group in clique if group in waiting]
            open_hosts = {}
            for group in groups:
                closed = self._closed(group)
                open_hosts[group] = [host for host in self.problem.hosts if host not in closed]
            owner: dict[str, str] = {}
            if not all(_match(group, open_hosts, owner, set()) for group in groups):
                return False
        return True

    def _order(self, group: str, last: str | None) -> list[str]:
        """The hosts for this group, in the order of the policy."""
        hosts = list(self.problem.hosts)
        rank = {host: number for number, host in enumerate(hosts)}
        policy = self.problem.policy
        if policy == "round-robin":
            start = 0 if last is None else rank[last] + 1
            return hosts[start:] + hosts[:start]
        if policy == "random":
            random.Random(f"{self.problem.seed} {group}").shuffle(hosts)
            return hosts
        if policy == "least-loaded":
            return sorted(hosts, key=lambda host: (self.load[host], rank[host]))
        distance = self._distance_for(group)
        return sorted(hosts, key=lambda host: (distance(host), self.load[host], rank[host]))

    def _distance_for(self, group: str) -> Callable[[str], float]:
        """The distance of a host from the placed peers of the group; without such peers, from all hosts."""
        distance = self.problem.distance
        if self.problem.policy == "nearest":
            members = set(self.groups[group])
            near = [self.host[self.leader[n]] for n in self._peers_of(members) if self.leader[n] in self.host]
            if near:
                return lambda host: sum(distance(host, other) for other in near)
        if not self._central:
            everywhere = self.problem.everywhere or self.problem.hosts
            self._central = {host: sum(distance(host, other) for other in everywhere) for host in self.problem.hosts}
        return lambda host: self._central[host]

    def _peers_of(self, members: set[str]) -> list[str]:
        """The components that talk to one of the members, or that a member talks to."""
        peers = self.problem.peers
        found = {peer for name in members for peer in peers.get(name, ())}
        found |= {name for name, others in peers.items() if members & set(others)}
        return [name for name in self.problem.components if name in found - members]


def _match(group: str, hosts: Mapping[str, list[str]], owner: dict[str, str], seen: set[str]) -> bool:
    """Find a host for the group alone. Other groups get another host if needed (an augmenting path)."""
    free = next((host for host in hosts[group] if host not in owner), None)
    if free is not None:
        owner[free] = group
        return True
    for host in hosts[group]:
        if host not in seen:
            seen.add(host)
            if _match(owner[host], hosts, owner, seen):
                owner[host] = group
                return True
    return False
