"""Generates topologies: pure functions from options (and a seed) to hosts, switches and links.

Link settings beside the kind apply to every link. ``core`` overrides them between switches, ``access`` at hosts.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from itertools import pairwise
from typing import Any, Literal, TypeVar

from pydantic import Field, ValidationError, model_validator

from stream2gym.kinds.link_settings import LinkChange
from stream2gym.kinds.settings import Whole
from stream2gym.spec.model.backbones import BACKBONES

MOST_HOSTS = 5000
Pair = tuple[str, str]
G = TypeVar("G", bound="Generator")


class Generator(LinkChange):
    """The options that all kinds have."""

    core: LinkChange = Field(
        default_factory=LinkChange, description="link settings between switches, over those for all links"
    )
    access: LinkChange = Field(
        default_factory=LinkChange, description="link settings at hosts, over those for all links"
    )
    routing: Any = Field(
        default=None, description="how paths are chosen, and whether they are chosen anew after a cut"
    )

    def nodes(self) -> tuple[list[str], list[str]]:
        """The names of the hosts and of the switches."""
        raise NotImplementedError

    def pairs(self) -> Iterable[Pair]:
        """The pairs of nodes that have a link."""
        raise NotImplementedError

    def own_latency(self, _pair: Pair) -> str | None:
        """The latency that the kind itself gives to a link; None if it gives none."""
        return None

    def topology(self) -> dict[str, Any]:
        """The hosts, switches and links in the words of the experiment format."""
        hosts, switches = self.nodes()
        known = set(switches)
        everywhere = _given(self)
        links = []
        for a, b in self.pairs():
            inner = a in known and b in known
            link: dict[str, Any] = {"between": (a, b)} | everywhere
            own = self.own_latency((a, b))
            if own is not None:
                link["latency"] = own
            links.append(link | _given(self.core if inner else self.access))
        made = {"hosts": hosts, "switches": switches, "links": links}
        return made if self.routing is None else made | {"routing": self.routing}


def _given(change: LinkChange) -> dict[str, Any]:
    """The settings that are given, by name."""
    return {name: getattr(change, name) for name in LinkChange.model_fields if getattr(change, name) is not None}


def _row(letter: str, count: int) -> list[str]:
    return [f"{letter}{n}" for n in range(1, count + 1)]


class Star(Generator):
    """All hosts around one switch."""

    kind: Literal["star"] = Field(description="the shape of the topology")
    hosts: Whole = Field(ge=1, le=MOST_HOSTS, description="how many hosts")

    def nodes(self) -> tuple[list[str], list[str]]:
        return _row("h", self.hosts), ["s1"]

    def pairs(self) -> Iterable[Pair]:
        return ((host, "s1") for host in _row("h", self.hosts))


class Linear(Generator):
    """A row of switches, each with one host."""

    kind: Literal["linear"] = Field(description="the shape of the topology")
    hosts: Whole = Field(ge=1, le=MOST_HOSTS, description="how many hosts")

    def nodes(self) -> tuple[list[str], list[str]]:
        return _row("h", self.hosts), _row("s", self.hosts)

    def pairs(self) -> Iterable[Pair]:
        hosts, switches = self.nodes()
        return [*zip(hosts, switches, strict=True), *pairwise(switches)]


class Ring(Generator):
    """A ring of switches, each with one host."""

    kind: Literal["ring"] = Field(description="the shape of the topology")
    hosts: Whole = Field(ge=3, le=MOST_HOSTS, description="how many hosts")

    def nodes(self) -> tuple[list[str], list[str]]:
        return _row("h", self.hosts), _row("s", self.hosts)

    def pairs(self) -> Iterable[Pair]:
        hosts, switches = self.nodes()
        return [*zip(hosts, switches, strict=True), *zip(switches, switches[1:] + switches[:1], strict=True)]


class Tree(Generator):
    """A tree of switches. The hosts are its leaves."""

    kind: Literal["tree"] = Field(description="the shape of the topology")
    depth: Whole = Field(default=2, ge=1, le=12, description="levels of switches")
    fanout: Whole = Field(default=2, ge=1, le=MOST_HOSTS, description="children of each switch")

    @model_validator(mode="after")
    def _bounded(self) -> Tree:
        return _at_most(self, self.fanout**self.depth)

    def _levels(self) -> list[list[str]]:
        names = iter(_row("s", sum(self.fanout**level for level in range(self.depth))))
        levels = [[next(names) for _ in range(self.fanout**level)] for level in range(self.depth)]
        return [*levels, _row("h", self.fanout**self.depth)]

    def nodes(self) -> tuple[list[str], list[str]]:
        *inner, hosts = self._levels()
        return hosts, [switch for level in inner for switch in level]

    def pairs(self) -> Iterable[Pair]:
        levels = self._levels()
        for above, below in pairwise(levels):
            for index, node in enumerate(below):
                yield above[index // self.fanout], node


class Torus(Generator):
    """A grid of switches that is closed in both directions, each with one host."""

    kind: Literal["torus"] = Field(description="the shape of the topology")
    x: Whole = Field(ge=3, le=MOST_HOSTS, description="switches in a row, 3 or more")
    y: Whole = Field(ge=3, le=MOST_HOSTS, description="rows, 3 or more")

    @model_validator(mode="after")
    def _bounded(self) -> Torus:
        return _at_most(self, self.x * self.y)

    def nodes(self) -> tuple[list[str], list[str]]:
        return _row("h", self.x * self.y), _row("s", self.x * self.y)

    def pairs(self) -> Iterable[Pair]:
        hosts, switches = self.nodes()
        yield from zip(hosts, switches, strict=True)
        for row in range(self.y):
            for column in range(self.x):
                here = switches[row * self.x + column]
                yield here, switches[row * self.x + (column + 1) % self.x]
                yield here, switches[(row + 1) % self.y * self.x + column]


class FatTree(Generator):
    """The k-ary fat tree of data centres: k pods, (k/2)² core switches, k³/4 hosts."""

    kind: Literal["fat-tree"] = Field(description="the shape of the topology")
    k: Whole = Field(default=4, ge=2, le=26, multiple_of=2, description="ports of each switch, an even number")

    def _parts(self) -> tuple[list[str], list[list[str]], list[list[str]]]:
        half = self.k // 2
        names = iter(_row("s", half * half + self.k * self.k))
        core = [next(names) for _ in range(half * half)]
        pods = [[next(names) for _ in range(self.k)] for _ in range(self.k)]
        return core, [pod[:half] for pod in pods], [pod[half:] for pod in pods]

    def nodes(self) -> tuple[list[str], list[str]]:
        core, upper, lower = self._parts()
        inner = [switch for pod in zip(upper, lower, strict=True) for part in pod for switch in part]
        return _row("h", self.k**3 // 4), core + inner

    def pairs(self) -> Iterable[Pair]:
        half = self.k // 2
        core, upper, lower = self._parts()
        hosts = iter(_row("h", self.k**3 // 4))
        for above, below in zip(upper, lower, strict=True):
            for index, switch in enumerate(above):
                yield from ((core[index * half + n], switch) for n in range(half))
                yield from ((switch, edge) for edge in below)
            for edge in below:
                yield from ((edge, next(hosts)) for _ in range(half))


class Random(Generator):
    """Connected switches with ``degree`` links each on average. Hosts are spread over them."""

    kind: Literal["random"] = Field(description="the shape of the topology")
    hosts: Whole = Field(ge=1, le=MOST_HOSTS, description="how many hosts")
    switches: Whole | None = Field(default=None, ge=1, le=MOST_HOSTS, description="how many switches")
    degree: float = Field(default=3.0, ge=1, le=100, description="links of each switch")
    seed: Whole = Field(default=1, ge=0, description="same seed, same topology")

    def nodes(self) -> tuple[list[str], list[str]]:
        return _row("h", self.hosts), _row("s", self.switches or max(1, self.hosts // 2))

    def pairs(self) -> Iterable[Pair]:
        hosts, switches = self.nodes()
        chance = random.Random(self.seed)
        count = len(switches)
        inner = {(chance.randrange(index), index) for index in range(1, count)}
        wanted = min(max(len(inner), round(count * self.degree / 2)), count * (count - 1) // 2)
        while len(inner) < wanted:
            a, b = sorted(chance.sample(range(count), 2))
            inner.add((a, b))
        homes = [switches[index % count] for index in range(len(hosts))]
        chance.shuffle(homes)
        return [*zip(hosts, homes, strict=True), *((switches[a], switches[b]) for a, b in sorted(inner))]


class Wan(Generator):
    """A real backbone: a switch and hosts in every city. Latencies follow from distances."""

    kind: Literal["wan"] = Field(description="the shape of the topology")
    name: Literal["abilene", "nsfnet", "geant"] = Field(default="abilene", description="which backbone")
    hosts_per_city: Whole = Field(default=1, ge=1, le=200, description="hosts at each switch")

    def nodes(self) -> tuple[list[str], list[str]]:
        cities = BACKBONES[self.name].cities
        return _row("h", len(cities) * self.hosts_per_city), [f"s-{city}" for city in cities]

    def pairs(self) -> Iterable[Pair]:
        hosts, switches = self.nodes()
        yield from ((host, switches[index // self.hosts_per_city]) for index, host in enumerate(hosts))
        yield from ((f"s-{a}", f"s-{b}") for a, b in BACKBONES[self.name].joined)

    def own_latency(self, pair: Pair) -> str | None:
        a, b = (node.removeprefix("s-") for node in pair)
        backbone = BACKBONES[self.name]
        if a in backbone.cities and b in backbone.cities:
            return f"{backbone.latency_ms(a, b)} ms"
        return "0.1 ms" if self.latency is None else None


def _at_most(generator: G, hosts: int) -> G:
    if hosts > MOST_HOSTS:
        raise ValueError(f"makes {hosts} hosts; {MOST_HOSTS} is the most")
    return generator


GENERATORS: dict[str, type[Generator]] = {
    "star": Star, "linear": Linear, "ring": Ring, "tree": Tree, "torus": Torus, "fat-tree": FatTree,
    "random": Random, "wan": Wan,
}  # fmt: skip


def expand(options: dict[str, Any]) -> dict[str, Any]:
    """Generate the topology that the options describe. A ValueError says what is wrong with them."""
    kind = options.get("kind")
    model = GENERATORS.get(kind) if isinstance(kind, str) else None
    if model is None:
        raise ValueError(f"unknown kind of topology {kind!r}; known: {', '.join(GENERATORS)}")
    try:
        return model.model_validate(options).topology()
    except ValidationError as error:
        texts = (f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
        raise ValueError("; ".join(texts)) from None
