"""The cast: every component by name, and who talks to whom."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from stream2gym.errors import Mistake
from stream2gym.spec.model import Broker, Component, Experiment, Sink
from stream2gym.spec.places import did_you_mean


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
    """Every component in the order in which kinds start, and mistakes about names and hosts."""
    hosts = [host.name for host in experiment.topology.hosts]
    cast: dict[str, Member] = {}
    mistakes = []
    for kind, component in experiment.components():
        name = component.name or kind
        if name in cast:
            mistakes.append(Mistake(f"{kind} {name}", f"a {cast[name].kind} has this name already"))
        if component.on is not None and component.on not in hosts:
            what = f"there is no host {component.on!r} to run on"
            mistakes.append(Mistake(f"{kind} {name}", what, did_you_mean(component.on, hosts)))
        type_ = str(getattr(component, "type", kind))
        instances = int(getattr(component, "instances", 1))
        cast[name] = Member(name, kind, type_, component.on, instances, component)
    members = list(cast.values())
    return members, mistakes + _check_stores(experiment, members)


def _check_stores(experiment: Experiment, cast: list[Member]) -> list[Mistake]:
    stores = [member.name for member in cast if member.kind == "store"]
    return [
        Mistake(f"sink {sink.name}", f"there is no store {sink.store!r}", did_you_mean(sink.store, stores))
        for sink in experiment.sinks
        if sink.store not in stores
    ]


def conversations(cast: Iterable[Member]) -> dict[str, tuple[str, ...]]:
    """Whom each component opens connections to.

    Any broker may come to lead any partition, so clients talk to all of them; brokers and controllers among
    themselves; engines also to stores and sources, sinks to their store.
    """
    members = list(cast)
    quorum = [member.name for member in members if member.kind == "broker"]
    brokers = [member.name for member in members if member.kind == "broker" and not _only_controls(member)]
    beside = [member.name for member in members if member.kind in ("store", "source")]
    talks: dict[str, tuple[str, ...]] = {}
    for member in members:
        peers: list[str] = []
        if member.kind == "broker":
            peers = quorum
        elif member.kind in ("producer", "consumer"):
            peers = brokers
        elif member.kind == "engine":
            peers = brokers + beside
        elif isinstance(member.component, Sink):
            peers = [*brokers, member.component.store]
        talks[member.name] = tuple(peer for peer in peers if peer != member.name)
    return talks


def _only_controls(member: Member) -> bool:
    return isinstance(member.component, Broker) and member.component.controller == "only"


def choose_voters(cast: Iterable[Member], count: int) -> tuple[tuple[str, ...], list[str]]:
    """The brokers that vote as controllers, in document order, and warnings.

    Brokers with ``controller: true`` or ``only`` are the candidates, and when there is none all that do not say no.
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
