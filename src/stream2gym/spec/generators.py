"""Topologies from a few words: pure functions from options (and a seed) to hosts, switches and links.

Settings beside the kind hold for every link; ``core`` overrides them between switches, ``access`` at hosts.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from itertools import pairwise
from typing import Any, Literal, TypeVar

from pydantic import Field, ValidationError, model_validator

from stream2gym.kinds.base import Whole
from stream2gym.kinds.links import LinkChange
from stream2gym.spec.backbones import BACKBONES

MOST_HOSTS = 5000
Pair = tuple[str, str]
G = TypeVar("G", bound="Generator")


class Generator(LinkChange):
    """Options common to all kinds."""

    core: LinkChange = Field(default_factory=LinkChange)
    access: LinkChange = Field(default_factory=LinkChange)
    routing: Any = None

    def nodes(self) -> tuple[list[str], list[str]]:
        """Names of hosts and of switches."""
        raise NotImplementedError

    def pairs(self) -> Iterable[Pair]:
        """Which nodes are linked."""
        raise NotImplementedError

    def own_latency(self, _pair: Pair) -> str | None:
        """The latency that the kind itself gives to a link, if any."""
        return None

    def topology(self) -> dict[str, Any]:
        """The topology written out, in the words of the experiment format."""
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
    return {
        name: getattr(change, name) for name in LinkChange.model_fields if getattr(change, name) is not None
    }


def _row(letter: str, count: int) -> list[str]:
    return [f"{letter}{n}" for n in range(1, count + 1)]


class Star(Generator):
    """All hosts around one switch."""

    kind: Literal["star"]
    hosts: Whole = Field(ge=1, le=MOST_HOSTS)

    def nodes(self) -> tuple[list[str], list[str]]:
        return _row("h", self.hosts), ["s1"]

    def pairs(self) -> Iterable[Pair]:
        return ((host, "s1") for host in _row("h", self.hosts))


class Linear(Generator):
    """A row of switches with a host each."""

    kind: Literal["linear"]
    hosts: Whole = Field(ge=1, le=MOST_HOSTS)

    def nodes(self) -> tuple[list[str], list[str]]:
        return _row("h", self.hosts), _row("s", self.hosts)

    def pairs(self) -> Iterable[Pair]:
        hosts, switches = self.nodes()
        return [*zip(hosts, switches, strict=True), *pairwise(switches)]


class Ring(Generator):
    """A ring of switches with a host each."""

    kind: Literal["ring"]
    hosts: Whole = Field(ge=3, le=MOST_HOSTS)

    def nodes(self) -> tuple[list[str], list[str]]:
        return _row("h", self.hosts), _row("s", self.hosts)

    def pairs(self) -> Iterable[Pair]:
        hosts, switches = self.nodes()
        return [*zip(hosts, switches, strict=True), *zip(switches, switches[1:] + switches[:1], strict=True)]


class Tree(Generator):
    """A tree of switches of this depth; hosts are its leaves."""

    kind: Literal["tree"]
    depth: Whole = Field(default=2, ge=1, le=12)
    fanout: Whole = Field(default=2, ge=1, le=MOST_HOSTS)

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
    """A grid of switches, closed in both directions, with a host each."""

    kind: Literal["torus"]
    x: Whole = Field(ge=3, le=MOST_HOSTS)
    y: Whole = Field(ge=3, le=MOST_HOSTS)

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

    kind: Literal["fat-tree"]
    k: Whole = Field(default=4, ge=2, le=26, multiple_of=2)

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
    """Connected switches with ``degree`` links each on average, and hosts spread over them."""

    kind: Literal["random"]
    hosts: Whole = Field(ge=1, le=MOST_HOSTS)
    switches: Whole | None = Field(default=None, ge=1, le=MOST_HOSTS)
    degree: float = Field(default=3.0, ge=1, le=100)
    seed: Whole = Field(default=1, ge=0)

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
    """A real backbone: a switch and hosts in every city, delays from distance."""

    kind: Literal["wan"]
    name: Literal["abilene", "nsfnet", "geant"] = "abilene"
    hosts_per_city: Whole = Field(default=1, ge=1, le=200)

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
    """Write a generated topology out; ValueError says what is wrong with the options."""
    kind = options.get("kind")
    model = GENERATORS.get(kind) if isinstance(kind, str) else None
    if model is None:
        raise ValueError(f"unknown kind of topology {kind!r}; known: {', '.join(GENERATORS)}")
    try:
        return model.model_validate(options).topology()
    except ValidationError as error:
        texts = (f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
        raise ValueError("; ".join(texts)) from None
