"""Checks of names, places, brokers and topics."""

from __future__ import annotations

import re
from collections.abc import Iterator

from stream2gym.spec.check_index import Index
from stream2gym.spec.places import Finding, Place, brief, did_you_mean

_VERSION = re.compile(r"(\d{1,4})\.(\d{1,4})(\.\d{1,4})?")


def check_names(index: Index) -> Iterator[Finding]:
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


def check_brokers(index: Index) -> Iterator[Finding]:
    experiment = index.experiment
    hosts: dict[str, str] = {}
    for number, broker in enumerate(experiment.brokers):
        path: Place = ("brokers", number)
        if broker.on is not None and broker.on in hosts:
            yield Finding(path, f"{broker.on} has the broker {hosts[broker.on]} already", "one broker a host")
        elif broker.on is not None:
            hosts[broker.on] = str(broker.name)
    if len({broker.type for broker in experiment.brokers}) > 1:
        yield Finding(("brokers",), "kafka and rabbitmq brokers are mixed", "use one of them")
    if experiment.brokers and all(broker.controller is False for broker in experiment.brokers):
        yield Finding(
            ("brokers",), "every broker says 'controller: false'", "somebody must be the controller"
        )
    version = _VERSION.fullmatch(experiment.kafka.version)
    if version is None or (int(version[1]), int(version[2])) < (3, 9):
        what = f"{brief(experiment.kafka.version)} is not a version of Kafka that runs here"
        yield Finding(("kafka", "version"), what, "3.9 or later, like '4.3.1'")


def check_topics(index: Index) -> Iterator[Finding]:
    experiment = index.experiment
    brokers = [b for b in experiment.brokers if b.type == "kafka" and b.controller != "only"]
    places = {str(b.name) for b in brokers} | {b.on for b in brokers if b.on}
    rabbit = any(b.type == "rabbitmq" for b in experiment.brokers)
    if experiment.topics and not brokers and not rabbit and not index.lost("brokers"):
        yield Finding(("topics",), "there are topics but no broker", "brokers: [{on: h1}]")
    seen: set[str] = set()
    for number, topic in enumerate(experiment.topics):
        path: Place = ("topics", number)
        if topic.name in seen:
            yield Finding(path, f"there are two topics {brief(topic.name)}", "keep one")
        seen.add(topic.name)
        if topic.name in (".", "..") or topic.name.startswith("__"):
            yield Finding(path, f"{brief(topic.name)} is a name that Kafka keeps for itself")
        if brokers and topic.replicas > len(brokers) and not index.lost("brokers"):
            count = f"there {'is' if len(brokers) == 1 else 'are'} only {len(brokers)}"
            what = f"{topic.name} wants {topic.replicas} replicas, each on a broker of its own"
            yield Finding((*path, "replicas"), f"{what}, and {count}", f"at most {len(brokers)}")
        for key in ("leader", "via"):
            wanted = getattr(topic, key)
            if wanted is not None and wanted not in places and not index.knows(wanted):
                hint = did_you_mean(wanted, sorted(places))
                yield Finding((*path, key), f"no broker runs on or is called {brief(wanted)}", hint)


def check_placement(index: Index) -> Iterator[Finding]:
    placement = index.experiment.placement
    for number, host in enumerate(placement.hosts):
        yield from index.host(("placement", "hosts", number), host)
    for number, constraint in enumerate(placement.constraints):
        path: Place = ("placement", "constraints", number)
        given = {name: names for name, names in constraint if names is not None}
        if len(given) != 1:
            yield Finding(path, "is not exactly one of colocate, exlocate, isolate", "exlocate: [broker-*]")
        for key, patterns in given.items():
            for place, pattern in enumerate(patterns):
                if not index.matching(pattern, index.components):
                    hint = did_you_mean(pattern, sorted(index.components))
                    yield Finding((*path, key, place), f"no component is called {brief(pattern)}", hint)
