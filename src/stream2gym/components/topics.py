"""Which topics a client uses, where it finds them, and in which group it reads them. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from stream2gym.components.cluster import Node, bootstrap
from stream2gym.plan.model import Plan
from stream2gym.spec.model import Consumer, Experiment


def bootstrap_for(experiment: Experiment, nodes: Sequence[Node], topics: Sequence[str]) -> str:
    """The broker that the published ``topicBroker`` names, where one lives there; else all of them."""
    asked = {topic.via for topic in experiment.topics if topic.name in topics and topic.via}
    chosen = [node for node in nodes if node.is_broker and (node.host in asked or node.name in asked)]
    return bootstrap(chosen or nodes)


def via_number(experiment: Experiment, topics: Sequence[str]) -> str:
    """The number of the host whose broker is asked, as published programs get it."""
    via = next((topic.via for topic in experiment.topics if topic.name in topics and topic.via), None)
    return host_number(via) if via else "1"


def host_number(host: str) -> str:
    """``h12`` is 12; a host without a number goes by its name."""
    match = re.fullmatch(r"\D+(\d+)", host)
    return match[1] if match else host


def topics_of(consumer: Consumer, experiment: Experiment) -> list[str]:
    """The topics that a consumer reads, a pattern resolved against those of the experiment."""
    if not consumer.pattern:
        return list(consumer.topics)
    wanted = re.compile(consumer.pattern.removeprefix("^"))
    return [topic.name for topic in experiment.topics if wanted.match(topic.name)]


def groups_of(experiment: Experiment, plan: Plan) -> dict[str, list[str]]:
    """The group of every instance of every consumer.

    Without a group of its own an instance is ``group-N-instanceI`` as published; a second consumer on the
    same host, which would share that, has its name in it.
    """
    hosts = {part.name: part.host for part in plan.components}
    taken: set[str] = {consumer.group for consumer in experiment.consumers if consumer.group}
    groups = {}
    for consumer in experiment.consumers:
        name = str(consumer.name)
        if consumer.group:
            groups[name] = [consumer.group] * consumer.instances
            continue
        stem = f"group-{host_number(hosts[name])}"
        own = [f"{stem}-instance{number}" for number in range(1, consumer.instances + 1)]
        if taken & set(own):
            own = [f"{stem}-{name}-instance{number}" for number in range(1, consumer.instances + 1)]
        taken |= set(own)
        groups[name] = own
    return groups


def hashes_of(experiment: Experiment) -> dict[str, str]:
    """How values of a topic are hashed, so that a trace by a field of them finds them again."""
    return {
        topic: trace.by
        for trace in experiment.trace
        if trace.by.startswith("json:")
        for topic in (trace.from_, trace.to)
    }
