"""Layouts of topologies that have a shape: star, row, ring, tree, levels."""

from __future__ import annotations

import math
from collections.abc import Sequence

from stream2gym.figures.layout_free import place_on_arc
from stream2gym.figures.topology_graph import Graph, Layout, Point, count_hops
from stream2gym.plan.natural_order import natural

GAP = 18.0  # between neighbours
STEP = 46.0  # between levels
LABEL_STEP = 70.0  # where links have labels
_BESIDE = 3  # hosts of one switch that stand side by side before they are stacked
_ROW = 10  # switches in a row before it turns


def lay_out_star(graph: Graph, hub: str, hosts: Sequence[str]) -> Layout:
    """Place the hosts around the switch, on as many rings as keep the drawing small."""
    layout = Layout({hub: (0.0, 0.0)})
    if not hosts:
        return layout
    width, height = _find_largest_size(graph, hosts)
    count = len(hosts)
    rings = 1 if count <= 16 else 2 if count <= 48 else 3 if count <= 150 else 4 + count // 300
    inner = math.ceil(count / rings)
    hub_width = graph.sizes[hub][0]
    radius = max(
        inner * (max(width, height) + GAP) / (2 * math.pi),
        hub_width / 2 + graph.label_width + width / 2 + 2 * GAP,
        130.0,
    )
    for number, host in enumerate(hosts):
        angle = 2 * math.pi * number / (inner * rings) - math.pi / 2
        reach = radius + (number % rings) * (max(width, height) + 14)
        layout.at[host] = (reach * math.cos(angle), reach * math.sin(angle))
    return layout


def lay_out_row(graph: Graph, switches: list[str], leaves: dict[str, list[str]]) -> Layout:
    """Place the switches in a row with their hosts below. A long row turns at its end and comes back."""
    if natural(switches[0]) > natural(switches[-1]):
        switches = switches[::-1]
    layout = Layout()
    per_row = len(switches) if len(switches) <= _ROW + 2 else _ROW
    groups = {name: Hung(graph, leaves.get(name, [])) for name in switches}
    widths = {name: max(graph.sizes[name][0] + graph.label_width, groups[name].width) for name in switches}
    step = max(widths.values()) + GAP + 8
    deepest = max(group.height for group in groups.values())
    switch_height = max(graph.sizes[name][1] for name in switches)
    for number, name in enumerate(switches):
        line, place = divmod(number, per_row)
        if line % 2:
            place = per_row - 1 - place
        x, y = place * step, line * (switch_height + deepest + measure_step_down(graph))
        layout.at[name] = (x, y)
        groups[name].put(layout, graph, (x, y + switch_height / 2))
        if number and number % per_row == 0:
            side = 1.0 if line % 2 else -1.0
            layout.bulging[frozenset((switches[number - 1], name))] = side * step * 0.75
    return layout


def lay_out_ring(graph: Graph, switches: list[str], leaves: dict[str, list[str]]) -> Layout:
    """Place the switches on a circle, with their hosts outside of it."""
    layout = Layout()
    count = len(switches)
    width, _ = _find_largest_size(graph, switches)
    widest = max((measure_fan_width(graph, leaves.get(name, [])) for name in switches), default=0.0)
    radius = max(count * max(width + graph.label_width * 0.8 + GAP, widest * 0.75) / (2 * math.pi), 110.0)
    for number, name in enumerate(switches):
        angle = 2 * math.pi * number / count - math.pi / 2
        here = (radius * math.cos(angle), radius * math.sin(angle))
        layout.at[name] = here
        layout.at |= place_on_arc(graph, name, here, leaves.get(name, []), angle)
    return layout


def measure_step_down(graph: Graph) -> float:
    return LABEL_STEP if graph.label_width else STEP


def measure_fan_width(graph: Graph, hosts: Sequence[str]) -> float:
    return sum(max(graph.sizes[host]) + GAP for host in hosts)


class Hung:
    """Place the hosts of a switch below it: a few side by side, many stacked on a spine."""

    def __init__(self, graph: Graph, hosts: Sequence[str], beside: int = _BESIDE) -> None:
        self.hosts = list(hosts)
        self.step = measure_step_down(graph)
        self.stacked = len(self.hosts) > beside
        sizes = [graph.sizes[host] for host in self.hosts]
        if not sizes:
            self.width = self.height = 0.0
            return
        if self.stacked:
            self.columns = 1 if len(sizes) <= 12 else math.ceil(len(sizes) / 12)
            self.per_column = math.ceil(len(sizes) / self.columns)
            self.column_width = max(w for w, _ in sizes) + 2 * GAP
            self.width = self.column_width * self.columns
            columns = [sizes[n : n + self.per_column] for n in range(0, len(sizes), self.per_column)]
            self.height = self.step * 0.7 + max(sum(h + 8 for _, h in column) for column in columns)
        else:
            self.width = sum(w + GAP for w, _ in sizes)
            self.height = self.step + max(h for _, h in sizes)

    def put(self, layout: Layout, graph: Graph, below: Point) -> None:
        x, y = below
        if not self.hosts:
            return
        left = x - self.width / 2
        if not self.stacked:
            for host in self.hosts:
                width, height = graph.sizes[host]
                layout.at[host] = (left + GAP / 2 + width / 2, y + self.step + height / 2)
                left += width + GAP
            return
        for column in range(self.columns):
            top = y + self.step * 0.7
            for host in self.hosts[column * self.per_column : (column + 1) * self.per_column]:
                width, height = graph.sizes[host]
                spine = left + column * self.column_width + GAP
                layout.at[host] = (spine + GAP / 2 + width / 2, top + height / 2)
                top += height + 8
            layout.stacked.update(self.hosts)


