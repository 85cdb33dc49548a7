"""The layout of topologies without a known shape: distances in the drawing follow distances in hops.

This is stress majorisation. The nodes start on a circle. Each node in turn moves to where its distances to all others
fit best. Nodes that overlap in the end are pushed apart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from stream2gym.figures.topology_graph import Graph, Layout, Point, count_hops
from stream2gym.plan.natural_order import natural

_WORK = 3_000_000  # pairs of nodes looked at in all rounds together
_TURNS = 24  # directions tried for the hosts of a switch
_CROWDED = 3000  # hosts times links beyond which only one direction is tried


def lay_out_freely(graph: Graph, near: dict[str, list[str]], leaves: dict[str, list[str]]) -> Layout:
    """Place switches by stress majorisation, and hosts where there is most room around their switch."""
    edge = 120.0 + max(graph.sizes[name][0] for name in near) * 0.6 + graph.label_width * 0.5
    crowd = max((len(hosts) for hosts in leaves.values()), default=0)
    edge += 20.0 * min(crowd, 8)
    return add_hosts(graph, near, leaves, _turn_long_side(_place_by_stress(near, edge)))


def add_hosts(graph: Graph, near: dict[str, list[str]], leaves: dict[str, list[str]], at: dict[str, Point]) -> Layout:
    """Place hosts around switches that have their places, and push apart what overlaps."""
    layout = Layout(dict(at))
    lines = [(at[a], at[b]) for a in near for b in near[a] if a < b]
    middle = (_mean([x for x, _ in at.values()]), _mean([y for _, y in at.values()]))
    for name, hosts in sorted(leaves.items(), key=lambda item: natural(item[0])):
        wish = _find_widest_angle(at[name], [at[other] for other in near[name]], middle)
        layout.at |= _place_hosts(graph, layout, lines, hosts, wish)
    _push_apart(graph, layout)
    return layout


def _place_hosts(
    graph: Graph,
    layout: Layout,
    lines: Sequence[tuple[Point, Point]],
    hosts: Sequence[str],
    wish: float,
) -> dict[str, Point]:
    """Place the hosts of a switch where they cover the fewest links and nodes, as near to the wished direction as can
    be."""
    switch = graph.joined[hosts[0]][0]
    turns = _TURNS if len(lines) * len(hosts) <= _CROWDED else 1
    best, least = {}, math.inf
    for number in range(turns):
        step = (number + 1) // 2 * (1 if number % 2 else -1)
        places = place_on_arc(graph, switch, layout.at[switch], hosts, wish + step * 2 * math.pi / turns)
        cover = 0.1 * abs(step) / turns
        for host, (x, y) in places.items():
            width, height = graph.sizes[host]
            cover += sum(_is_crossed(line, (x, y), (width, height)) for line in lines)
            cover += sum(
                4
                for other, (ox, oy) in layout.at.items()
                if abs(ox - x) < (graph.sizes[other][0] + width) / 2 + 4
                and abs(oy - y) < (graph.sizes[other][1] + height) / 2 + 4
            )
        if cover < least:
            best, least = places, cover
        if cover < 1:
            break
    return best


def _is_crossed(line: tuple[Point, Point], middle: Point, size: Point) -> bool:
    """Whether a straight line touches a box."""
    (ax, ay), (bx, by) = line
    low, high = 0.0, 1.0
    for start, way, centre, extent in ((ax, bx - ax, middle[0], size[0]), (ay, by - ay, middle[1], size[1])):
        near, far = centre - extent / 2 - 3 - start, centre + extent / 2 + 3 - start
        if not way:
            if near > 0 or far < 0:
                return False
            continue
        first, second = sorted((near / way, far / way))
        low, high = max(low, first), min(high, second)
    return low < high


def place_on_arc(
    graph: Graph, switch: str, around: Point, hosts: Sequence[str], direction: float
) -> dict[str, Point]:
    """Place hosts on an arc around their switch, in this direction (radians)."""
    if not hosts:
        return {}
    room = max(max(graph.sizes[host]) for host in hosts) + 12.0
    arc = math.pi * (0.0 if len(hosts) == 1 else min(1.1, 0.25 + 0.12 * len(hosts)))
    wide = graph.sizes[switch][0] / 2 + max(graph.sizes[host][0] for host in hosts) / 2 + graph.label_width
    high = graph.sizes[switch][1] / 2 + max(graph.sizes[host][1] for host in hosts) / 2
    # How far apart two boxes are that touch in this direction, and then a piece of the link.
    touching = min(wide / (abs(math.cos(direction)) or 1e-9), high / (abs(math.sin(direction)) or 1e-9))
    reach = touching + (36.0 if graph.label_width else 26.0)
    if arc:
        reach = max(reach, room * (len(hosts) - 1) / arc)
    places = {}
    for number, host in enumerate(hosts):
        turn = 0.0 if len(hosts) == 1 else arc * (number / (len(hosts) - 1) - 0.5)
        places[host] = (
            around[0] + reach * math.cos(direction + turn),
            around[1] + reach * math.sin(direction + turn),
        )
    return places


def _place_by_stress(near: dict[str, list[str]], edge: float) -> dict[str, Point]:
    names = list(near)
    count = len(names)
    index = {name: number for number, name in enumerate(names)}
    wanted = [[0.0] * count for _ in names]
    for name in names:
        for other, hops in count_hops(near, name).items():
            wanted[index[name]][index[other]] = hops * edge
    order = [index[name] for name in count_hops(near, names[0])]
    xs, ys = [0.0] * count, [0.0] * count
    radius = edge * math.sqrt(count) / 1.5
    for place, number in enumerate(order):
        xs[number] = radius * math.cos(2 * math.pi * place / count)
        ys[number] = radius * math.sin(2 * math.pi * place / count)
    for _ in range(max(4, min(200, _WORK // (count * count)))):
        for i in range(count):
            total = x = y = 0.0
            for j in range(count):
                if i == j:
                    continue
                ideal = wanted[i][j]
                weight = 1.0 / (ideal * ideal)
                dx, dy = xs[i] - xs[j], ys[i] - ys[j]
                scale = ideal / (math.hypot(dx, dy) or 1.0)
                x += weight * (xs[j] + dx * scale)
                y += weight * (ys[j] + dy * scale)
                total += weight
            xs[i], ys[i] = x / total, y / total
    return {name: (xs[number], ys[number]) for name, number in index.items()}


def _turn_long_side(at: dict[str, Point]) -> dict[str, Point]:
    """The layout turned so that its long side is horizontal."""
    cx, cy = _mean([x for x, _ in at.values()]), _mean([y for _, y in at.values()])
    sxx = sum((x - cx) ** 2 for x, _ in at.values())
    syy = sum((y - cy) ** 2 for _, y in at.values())
    sxy = sum((x - cx) * (y - cy) for x, y in at.values())
    angle = -0.5 * math.atan2(2 * sxy, sxx - syy)
    cos, sin = math.cos(angle), math.sin(angle)
    turned = {name: ((x - cx) * cos - (y - cy) * sin, (x - cx) * sin + (y - cy) * cos) for name, (x, y) in at.items()}
    first = turned[next(iter(turned))]
    flip_x, flip_y = (-1 if first[0] > 0 else 1), (-1 if first[1] > 0 else 1)
    return {name: (x * flip_x, y * flip_y) for name, (x, y) in turned.items()}


def _find_widest_angle(here: Point, others: Sequence[Point], middle: Point) -> float:
    """The middle of the widest angle between neighbours. With one neighbour or none it is the direction outwards."""
    outwards = math.atan2(here[1] - middle[1], here[0] - middle[0])
    angles = sorted(math.atan2(y - here[1], x - here[0]) for x, y in others)
    if len(angles) < 2:
        return angles[0] + math.pi if angles else outwards
    gaps = [
        (after - before, before) for before, after in zip(angles, [*angles[1:], angles[0] + 2 * math.pi], strict=True)
    ]
    width, start = max(gaps, key=lambda gap: (round(gap[0], 3), -abs(_turn(gap[1] + gap[0] / 2 - outwards))))
    return start + width / 2


def _turn(angle: float) -> float:
    return (angle + math.pi) % (2 * math.pi) - math.pi


def _push_apart(graph: Graph, layout: Layout, margin: float = 10.0) -> None:
    """Move overlapping boxes apart along the shorter way, in a few rounds."""
    names = sorted(layout.at, key=natural)
    for _ in range(max(2, min(60, _WORK // (len(names) ** 2)))):
        moved = False
        for i, a in enumerate(names):
            for b in names[i + 1 :]:
                (ax, ay), (bx, by) = layout.at[a], layout.at[b]
                over_x = (graph.sizes[a][0] + graph.sizes[b][0]) / 2 + margin - abs(ax - bx)
                over_y = (graph.sizes[a][1] + graph.sizes[b][1]) / 2 + margin - abs(ay - by)
                if over_x <= 0 or over_y <= 0:
                    continue
                moved = True
                if over_x < over_y:
                    push = math.copysign(over_x / 2 + 0.5, ax - bx or 1.0)
                    layout.at[a], layout.at[b] = (ax + push, ay), (bx - push, by)
                else:
                    push = math.copysign(over_y / 2 + 0.5, ay - by or 1.0)
                    layout.at[a], layout.at[b] = (ax, ay + push), (bx, by - push)
        if not moved:
            return


def _mean(numbers: Sequence[float]) -> float:
    return sum(numbers) / len(numbers)
