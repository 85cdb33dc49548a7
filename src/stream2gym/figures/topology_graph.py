"""The graph of a topology that layouts read, and the layout that they make."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from stream2gym.plan.natural_order import natural

Point = tuple[float, float]
Size = tuple[float, float]


@dataclass
class Graph:
    """The nodes of a topology with their sizes, and which of them are joined."""

    sizes: dict[str, Size]
    hosts: set[str]
    joined: dict[str, list[str]]
    label_width: float = 0.0  # of the widest label of a link

    def leaves(self) -> dict[str, list[str]]:
        """The hosts that are joined to a single switch, by switch."""
        hanging: dict[str, list[str]] = {}
        for name in sorted(self.hosts, key=natural):
            near = self.joined[name]
            if len(near) == 1 and near[0] not in self.hosts:
                hanging.setdefault(near[0], []).append(name)
        return hanging

    def part(self, names: Iterable[str]) -> Graph:
        kept = set(names)
        return Graph(
            {name: size for name, size in self.sizes.items() if name in kept},
            self.hosts & kept,
            {name: near for name, near in self.joined.items() if name in kept},
            self.label_width,
        )


@dataclass
class Layout:
    """The centres of nodes, the hosts that are stacked on a spine, and the links that bulge outwards."""

    at: dict[str, Point] = field(default_factory=dict)
    stacked: set[str] = field(default_factory=set)
    bulging: dict[frozenset[str], float] = field(default_factory=dict)  # joined nodes to how far sideways

    def shifted(self, dx: float, dy: float) -> Layout:
        moved = {name: (x + dx, y + dy) for name, (x, y) in self.at.items()}
        return Layout(moved, self.stacked, self.bulging)


def count_hops(joined: dict[str, list[str]], *starts: str) -> dict[str, int]:
    """The hops from the nearest start to every node that can be reached, nearest first."""
    steps = dict.fromkeys(starts, 0)
    queue = deque(starts)
    while queue:
        node = queue.popleft()
        for near in joined.get(node, ()):
            if near not in steps:
                steps[near] = steps[node] + 1
                queue.append(near)
    return steps
