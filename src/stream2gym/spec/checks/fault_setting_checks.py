"""Checks of the names in the settings of built-in faults: brokers, partitions, hosts and switches."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any

from stream2gym.kinds.capabilities import COMPONENTS
from stream2gym.kinds.conditions import RoleCondition, parse_condition
from stream2gym.kinds.fault_settings import RING_LEAST
from stream2gym.kinds.registry import Kind, registry
from stream2gym.kinds.targets import parse_target
from stream2gym.spec.checks.experiment_index import ExperimentIndex
from stream2gym.spec.findings import DataPath, Finding, brief, did_you_mean
from stream2gym.spec.model.components import Component
from stream2gym.spec.model.experiment import Fault


def check_fault_settings(index: ExperimentIndex, kind: Kind, fault: Fault, path: DataPath) -> Iterator[Finding]:
    """Check what the settings name, so that it is not found out only when the fault is due."""
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


def check_who(index: ExperimentIndex, fault: Fault, path: DataPath) -> Iterator[Finding]:
    """Check the component in ``when: broker-h2 is controller``."""
    try:
        condition = parse_condition(fault.when or "")
    except ValueError:
        return
    if isinstance(condition, RoleCondition) and not index.lost("brokers"):
        brokers = [name for name, (group, _) in index.components.items() if group == "broker"]
        yield from index.unknown((*path, "when"), "broker", condition.component, brokers)


def check_count(index: ExperimentIndex, text: str, path: DataPath) -> Iterator[Finding]:
    """Check that ``random 3 of broker-*`` has enough candidates."""
    target = parse_target(text)
    if target.form != "random" or target.among is None or target.among.form != "name":
        return
    names = (*index.components, *index.hosts, *index.switches, *index.topics)
    there = [name for name in names if fnmatchcase(name, target.among.text)]
    if there and len(there) < target.count and not index.excused:
        yield Finding(path, f"there are only {len(there)} of {brief(target.among.text)}", f"at most {len(there)}")


def capabilities_of(group: str, component: Component) -> frozenset[str] | None:
    """What faults can do to a component; None if its type is unknown."""
    if group in ("engine", "store"):
        declared = registry("engine" if group == "engine" else "store").find(str(getattr(component, "type", "")))
        return declared.capabilities if declared else None
    return COMPONENTS.get(group)


def _partition(index: ExperimentIndex, fault: Fault, path: DataPath) -> Iterator[Finding]:
    """Check the groups and the shape of a partition."""
    settings = fault.settings
    groups = settings.get("groups")
    met: dict[str, int] = {}
    for number, group in enumerate(groups if isinstance(groups, list) else ()):
        group_path = (*path, "settings", "groups", number)
        for name in group if isinstance(group, list) else [group]:
            if isinstance(name, str) and not index.matching(name, index.hosts | index.switches):
                yield Finding(group_path, f"there is no node {brief(name)}", did_you_mean(name, sorted(index.hosts)))
            for host in sorted(index.hosts):
                if fnmatchcase(host, str(name)) and met.setdefault(host, number) != number:
                    yield Finding(group_path, f"{host} is in two groups", "a host may be in one group")
    if isinstance(settings.get("bridge"), str):
        yield from index.unknown((*path, "settings", "bridge"), "host", settings["bridge"], index.hosts)
    hosts = _hosts(index, fault)
    if settings.get("shape") == "ring" and hosts is not None and len(hosts) < RING_LEAST:
        hint = f"on: {RING_LEAST} hosts or more, or another shape"
        yield Finding((*path, "settings", "shape"), f"a ring of {len(hosts)} hosts separates none of them", hint)


def _hosts(index: ExperimentIndex, fault: Fault) -> set[str] | None:
    """The hosts that a partition acts on; None if only the run knows them."""
    if index.excused:
        return None
    if not fault.on:
        hosts = [broker.on for broker in index.experiment.brokers]
        return None if None in hosts else {str(host) for host in hosts} or set(index.hosts)
    if any(parse_target(text).form != "name" for text in fault.on):
        return None
    return {host for host in index.hosts if any(fnmatchcase(host, text) for text in fault.on)}


def _broker(index: ExperimentIndex, name: Any, path: DataPath) -> Iterator[Finding]:
    """Check the name of a broker, or of its host."""
    brokers = index.experiment.brokers
    known = {str(broker.name) for broker in brokers} | {broker.on for broker in brokers if broker.on}
    if isinstance(name, str) and not index.lost("brokers"):
        yield from index.unknown(path, "broker", name, known)


def _partition_number(index: ExperimentIndex, fault: Fault, path: DataPath) -> Iterator[Finding]:
    """Check that the topic has the partition."""
    number = fault.settings.get("partition")
    if not isinstance(number, int):
        return
    for topic in index.experiment.topics:
        if topic.name in fault.on and number >= topic.partitions:
            hint = f"from 0 to {topic.partitions - 1}" if topic.partitions > 1 else "there is only 0"
            yield Finding((*path, "settings", "partition"), f"{topic.name} has no partition {number}", hint)
