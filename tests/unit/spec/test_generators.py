"""Generated topologies: the shapes that their names promise, connected, the same every time."""

from __future__ import annotations

from typing import Any

import pytest

from stream2gym.spec.model import Topology
from stream2gym.spec.model.backbones import BACKBONES, distance_km
from tests.support.loading import Load, Mistakes

SHAPES = [
    ({"kind": "star", "hosts": 20}, 20, 1, 20),
    ({"kind": "linear", "hosts": 4}, 4, 4, 7),
    ({"kind": "ring", "hosts": 5}, 5, 5, 10),
    ({"kind": "tree", "depth": 2, "fanout": 3}, 9, 4, 12),
    ({"kind": "torus", "x": 3, "y": 4}, 12, 12, 36),
    ({"kind": "fat-tree", "k": 4}, 16, 20, 48),
    ({"kind": "random", "hosts": 10, "switches": 8, "degree": 3}, 10, 8, 22),
    ({"kind": "wan"}, 11, 11, 25),
    ({"kind": "wan", "name": "nsfnet"}, 14, 14, 35),
    ({"kind": "wan", "name": "geant", "hosts_per_city": 2}, 44, 22, 77),
]


def _connected(topology: Topology) -> bool:
    near: dict[str, set[str]] = {host.name: set() for host in topology.hosts}
    near |= {switch.name: set() for switch in topology.switches}
    for link in topology.links:
        a, b = link.between
        near[a].add(b)
        near[b].add(a)
    seen, edge = set(), [next(iter(near))]
    while edge:
        node = edge.pop()
        if node not in seen:
            seen.add(node)
            edge += near[node]
    return seen == set(near)


@pytest.mark.parametrize(("options", "hosts", "switches", "links"), SHAPES)
def test_a_shape_has_its_numbers_and_hangs_together(
    options: dict[str, Any], hosts: int, switches: int, links: int
) -> None:
    topology = Topology.model_validate(options)
    assert (len(topology.hosts), len(topology.switches), len(topology.links)) == (hosts, switches, links)
    assert _connected(topology)
    pairs = {frozenset(link.between) for link in topology.links}
    assert len(pairs) == links


@pytest.mark.parametrize("seed", range(30))
def test_random_topologies_are_connected_and_repeat(seed: int) -> None:
    options = {"kind": "random", "hosts": 12, "switches": 9, "degree": 2.5, "seed": seed}
    topology = Topology.model_validate(options)
    assert _connected(topology)
    assert topology == Topology.model_validate(options)


def test_another_seed_is_another_topology() -> None:
    made = [Topology.model_validate({"kind": "random", "hosts": 30, "seed": seed}) for seed in (1, 2)]
    assert made[0] != made[1]


def test_settings_hold_for_all_links_and_core_and_access_override_them() -> None:
    options = {
        "kind": "linear",
        "hosts": 2,
        "latency": "5 ms",
        "core": {"latency": "20 ms"},
        "access": {"loss": "1 %"},
    }
    links = {link.name: link for link in Topology.model_validate(options).links}
    assert (links["h1 -- s1"].latency, links["h1 -- s1"].loss) == (0.005, 0.01)
    assert (links["s1 -- s2"].latency, links["s1 -- s2"].loss) == (0.02, None)


def test_distances_are_those_of_the_globe() -> None:
    cities = BACKBONES["abilene"].cities
    assert distance_km(cities["seattle"], cities["new-york"]) == pytest.approx(3870, rel=0.01)
    links = {link.name: link for link in Topology.model_validate({"kind": "wan"}).links}
    assert links["s-chicago -- s-new-york"].latency == pytest.approx(0.00573, rel=0.02)
    assert links["h1 -- s-seattle"].latency == pytest.approx(0.0001)


@pytest.mark.parametrize("name", BACKBONES)
def test_every_city_of_a_backbone_is_joined(name: str) -> None:
    backbone = BACKBONES[name]
    assert {city for pair in backbone.joined for city in pair} == set(backbone.cities)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("{kind: ring, hosts: 2}", "at least 3"),
        ("{kind: fat-tree, k: 3}", "a multiple of 2"),
        ("{kind: star}", "hosts is missing"),
        ("{kind: wan, name: internet}", "not one of abilene, nsfnet, geant"),
        ("{kind: star, hosts: 3, latency: slow}", "not a duration"),
    ],
)
def test_wrong_options_are_told(mistakes: Mistakes, options: str, told: str) -> None:
    (mistake,) = mistakes(f"topology: {options}\n")
    assert told in str(mistake)
    assert mistake.line == 2


def test_routing_goes_with_a_generated_topology(load: Load) -> None:
    text = "topology: {kind: ring, hosts: 4, routing: {by: latency, reconverge: 2 s}}\n"
    assert load(text).experiment.topology.routing.by == "latency"
