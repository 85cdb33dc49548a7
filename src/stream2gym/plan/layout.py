"""Where nodes stand in a drawing: recognises the shape of a topology and lays it out as people draw it.

A star, a row, a ring, a tree or the levels of a data centre each have their own layout; anything else is drawn
so that distances on paper follow distances in hops. Hosts with one switch hang on it. Deterministic, without
libraries: the sizes that people draw are small.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from stream2gym.plan.names import natural

Point = tuple[float, float]
Size = tuple[float, float]


@dataclass
class Graph:
    """Who is joined to whom, and how much room each node takes."""

    sizes: dict[str, Size]
    hosts: set[str]
    joined: dict[str, list[str]]
    label_width: float = 0.0  # of the widest label of a link

    def leaves(self) -> dict[str, list[str]]:
        """Hosts that hang on a single switch, by switch."""
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
    """Centres of nodes; hosts drawn below each other on a spine; links that go around the outside."""

    at: dict[str, Point] = field(default_factory=dict)
    stacked: set[str] = field(default_factory=set)
    bulging: dict[frozenset[str], float] = field(default_factory=dict)  # joined nodes to how far sideways

    def shifted(self, dx: float, dy: float) -> Layout:
        moved = {name: (x + dx, y + dy) for name, (x, y) in self.at.items()}
        return Layout(moved, self.stacked, self.bulging)


def lay_out(graph: Graph) -> Layout:
    """Positions of every node, parts that never meet beside each other."""
    whole = Layout()
    x = y = row_height = 0.0
    for names in parts(graph):
        part = graph.part(names)
        layout = _lay_out_part(part)
        left, top, right, bottom = bounds(part, layout)
        if x and x + right - left > 1600:
            x, y, row_height = 0.0, y + row_height + 60, 0.0
        placed = layout.shifted(x - left, y - top)
        whole.at |= placed.at
        whole.stacked |= placed.stacked
        whole.bulging |= placed.bulging
        x += right - left + 60
        row_height = max(row_height, bottom - top)
    return whole


def bounds(graph: Graph, layout: Layout) -> tuple[float, float, float, float]:
    """Left, top, right, bottom of all nodes."""
    boxes = [(x, y, *graph.sizes[name]) for name, (x, y) in layout.at.items()]
    return (
        min(x - w / 2 for x, _, w, _ in boxes),
        min(y - h / 2 for _, y, _, h in boxes),
        max(x + w / 2 for x, _, w, _ in boxes),
        max(y + h / 2 for _, y, _, h in boxes),
    )


def parts(graph: Graph) -> list[list[str]]:
    """Connected parts, the largest first; single nodes last."""
    seen: set[str] = set()
    found = []
    for start in sorted(graph.sizes, key=natural):
        if start in seen:
            continue
        part = list(distances(graph.joined, start))
        seen.update(part)
        found.append(part)
    return sorted(found, key=len, reverse=True)


def distances(joined: dict[str, list[str]], *starts: str) -> dict[str, int]:
    """Hops from the nearest start to everything that can be reached, in order of reaching."""
    steps = dict.fromkeys(starts, 0)
    queue = deque(starts)
    while queue:
        node = queue.popleft()
        for near in joined.get(node, ()):
            if near not in steps:
                steps[near] = steps[node] + 1
                queue.append(near)
    return steps


def _lay_out_part(graph: Graph) -> Layout:
    from stream2gym.plan import layout_free, layout_shapes

    leaves = graph.leaves()
    hanging = {name for names in leaves.values() for name in names}
    core = sorted((name for name in graph.sizes if name not in hanging), key=natural)
    near = {name: [other for other in graph.joined[name] if other not in hanging] for name in core}
    edges = sum(map(len, near.values())) // 2
    if len(core) == 1:
        return layout_shapes.star(graph, core[0], leaves.get(core[0], []))
    ends = [name for name in core if len(near[name]) == 1]
    if edges == len(core) - 1 and len(ends) == 2 and all(len(ways) <= 2 for ways in near.values()):
        return layout_shapes.row(graph, list(distances(near, ends[0])), leaves)
    if edges == len(core) and all(len(ways) == 2 for ways in near.values()):
        return layout_shapes.ring(graph, _around(near, core[0]), leaves)
    if edges == len(core) - 1:
        return layout_shapes.tree(graph, near, leaves)
    levels = _levels(near, leaves)
    if levels:
        return layout_shapes.levels(graph, near, levels, leaves)
    return layout_free.free(graph, near, leaves)


def _around(near: dict[str, list[str]], start: str) -> list[str]:
    ring, here = [start], near[start][0]
    while here != start:
        ring.append(here)
        here = next((name for name in near[here] if name not in ring[-2:]), start)
    return ring


def _levels(near: dict[str, list[str]], leaves: dict[str, list[str]]) -> list[list[str]]:
    """Switches by their distance from hosts, farthest first; nothing when links join equals."""
    if not leaves:
        return []
    level = distances(near, *(name for name in near if name in leaves))
    if any(level[a] == level[b] for a in near for b in near[a]) or max(level.values()) == 0:
        return []
    return [[name for name in near if level[name] == n] for n in range(max(level.values()), -1, -1)]
