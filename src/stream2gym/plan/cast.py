"""The cast: every component by name, and who talks to whom."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from stream2gym.errors import Mistake
from stream2gym.plan.names import did_you_mean
from stream2gym.spec.model import Broker, Component, Experiment, Sink

_ONE_A_HOST = ("broker", "store")


@dataclass(frozen=True)
class Member:
    """A component with its name; ``on`` is None while nobody has placed it."""

    name: str
    kind: str
    type: str
    on: str | None
    instances: int
    component: Component


def make_cast(experiment: Experiment) -> tuple[list[Member], list[Mistake]]:
    """Every component with a unique name, in the order in which kinds start, and mistakes about both."""
    hosts = [host.name for host in experiment.topology.hosts]
    taken: set[str] = set()
    mistakes = []
    for kind, component in experiment.components():
        if component.name in taken:
            mistakes.append(Mistake(f"{kind} {component.name}", "another component has this name already"))
        if component.name:
            taken.add(component.name)
        if component.on is not None and component.on not in hosts:
            where = f"{kind} {component.name or ''}".strip()
            hint = did_you_mean(component.on, hosts)
            mistakes.append(Mistake(where, f"there is no host {component.on!r} to run on", hint))
    cast = []
    for kind, component in experiment.components():
        name = component.name or _new_name(kind, component.on, taken)
        taken.add(name)
        type_ = str(getattr(component, "type", kind))
        instances = int(getattr(component, "instances", 1))
        cast.append(Member(name, kind, type_, component.on, instances, component))
    return cast, mistakes + _check_stores(experiment, cast)


def _new_name(kind: str, host: str | None, taken: set[str]) -> str:
    """``broker-h2``; ``producer-h1-1`` for what may well be there twice; ``producer-1`` for what is placed."""
    base = f"{kind}-{host}" if host else kind
    if host and kind in _ONE_A_HOST and base not in taken:
        return base
    number = 2 if host and kind in _ONE_A_HOST else 1
    while f"{base}-{number}" in taken:
        number += 1
    return f"{base}-{number}"


def _check_stores(experiment: Experiment, cast: list[Member]) -> list[Mistake]:
    stores = [member.name for member in cast if member.kind == "store"]
    return [
        Mistake(
            f"sink {sink.name or ''}".strip(),
            f"there is no store {sink.store!r}",
            did_you_mean(sink.store, stores),
        )
        for sink in experiment.sinks
        if sink.store not in stores
    ]


def conversations(cast: Iterable[Member]) -> dict[str, tuple[str, ...]]:
    """Whom each component opens connections to.

    Any broker may come to lead any partition, so clients talk to all of them, as brokers do among
    themselves; engines also to stores and sources, sinks to their store.
    """
    members = list(cast)
    of_kind = {
        kind: [member.name for member in members if member.kind == kind]
        for kind in ("broker", "store", "source")
    }
    talks: dict[str, tuple[str, ...]] = {}
    for member in members:
        peers: list[str] = []
        if member.kind in ("broker", "producer", "consumer", "engine", "sink"):
            peers += of_kind["broker"]
        if member.kind == "engine":
            peers += of_kind["store"] + of_kind["source"]
        if isinstance(member.component, Sink):
            peers.append(member.component.store)
        talks[member.name] = tuple(peer for peer in peers if peer != member.name)
    return talks


def choose_voters(cast: Iterable[Member], count: int) -> tuple[tuple[str, ...], list[str]]:
    """The brokers that vote as controllers, in document order, and warnings.

    Brokers with ``controller: true`` are the candidates, and when nobody says so all that do not say no.
    The first ``count`` of them vote; of brokers that nobody chose an odd number, since an even one survives
    no more failures than one less.
    """
    brokers = [
        (member.name, member.component.controller)
        for member in cast
        if isinstance(member.component, Broker) and member.type == "kafka"
    ]
    chosen = [name for name, controller in brokers if controller]
    if chosen:
        voters = chosen[:count]
        warnings = []
        if len(voters) % 2 == 0:
            warnings.append(
                f"{len(voters)} controllers vote ({', '.join(voters)}): an even number survives no more "
                "failures than one less"
            )
        return tuple(voters), warnings
    candidates = [name for name, controller in brokers if controller is None]
    number = min(count, len(candidates))
    if brokers and not candidates:
        return (), ["every broker says 'controller: false': nobody can vote"]
    return tuple(candidates[: number - 1 + number % 2]), []
