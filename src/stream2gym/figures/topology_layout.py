"""Where nodes stand in a drawing: recognises the shape of a topology and lays it out as people draw it.

A star, a row, a ring, a tree or the levels of a data centre each have their own layout, and the known backbones are
drawn as on a map; anything else is drawn so that distances on paper follow distances in hops. Hosts with one switch
hang on it. Deterministic, without libraries: the sizes that people draw are small.
"""

from __future__ import annotations

from stream2gym.figures import layout_free, layout_map, layout_shapes
from stream2gym.figures.topology_graph import Graph, Layout, count_hops
from stream2gym.plan.natural_order import natural


def lay_out(graph: Graph) -> Layout:
    """Place every node. Parts that are not connected stand beside each other."""
    whole = Layout()
    x = y = row_height = 0.0
    for names in find_parts(graph):
        part = graph.part(names)
        layout = _lay_out_part(part)
        left, top, right, bottom = find_bounds(part, layout)
        if x and x + right - left > 1600:
            x, y, row_height = 0.0, y + row_height + 60, 0.0
        placed = layout.shifted(x - left, y - top)
        whole.at |= placed.at
        whole.stacked |= placed.stacked
        whole.bulging |= placed.bulging
        x += right - left + 60
        row_height = max(row_height, bottom - top)
    return whole


def find_bounds(graph: Graph, layout: Layout) -> tuple[float, float, float, float]:
    """The left, top, right and bottom edges of all nodes."""
    boxes = [(x, y, *graph.sizes[name]) for name, (x, y) in layout.at.items()]
    return (
        min(x - w / 2 for x, _, w, _ in boxes),
        min(y - h / 2 for _, y, _, h in boxes),
        max(x + w / 2 for x, _, w, _ in boxes),
        max(y + h / 2 for _, y, _, h in boxes),
    )


def find_parts(graph: Graph) -> list[list[str]]:
    """The connected parts, the largest first."""
    seen: set[str] = set()
    found = []
    for start in sorted(graph.sizes, key=natural):
        if start in seen:
            continue
        part = list(count_hops(graph.joined, start))
        seen.update(part)
        found.append(part)
    return sorted(found, key=len, reverse=True)


def _lay_out_part(graph: Graph) -> Layout:
    leaves = graph.leaves()
    hanging = {name for names in leaves.values() for name in names}
    core = sorted((name for name in graph.sizes if name not in hanging), key=natural)
    near = {name: [other for other in graph.joined[name] if other not in hanging] for name in core}
    edges = sum(map(len, near.values())) // 2
    coordinates = layout_map.find_coordinates(core)
    if coordinates is not None:
        return layout_map.lay_out_map(graph, near, leaves, coordinates)
    if len(core) == 1:
        return layout_shapes.lay_out_star(graph, core[0], leaves.get(core[0], []))
    ends = [name for name in core if len(near[name]) == 1]
    if edges == len(core) - 1 and len(ends) == 2 and all(len(ways) <= 2 for ways in near.values()):
        return layout_shapes.lay_out_row(graph, list(count_hops(near, ends[0])), leaves)
    if edges == len(core) and all(len(ways) == 2 for ways in near.values()):
        return layout_shapes.lay_out_ring(graph, _order_ring(near, core[0]), leaves)
    if edges == len(core) - 1:
        return layout_shapes.lay_out_tree(graph, near, leaves)
    levels = _find_levels(near, leaves)
    if levels:
        return layout_shapes.lay_out_levels(graph, near, levels, leaves)
    return layout_free.lay_out_freely(graph, near, leaves)


def _order_ring(near: dict[str, list[str]], start: str) -> list[str]:
    ring, here = [start], near[start][0]
    while here != start:
        ring.append(here)
        here = next((name for name in near[here] if name not in ring[-2:]), start)
    return ring


def _find_levels(near: dict[str, list[str]], leaves: dict[str, list[str]]) -> list[list[str]]:
    """Switches by their distance from hosts, farthest first. Empty: a link joins two switches of the same
    distance."""
    if not leaves:
        return []
    level = count_hops(near, *(name for name in near if name in leaves))
    if any(level[a] == level[b] for a in near for b in near[a]) or max(level.values()) == 0:
        return []
    return [[name for name in near if level[name] == n] for n in range(max(level.values()), -1, -1)]
