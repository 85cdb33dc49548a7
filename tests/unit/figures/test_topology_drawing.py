"""The drawing: valid, deterministic, with nothing on top of anything else."""

from __future__ import annotations

import re
from itertools import combinations
from typing import Any
from xml.etree import ElementTree

import pytest

from stream2gym.figures.topology_drawing import _Drafting, draw_topology
from stream2gym.plan.make_plan import make_plan
from stream2gym.plan.planned import Plan
from stream2gym.spec.model import Experiment

SVG = "{http://www.w3.org/2000/svg}"
SHAPES: dict[str, dict[str, Any]] = {
    "star of 6": {"kind": "star", "hosts": 6},
    "star of 100": {"kind": "star", "hosts": 100},
    "tree": {"kind": "tree", "depth": 3, "fanout": 2},
    "wide tree": {"kind": "tree", "depth": 2, "fanout": 10},
    "fat tree": {"kind": "fat-tree", "k": 4},
    "ring": {"kind": "ring", "hosts": 8},
    "line of 30": {"kind": "linear", "hosts": 30},
    "backbone": {"kind": "wan", "name": "abilene"},
    "torus": {"kind": "torus", "x": 4, "y": 4},
    "random": {"kind": "random", "hosts": 30, "switches": 12},
    "one host": {"hosts": ["h1"]},
    "nothing": {},
    "two parts": {"hosts": ["h1", "h2", "h3"], "switches": ["s1"], "links": ["h1 -- s1", "h2 -- h3"]},
    "host on two switches": {
        "hosts": ["h1", "h2"], "switches": ["s1", "s2"],
        "links": ["h1 -- s1", "h1 -- s2", "h2 -- s2", "s1 -- s2"],
    },
}  # fmt: skip


def planned(topology: dict[str, Any], **parts: Any) -> Plan:
    return make_plan(Experiment.model_validate({"topology": topology, **parts}))


@pytest.mark.parametrize("shape", SHAPES)
def test_every_node_is_drawn_and_no_two_overlap(shape: str) -> None:
    plan = planned(SHAPES[shape])
    drawing = _Drafting(plan)
    root = ElementTree.fromstring(drawing.finish().markup.source)
    names = {host.name for host in plan.network.hosts} | set(plan.network.switches)
    assert names <= {text.text for text in root.iter(f"{SVG}text")}
    assert set(drawing.layout.at) == names
    for a, b in combinations(sorted(names), 2):
        (ax, ay), (bx, by) = drawing.layout.at[a], drawing.layout.at[b]
        (aw, ah), (bw, bh) = drawing.graph.sizes[a], drawing.graph.sizes[b]
        assert abs(ax - bx) >= (aw + bw) / 2 or abs(ay - by) >= (ah + bh) / 2, f"{a} overlaps {b}"


@pytest.mark.parametrize("shape", SHAPES)
def test_everything_stays_inside_the_sheet(shape: str) -> None:
    root = ElementTree.fromstring(draw_topology(planned(SHAPES[shape])).markup.source)
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    groups = root.findall(f"{SVG}g")
    assert len(groups) == 2, "the topology and the legend"
    for group in groups:
        dx, dy = map(float, re.findall(r"[-\d.]+", group.attrib["transform"]))
        for box in group.iter(f"{SVG}rect"):
            x, y, w, h = (float(box.attrib[key]) for key in ("x", "y", "width", "height"))
            assert x + dx >= 0
            assert y + dy >= 0
            assert x + dx + w <= width
            assert y + dy + h <= height


def test_the_same_plan_is_drawn_the_same() -> None:
    assert draw_topology(planned(SHAPES["random"])) == draw_topology(planned(SHAPES["random"]))


def test_text_from_the_user_is_escaped_and_components_are_named() -> None:
    plan = planned(SHAPES["star of 6"], brokers=[{"on": "h2"}], producers=[{"on": "h1", "instances": 3}])
    evil = Plan(**{**plan.__dict__, "name": "<script>&"})
    text = draw_topology(evil).markup.source
    assert "<script>" not in text
    assert "&lt;script&gt;&amp;" in text
    assert "broker-h2" in text
    assert "producer-h1-1 ×3" in text


def test_what_most_links_share_is_said_once() -> None:
    text = draw_topology(planned(SHAPES["star of 100"])).markup.source
    assert text.count("1 ms, 1 Gbps") == 1
    different = planned({"hosts": ["h1", "h2"], "switches": ["s1"], "links": ["h1 -- s1: 3 ms", "h2 -- s1: 4 ms"]})
    assert "3 ms, 1 Gbps" in draw_topology(different).markup.source
    assert "4 ms, 1 Gbps" in draw_topology(different).markup.source
