"""The known backbones are drawn as on a map."""

from __future__ import annotations

import math

import pytest

from stream2gym.figures.layout_map import find_coordinates, project
from stream2gym.figures.topology_placement import TopologyPlacement
from stream2gym.plan.make_plan import make_plan
from stream2gym.spec.model import Experiment
from stream2gym.spec.model.backbones import BACKBONES, distance_km


def place(name: str, **options: object) -> TopologyPlacement:
    topology = {"kind": "wan", "name": name, **options}
    return TopologyPlacement(
        make_plan(Experiment.model_validate({"s2g": 1, "name": "x", "topology": topology}), seed=1)
    )


def test_west_is_left_and_north_is_up() -> None:
    at = place("abilene").layout.at
    assert at["s-seattle"][0] < at["s-denver"][0] < at["s-chicago"][0] < at["s-new-york"][0]
    assert at["s-seattle"][1] < at["s-sunnyvale"][1] < at["s-los-angeles"][1] < at["s-houston"][1]


@pytest.mark.parametrize("name", sorted(BACKBONES))
def test_distances_on_the_map_follow_those_on_the_earth(name: str) -> None:
    backbone = BACKBONES[name]
    at = project(backbone.cities)
    scales = [
        math.dist(at[a], at[b]) / distance_km(backbone.cities[a], backbone.cities[b]) for a, b in backbone.joined
    ]
    assert max(scales) / min(scales) < 1.4


@pytest.mark.parametrize("name", sorted(BACKBONES))
@pytest.mark.parametrize("hosts", [1, 3])
def test_nothing_covers_anything_else(name: str, hosts: int) -> None:
    placement = place(name, hosts_per_city=hosts)
    boxes = [placement.box(node, 0) for node in placement.layout.at]
    for number, one in enumerate(boxes):
        for other in boxes[number + 1 :]:
            assert not (one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3])


def test_other_topologies_have_no_map() -> None:
    assert find_coordinates(["s1", "s2", "s3"]) is None
    assert find_coordinates(["s-london", "s-paris", "s-atlantis"]) is None
    assert find_coordinates(["s-london", "s-paris"]) is None, "two names may be chance"
    assert find_coordinates(["s-london", "s-paris", "s-denver"]) is None, "of two backbones"
    assert find_coordinates(iter(["s-london", "s-paris", "s-dublin"])) is not None
