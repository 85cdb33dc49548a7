"""The shapes of a partition: which pairs of hosts no longer reach each other. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

from stream2gym.faults.base import CannotApply
from stream2gym.faults.linkbook import Pair
from stream2gym.kinds.faults import RING_LEAST


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
