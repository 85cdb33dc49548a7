"""Routes, held against networkx on random graphs."""

from __future__ import annotations

import random
import subprocess
import sys
from dataclasses import replace
from typing import Any

import networkx as nx
import pytest

from stream2gym.link import LinkSettings
from stream2gym.plan.planned import PlannedLink, Routing
from stream2gym.plan.routes import Hop, Router

SEEDS = range(60)


def link(a: str, b: str, *, latency_ms: float = 1.0, bps: float | None = 1e9, name: str = "") -> PlannedLink:
    settings = LinkSettings(latency_ms=latency_ms, bandwidth_bps=bps)
    return PlannedLink(name or f"{a} -- {b}", a, b, 1, 1, settings, settings)


class RandomNetwork:
    """Hosts on one or two switches, some on none, some wired to each other; links differ each way."""

    def __init__(self, seed: int) -> None:
        rng = random.Random(seed)
        self.rng = rng
        self.switches = [f"s{n}" for n in range(1, rng.randint(2, 9))]
        self.hosts = [f"h{n}" for n in range(1, rng.randint(3, 10))]
        ends = [tuple(rng.sample(self.switches, 2)) for _ in range(rng.randint(0, 16)) if len(self.switches) > 1]
        ends += [(h, rng.choice(self.switches)) for h in self.hosts for _ in range(rng.choice([0, 1, 1, 1, 2]))]
        ends += [tuple(rng.sample(self.hosts, 2)) for _ in range(rng.choice([0, 0, 1]))]
        self.links = [
            PlannedLink(f"{a} -- {b} #{n}", a, b, n, n, self._settings(), self._settings())
            for n, (a, b) in enumerate(ends)
        ]
        self.down = frozenset(x.name for x in rng.sample(self.links, min(len(self.links), rng.choice([0, 1, 2, 4]))))

    def _settings(self) -> LinkSettings:
        width = self.rng.choice([1e6, 1e7, 1e8, None])
        return LinkSettings(latency_ms=self.rng.choice([0.0, 1.0, 2.5, 7.0]), bandwidth_bps=width)

    def router(self, by: str) -> Router:
        return Router(self.hosts, self.switches, self.links, Routing(by=by), seed=3)  # type: ignore[arg-type]

    def oracle(self, source: str, target: str) -> nx.MultiDiGraph:
        """The graph in which a packet of this pair may move: other hosts do not forward."""
        graph = nx.MultiDiGraph()
        graph.add_nodes_from([*self.hosts, *self.switches])
        for x in self.links:
            if x.name in self.down:
                continue
            for tail, head, hop, settings in (
                (x.a, x.b, Hop(x.name, "forward"), x.forward),
                (x.b, x.a, Hop(x.name, "backward"), x.backward),
            ):
                if {tail, head} & set(self.hosts) <= {source, target}:
                    width = settings.bandwidth_bps or float("inf")
                    graph.add_edge(tail, head, key=hop, latency=settings.latency_ms, width=width)
        return graph

    def pairs(self) -> list[tuple[str, str]]:
        return [(a, b) for a in self.hosts for b in self.hosts if a != b]


def walked(graph: nx.MultiDiGraph, source: str, path: tuple[Hop, ...]) -> tuple[list[str], list[dict[str, Any]]]:
    """Follow the path in the oracle's graph; fails when a link is not there."""
    nodes, data = [source], []
    for hop in path:
        _, head, _, values = next(edge for edge in graph.out_edges(nodes[-1], keys=True, data=True) if edge[2] == hop)
        nodes.append(head)
        data.append(values)
    return nodes, data


def widest(graph: nx.MultiDiGraph, source: str, target: str) -> tuple[float, int]:
    """The best bottleneck and the fewest hops that reach it, by trying every width."""
    for width in sorted({d["width"] for *_, d in graph.edges(data=True)}, reverse=True):
        wide = graph.edge_subgraph([e[:3] for e in graph.edges(keys=True, data=True) if e[3]["width"] >= width])
        if source in wide and target in wide and nx.has_path(wide, source, target):
            return width, nx.shortest_path_length(wide, source, target)
    raise AssertionError("no path")


@pytest.mark.parametrize("by", ["hops", "latency", "widest", "ecmp"])
@pytest.mark.parametrize("seed", SEEDS)
def test_paths_exist_exactly_where_there_is_a_way_and_are_the_best(by: str, seed: int) -> None:
    network = RandomNetwork(seed)
    router = network.router(by)
    for source, target in network.pairs():
        graph = network.oracle(source, target)
        path = router.path(source, target, flow=seed, down=network.down)
        if not nx.has_path(graph, source, target):
            assert path is None
            continue
        assert path is not None
        nodes, data = walked(graph, source, path)
        assert nodes[-1] == target
        assert len(set(nodes)) == len(nodes), "a path never loops"
        assert router.nodes(source, path) == tuple(nodes)
        if by in ("hops", "ecmp"):
            assert len(path) == nx.shortest_path_length(graph, source, target)
        elif by == "latency":
            best = nx.shortest_path_length(graph, source, target, weight="latency")
            assert sum(d["latency"] for d in data) == pytest.approx(best)
        else:
            assert (min(d["width"] for d in data), len(path)) == widest(graph, source, target)


