"""The components of an experiment by name, who talks to whom, and which brokers vote as controllers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from stream2gym.errors import Mistake
from stream2gym.spec.findings import did_you_mean
from stream2gym.spec.model import Broker, Component, Experiment, Sink


@dataclass(frozen=True)
class Member:
    """A component with its name. ``on`` is None if the user named no host for it."""

    name: str
    kind: str
    type: str
    on: str | None
    instances: int
    component: Component


def list_members(experiment: Experiment) -> tuple[list[Member], list[Mistake]]:
    """Every component, in the order in which kinds start, and mistakes about names and hosts."""
    hosts = [host.name for host in experiment.topology.hosts]
    by_name: dict[str, Member] = {}
    mistakes = []
    for kind, component in experiment.components():
        name = component.name or kind
        if name in by_name:
            mistakes.append(Mistake(f"{kind} {name}", f"a {by_name[name].kind} has this name already"))
        if component.on is not None and component.on not in hosts:
            what = f"there is no host {component.on!r} to run on"
            mistakes.append(Mistake(f"{kind} {name}", what, did_you_mean(component.on, hosts)))
        type_ = str(getattr(component, "type", kind))
        instances = int(getattr(component, "instances", 1))
        by_name[name] = Member(name, kind, type_, component.on, instances, component)
    members = list(by_name.values())
    return members, mistakes + _check_stores(experiment, members)


def _check_stores(experiment: Experiment, members: list[Member]) -> list[Mistake]:
    stores = [member.name for member in members if member.kind == "store"]
    return [
        Mistake(f"sink {sink.name}", f"there is no store {sink.store!r}", did_you_mean(sink.store, stores))
        for sink in experiment.sinks
        if sink.store not in stores
    ]


def conversations(components: Iterable[Member]) -> dict[str, tuple[str, ...]]:
    """The components that each component opens connections to.

    Clients talk to all brokers, because any broker may become the leader of a partition. Brokers and controllers talk
    to each other. Engines also talk to stores and sources, and sinks to their store.
    """
    members = list(components)
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


def choose_voters(members: Iterable[Member], count: int) -> tuple[tuple[str, ...], list[str]]:
    """The brokers that vote as controllers, in the order of the document, and warnings.

    The candidates are the brokers with ``controller: true`` or ``only``. If there are none, they are all brokers
    without ``controller: false``, and an odd number of them is taken, because an even number survives no more
    failures than one less. The first ``count`` candidates vote.
    """
    brokers = [
        (member.name, member.component.controller)
        for member in members
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