def lay_out_tree(graph: Graph, near: dict[str, list[str]], leaves: dict[str, list[str]]) -> Layout:
    """Place the middle of the tree on top, and each node above the middle of its children."""
    root = _find_middle(near)
    depth = count_hops(near, root)
    below = {name: [other for other in near[name] if depth[other] > depth[name]] for name in near}
    total = sum(map(len, leaves.values()))
    groups = {name: Hung(graph, leaves.get(name, []), beside=_count_beside(total)) for name in near}
    width: dict[str, float] = {}
    for name in sorted(near, key=lambda node: -depth[node]):
        inside = sum(width[child] for child in below[name]) + groups[name].width
        width[name] = max(graph.sizes[name][0] + GAP, inside)
    layout = Layout()
    step = measure_step_down(graph) + 34
    todo = [(root, 0.0)]
    while todo:
        name, left = todo.pop()
        y = depth[name] * step
        layout.at[name] = (left + width[name] / 2, y)
        inside = sum(width[child] for child in below[name]) + groups[name].width
        x = left + (width[name] - inside) / 2
        for number, child in enumerate([*below[name], ""]):
            # A switch's own hosts stand in the middle, so that their links cross none to other switches.
            if number == (len(below[name]) + 1) // 2:
                bottom = y + graph.sizes[name][1] / 2
                groups[name].put(layout, graph, (x + groups[name].width / 2, bottom))
                x += groups[name].width
            if child:
                todo.append((child, x))
                x += width[child]
    return layout


def lay_out_levels(
    graph: Graph, near: dict[str, list[str]], rows: list[list[str]], leaves: dict[str, list[str]]
) -> Layout:
    """Place the core on top and the edge with its hosts at the bottom, as data centres are drawn."""
    total = sum(map(len, leaves.values()))
    groups = {name: Hung(graph, leaves.get(name, []), beside=_count_beside(total)) for name in near}
    bottom = sorted(rows[-1], key=lambda name: natural((leaves.get(name) or [name])[0]))
    layout = Layout()
    x = 0.0
    place: dict[str, float] = {}
    for name in bottom:
        width = max(graph.sizes[name][0], groups[name].width) + GAP
        place[name] = x + width / 2
        x += width
    step = measure_step_down(graph) + 40 + x * 0.03
    for number in range(len(rows) - 2, -1, -1):
        under = set(rows[number + 1])
        row_ = rows[number]
        wish = {n: _mean([place[o] for o in near[n] if o in under], x / 2) for n in row_}
        order = sorted(row_, key=lambda name: (round(wish[name]), natural(name)))
        place |= _place_without_overlap(graph, order, wish, x)
    for number, names in enumerate(rows):
        for name in names:
            y = number * step
            layout.at[name] = (place[name], y)
            groups[name].put(layout, graph, (place[name], y + graph.sizes[name][1] / 2))
    return layout


def _count_beside(total: int) -> int:
    """How many hosts of a switch stand side by side before they are stacked."""
    return 4 if total <= 24 else 2


def _place_without_overlap(graph: Graph, order: list[str], wish: dict[str, float], room: float) -> dict[str, float]:
    """Places in this order, near the wished ones and without overlap. Equal wishes give even places."""
    if wish[order[-1]] - wish[order[0]] < room * 0.2:
        needed = sum(graph.sizes[name][0] + GAP for name in order)
        used, left = max(room * 0.75, needed), room / 2 - max(room * 0.75, needed) / 2
        return {name: left + used * (number + 0.5) / len(order) for number, name in enumerate(order)}
    place: dict[str, float] = {}
    same: list[str] = []
    for name in [*order, ""]:
        if same and (not name or round(wish[name]) != round(wish[same[0]])):
            gap = max(graph.sizes[other][0] for other in same) + 2 * GAP
            for number, other in enumerate(same):
                place[other] = wish[other] + (number - (len(same) - 1) / 2) * gap
            same = []
        same.append(name)
    last = -math.inf
    for name in order:
        half = graph.sizes[name][0] / 2
        place[name] = max(place[name], last + GAP + half)
        last = place[name] + half
    return place


def _find_middle(near: dict[str, list[str]]) -> str:
    """The node with the least distance to its farthest node."""
    first = next(iter(near))
    one = list(count_hops(near, first))[-1]
    reach = count_hops(near, one)
    other = list(reach)[-1]
    way = count_hops(near, other)
    far = {name: max(reach[name], way[name]) for name in near}
    return min(near, key=lambda name: (far[name], natural(name)))


def _find_largest_size(graph: Graph, names: Sequence[str]) -> Point:
    return max(graph.sizes[name][0] for name in names), max(graph.sizes[name][1] for name in names)


def _mean(numbers: Sequence[float], default: float) -> float:
    return sum(numbers) / len(numbers) if numbers else default