@pytest.mark.parametrize("by", ["hops", "latency", "widest", "ecmp"])
def test_the_order_of_the_input_does_not_matter(by: str) -> None:
    for seed in range(20):
        network = RandomNetwork(seed)
        before = network.router(by)
        for names in (network.hosts, network.switches, network.links):
            network.rng.shuffle(names)
        after = network.router(by)
        for source, target in network.pairs():
            assert before.path(source, target, flow=9) == after.path(source, target, flow=9)


def test_the_way_back_is_the_way_there_when_both_directions_are_alike() -> None:
    for seed in range(30):
        network = RandomNetwork(seed)
        network.links = [replace(x, backward=x.forward) for x in network.links]
        for by in ("hops", "latency"):
            router = network.router(by)
            for source, target in network.pairs():
                there, back = router.path(source, target), router.path(target, source)
                assert [h.link for h in there or ()] == [h.link for h in reversed(back or ())]


SQUARE = [
    link("h1", "s1"), link("s1", "s2"), link("s1", "s3"),
    link("s2", "s4"), link("s3", "s4"), link("h2", "s4"),
]  # fmt: skip


def square(by: str, given: dict[str, tuple[str, ...]] | None = None) -> Router:
    routing = Routing(by=by, given=given or {})  # type: ignore[arg-type]
    return Router(["h1", "h2"], ["s1", "s2", "s3", "s4"], SQUARE, routing, seed=5)


def test_ecmp_spreads_flows_evenly_and_keeps_each_on_its_path() -> None:
    router = square("ecmp")
    paths = [router.path("h1", "h2", flow=flow) for flow in range(400)]
    upper = sum(Hop("s1 -- s2", "forward") in (path or ()) for path in paths)
    assert 150 < upper < 250
    assert {path[1] for path in paths if path} == {Hop("s1 -- s2", "forward"), Hop("s1 -- s3", "forward")}
    assert paths == [router.path("h1", "h2", flow=flow) for flow in range(400)]


def test_ties_go_to_the_first_names_unless_they_are_cut() -> None:
    router = square("hops")
    there = router.path("h1", "h2")
    assert there is not None
    assert router.nodes("h1", there) == ("h1", "s1", "s2", "s4", "h2")
    around = router.path("h1", "h2", down=frozenset({"s1 -- s2"}))
    assert around is not None
    assert router.nodes("h1", around) == ("h1", "s1", "s3", "s4", "h2")
    assert router.path("h1", "h2", down=frozenset({"h2 -- s4"})) is None


def test_a_given_path_holds_both_ways_until_one_of_its_links_is_down() -> None:
    router = square("given", {"h1 -> h2": ("h1", "s1", "s3", "s4", "h2")})
    there, back = router.path("h1", "h2"), router.path("h2", "h1")
    assert there is not None
    assert back is not None
    assert router.nodes("h1", there) == ("h1", "s1", "s3", "s4", "h2")
    assert router.nodes("h2", back) == ("h2", "s4", "s3", "s1", "h1")
    around = router.path("h1", "h2", down=frozenset({"s3 -- s4"}))
    assert around is not None
    assert router.nodes("h1", around) == ("h1", "s1", "s2", "s4", "h2")


def test_a_slow_access_link_makes_a_wide_detour_pointless() -> None:
    links = [
        link("h1", "s1", bps=1e6), link("s1", "s2", bps=1e6), link("s1", "s3", bps=1e9),
        link("s3", "s2", bps=1e9), link("h2", "s2", bps=1e9), link("h3", "s1", bps=1e9),
    ]  # fmt: skip
    router = Router(["h1", "h2", "h3"], ["s1", "s2", "s3"], links, Routing(by="widest"), seed=1)
    assert len(router.path("h1", "h2") or ()) == 3
    assert len(router.path("h3", "h2") or ()) == 4


def test_hosts_never_forward() -> None:
    links = [link("h1", "h2"), link("h2", "h3")]
    router = Router(["h1", "h2", "h3"], [], links, Routing(), seed=1)
    assert router.path("h1", "h2") == (Hop("h1 -- h2", "forward"),)
    assert router.path("h1", "h3") is None


def test_parallel_links_replace_each_other() -> None:
    links = [link("h1", "s1"), link("h1", "s1", name="h1 -- s1 #2"), link("h2", "s1")]
    router = Router(["h1", "h2"], ["s1"], links, Routing(), seed=1)
    assert router.path("h1", "h2") == (Hop("h1 -- s1", "forward"), Hop("h2 -- s1", "backward"))
    rerouted = router.path("h1", "h2", down=frozenset({"h1 -- s1"}))
    assert rerouted == (Hop("h1 -- s1 #2", "forward"), Hop("h2 -- s1", "backward"))


def test_the_fabric_process_can_import_routes_without_a_heavy_library() -> None:
    code = (
        "import sys, stream2gym.plan.routes;"
        "print([m for m in ('networkx','pydantic','rich','difflib','numpy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
