"""Checks of the names and hosts of components, of brokers, topics and placement."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from stream2gym.spec.checks.experiment_index import ExperimentIndex
from stream2gym.spec.findings import DataPath, Finding, brief, did_you_mean

_INTERNAL_REPLICAS = (
    "offsets.topic.replication.factor",
    "transaction.state.log.replication.factor",
    "share.coordinator.state.topic.replication.factor",
)
_VERSION = re.compile(r"(\d{1,4})\.(\d{1,4})(\.\d{1,4})?")


def check_names(index: ExperimentIndex) -> Iterator[Finding]:
    """Check that names are unique and that the hosts of components exist."""
    nodes = index.hosts | index.switches
    seen: dict[str, str] = {}
    for path, kind, part in index.parts():
        name = str(part.name)
        if name in seen:
            yield Finding(path, f"the name {brief(name)} is taken by a {seen[name]}", "names are unique")
        elif name in nodes:
            yield Finding(
                path, f"a {kind} cannot have the name of the node {name}", "faults could not tell them apart"
            )
        seen.setdefault(name, kind)
        if part.on is not None:
            yield from index.host((*path, "on"), part.on)


def check_brokers(index: ExperimentIndex) -> Iterator[Finding]:
    """Check hosts, types, controllers and the version of brokers."""
    experiment = index.experiment
    hosts: dict[str, str] = {}
    for number, broker in enumerate(experiment.brokers):
        path: DataPath = ("brokers", number)
        if broker.on is not None and broker.on in hosts:
            yield Finding(
                path, f"{broker.on} has the broker {hosts[broker.on]} already", "a host has one broker at most"
            )
        elif broker.on is not None:
            hosts[broker.on] = str(broker.name)
    if len({broker.type for broker in experiment.brokers}) > 1:
        yield Finding(("brokers",), "kafka and rabbitmq brokers are mixed", "use one of them")
    if experiment.brokers and all(broker.controller is False for broker in experiment.brokers):
        yield Finding(("brokers",), "every broker says 'controller: false'", "one of them must be a controller")
    if experiment.brokers and all(broker.controller == "only" for broker in experiment.brokers):
        yield Finding(
            ("brokers",),
            "every broker says 'controller: only'",
            "one of them must hold topics and serve clients",
        )
    yield from _check_internal_topics(index)
    version = _VERSION.fullmatch(experiment.kafka.version)
    if version is None or (int(version[1]), int(version[2])) < (3, 9):
        what = f"{brief(experiment.kafka.version)} is not a version of Kafka that runs here"
        yield Finding(("kafka", "version"), what, "3.9 or later, like '4.3.1'")


def _check_internal_topics(index: ExperimentIndex) -> Iterator[Finding]:
    """Check the replicas of Kafka's internal topics.

    With too few brokers Kafka does not create them, and groups wait for ever.
    """
    experiment = index.experiment
    brokers = sum(broker.controller != "only" for broker in experiment.brokers)
    configs: list[tuple[DataPath, Mapping[str, object]]] = [(("kafka", "config"), experiment.kafka.config)]
    configs += [(("brokers", number, "config"), broker.config) for number, broker in enumerate(experiment.brokers)]
    for path, config in configs:
        for key in _INTERNAL_REPLICAS:
            wanted = str(config.get(key, ""))
            if brokers and wanted.isdigit() and int(wanted) > brokers and not index.lost("brokers"):
                count = f"there {'is' if brokers == 1 else 'are'} only {brokers}"
                what = f"{wanted} replicas need as many brokers, and {count}"
                yield Finding((*path, key), what, f"at most {brokers}")


def check_topics(index: ExperimentIndex) -> Iterator[Finding]:
    """Check names, replicas and leaders of topics."""
    experiment = index.experiment
    brokers = [b for b in experiment.brokers if b.controller != "only"]
    known = {str(b.name) for b in brokers} | {b.on for b in brokers if b.on}
    if experiment.topics and not brokers and not index.lost("brokers"):
        yield Finding(("topics",), "there are topics but no broker", "brokers: [{on: h1}]")
    seen: set[str] = set()
    alike: dict[str, str] = {}
    for number, topic in enumerate(experiment.topics):
        path: DataPath = ("topics", number)
        if topic.name in seen:
            yield Finding(path, f"there are two topics {brief(topic.name)}", "keep one")
        seen.add(topic.name)
        other = alike.setdefault(topic.name.replace(".", "_"), topic.name)
        if other != topic.name and not experiment.uses_rabbitmq:
            what = f"{brief(other)} and {brief(topic.name)} differ in '.' and '_' alone, which Kafka refuses"
            yield Finding(path, what, "another name")
        if topic.name in (".", "..") or topic.name.startswith("__"):
            yield Finding(path, f"{brief(topic.name)} is a name that Kafka reserves for itself")
        if brokers and topic.replicas > len(brokers) and not index.lost("brokers"):
            count = f"there {'is' if len(brokers) == 1 else 'are'} only {len(brokers)}"
            what = f"{topic.name} wants {topic.replicas} replicas, each on a broker of its own"
            yield Finding((*path, "replicas"), f"{what}, and {count}", f"at most {len(brokers)}")
        for key in ("leader", "via"):
            wanted = getattr(topic, key)
            if wanted is not None and wanted not in known and not index.knows(wanted):
                hint = did_you_mean(wanted, sorted(known))
                yield Finding((*path, key), f"no broker runs on or is called {brief(wanted)}", hint)


def check_placement(index: ExperimentIndex) -> Iterator[Finding]:
    """Check the hosts and constraints of the placement."""
    placement = index.experiment.placement
    for number, host in enumerate(placement.hosts):
        yield from index.host(("placement", "hosts", number), host)
    for number, constraint in enumerate(placement.constraints):
        path: DataPath = ("placement", "constraints", number)
        given = {name: names for name, names in constraint if names is not None}
        if len(given) != 1:
            yield Finding(path, "is not exactly one of colocate, exlocate, isolate", "exlocate: [broker-*]")
        for key, patterns in given.items():
            for position, pattern in enumerate(patterns):
                if not index.matching(pattern, index.components):
                    hint = did_you_mean(pattern, sorted(index.components))
                    yield Finding((*path, key, position), f"no component is called {brief(pattern)}", hint)
