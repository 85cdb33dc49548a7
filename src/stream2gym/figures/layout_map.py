"""The layout of the known backbones: every city stands where it does on a map, north up.

A backbone is recognised by the names of its switches, ``s-CITY``: a plan does not say how its topology was made.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from stream2gym.figures.layout_free import add_hosts
from stream2gym.figures.topology_graph import Graph, Layout, Point
from stream2gym.spec.model.backbones import BACKBONES

_PREFIX = "s-"
# The width of a map, and what each city adds to it.
_WIDTH = 700.0
_WIDTH_A_CITY = 32.0

Coordinates = tuple[float, float]  # degrees north, degrees east


def find_coordinates(names: Iterable[str]) -> dict[str, Coordinates] | None:
    """The coordinates of switches whose names are cities of one backbone; None for others."""
    cities = {name: name.removeprefix(_PREFIX) for name in names}
    if len(cities) < 3 or not all(name.startswith(_PREFIX) for name in cities):
        return None
    for backbone in BACKBONES.values():
        if all(city in backbone.cities for city in cities.values()):
            return {name: backbone.cities[city] for name, city in cities.items()}
    return None


def lay_out_map(
    graph: Graph, near: dict[str, list[str]], leaves: dict[str, list[str]], coordinates: dict[str, Coordinates]
) -> Layout:
    """Place switches by their coordinates, and hosts where there is most room around their switch."""
    return add_hosts(graph, near, leaves, project(coordinates))


def project(coordinates: dict[str, Coordinates]) -> dict[str, Point]:
    """Points on a flat map that is true to scale at its middle: east is right, north is up."""
    norths = [north for north, _ in coordinates.values()]
    shrink = math.cos(math.radians((min(norths) + max(norths)) / 2))
    flat = {name: (east * shrink, -north) for name, (north, east) in coordinates.items()}
    xs, ys = zip(*flat.values(), strict=True)
    extent = max(max(xs) - min(xs), max(ys) - min(ys)) or 1.0
    scale = (_WIDTH + _WIDTH_A_CITY * len(flat)) / extent
    return {name: (x * scale, y * scale) for name, (x, y) in flat.items()}
