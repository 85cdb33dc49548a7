"""Checks of what the settings of built-in faults name: brokers, partitions, hosts, data that can be lost."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any

from stream2gym.kinds.capabilities import COMPONENTS
from stream2gym.kinds.conditions import Is, parse_condition
from stream2gym.kinds.faults import RING_LEAST
from stream2gym.kinds.registry import Kind, registry
from stream2gym.kinds.targets import parse_target
from stream2gym.spec.check_index import Index
from stream2gym.spec.components import Component
from stream2gym.spec.experiment import Fault
from stream2gym.spec.places import Finding, Place, brief, did_you_mean


def check_fault_settings(index: Index, kind: Kind, fault: Fault, path: Place) -> Iterator[Finding]:
    """Everything that would only be found out when the fault is due."""
    settings = fault.settings
    if kind.name == "move" and isinstance(settings.get("to"), str):
        yield from index.unknown((*path, "settings", "to"), "switch", settings["to"], index.switches)
    if kind.name == "partition":
        yield from _partition(index, fault, path)
    if kind.name == "move-leader":
        yield from _broker(index, settings.get("to"), (*path, "settings", "to"))
    if kind.name == "reassign" and isinstance(settings.get("replicas"), list):
        for number, name in enumerate(settings["replicas"]):
            yield from _broker(index, name, (*path, "settings", "replicas", number))
    if "topic" in kind.targets:
        yield from _partition_number(index, fault, path)


def check_who(index: Index, fault: Fault, path: Place) -> Iterator[Finding]:
    """The component in ``when: broker-h2 is controller``."""
    try:
        condition = parse_condition(" ".join((fault.when or "").split()))
    except ValueError:
        return
    if isinstance(condition, Is) and not index.lost("brokers"):
        brokers = [name for name, (group, _) in index.components.items() if group == "broker"]
        yield from index.unknown((*path, "when"), "broker", condition.component, brokers)


def check_count(index: Index, text: str, path: Place) -> Iterator[Finding]:
    """``random 3 of broker-*``: are there so many?"""
    target = parse_target(text)
    if target.form != "random" or target.among is None or target.among.form != "name":
        return
    names = (*index.components, *index.hosts, *index.switches, *index.topics)
    there = [name for name in names if fnmatchcase(name, target.among.text)]
    if there and len(there) < target.count and not index.excused:
        yield Finding(
            path, f"there are only {len(there)} of {brief(target.among.text)}", f"at most {len(there)}"
        )


def capabilities_of(group: str, component: Component) -> frozenset[str] | None:
    """What can be done to a component; None where nobody knows its type."""
    if group in ("engine", "store"):
        declared = registry("engine" if group == "engine" else "store").find(
            str(getattr(component, "type", ""))
        )
        return declared.capabilities if declared else None
    return COMPONENTS.get(group)


def _partition(index: Index, fault: Fault, path: Place) -> Iterator[Finding]:
    settings = fault.settings
    groups = settings.get("groups")
    met: dict[str, int] = {}
    for number, group in enumerate(groups if isinstance(groups, list) else ()):
        place = (*path, "settings", "groups", number)
        for name in group if isinstance(group, list) else [group]:
            if isinstance(name, str) and not index.matching(name, index.hosts | index.switches):
                yield Finding(
                    place, f"there is no node {brief(name)}", did_you_mean(name, sorted(index.hosts))
                )
            for host in sorted(index.hosts):
                if fnmatchcase(host, str(name)) and met.setdefault(host, number) != number:
                    yield Finding(place, f"{host} is in two groups", "every host in one at most")
    if isinstance(settings.get("bridge"), str):
        yield from index.unknown((*path, "settings", "bridge"), "host", settings["bridge"], index.hosts)
    hosts = _hosts(index, fault)
    if settings.get("shape") == "ring" and hosts is not None and len(hosts) < RING_LEAST:
        hint = f"on: {RING_LEAST} hosts or more, or another shape"
        yield Finding((*path, "settings", "shape"), f"a ring of {len(hosts)} hosts parts nobody", hint)


def _hosts(index: Index, fault: Fault) -> set[str] | None:
    """The hosts that a partition is done to; None where only the run knows."""
    if index.excused:
        return None
    if not fault.on:
        places = [broker.on for broker in index.experiment.brokers]
        return None if None in places else {str(place) for place in places} or set(index.hosts)
    if any(parse_target(text).form != "name" for text in fault.on):
        return None
    return {host for host in index.hosts if any(fnmatchcase(host, text) for text in fault.on)}


def _broker(index: Index, name: Any, path: Place) -> Iterator[Finding]:
    """A broker by its name, or by its host."""
    brokers = index.experiment.brokers
    known = {str(broker.name) for broker in brokers} | {broker.on for broker in brokers if broker.on}
    if isinstance(name, str) and not index.lost("brokers"):
        yield from index.unknown(path, "broker", name, known)


def _partition_number(index: Index, fault: Fault, path: Place) -> Iterator[Finding]:
    number = fault.settings.get("partition")
    if not isinstance(number, int):
        return
    for topic in index.experiment.topics:
        if topic.name in fault.on and number >= topic.partitions:
            hint = f"from 0 to {topic.partitions - 1}" if topic.partitions > 1 else "there is only 0"
            yield Finding((*path, "settings", "partition"), f"{topic.name} has no partition {number}", hint)
