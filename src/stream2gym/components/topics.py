"""Which topics a client uses, which brokers it asks for them, and in which group it reads them. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from stream2gym.components.cluster import ServingNode, bootstrap
from stream2gym.plan.planned import Plan
from stream2gym.spec.model import Consumer, Experiment

# The name of a topic and the number of one of its partitions.
TopicPartition = tuple[str, int]


def bootstrap_for(experiment: Experiment, nodes: Sequence[ServingNode], topics: Sequence[str], near: str = "") -> str:
    """The addresses that a client of these topics begins with.

    This is the broker that the published ``topicBroker`` names, if there is one, or else all brokers. A client of
    RabbitMQ stays with the first that answers: this is the one on its own host ``near``, if there is one.
    """
    asked = {topic.via for topic in experiment.topics if topic.name in topics and topic.via}
    chosen = [node for node in nodes if node.is_broker and (node.host in asked or node.name in asked)]
    if experiment.uses_rabbitmq:
        return bootstrap(sorted(chosen or nodes, key=lambda node: node.host != near))
    return bootstrap(chosen or nodes)


def via_number(experiment: Experiment, topics: Sequence[str]) -> str:
    """The number of the host of the broker that ``topicBroker`` names, as published programs get it."""
    via = next((topic.via for topic in experiment.topics if topic.name in topics and topic.via), None)
    return host_number(via) if via else "1"


def host_number(host: str) -> str:
    """The number in the name of a host (12 for ``h12``); the name itself if it has none."""
    match = re.fullmatch(r"\D+(\d+)", host)
    return match[1] if match else host


def topics_of(consumer: Consumer, experiment: Experiment) -> list[str]:
    """The topics that a consumer reads. A pattern is matched against the topics of the experiment."""
    if not consumer.pattern:
        return list(consumer.topics)
    wanted = re.compile(consumer.pattern.removeprefix("^"))
    return [topic.name for topic in experiment.topics if wanted.match(topic.name)]


def groups_of(experiment: Experiment, plan: Plan) -> dict[str, list[str]]:
    """The group of every instance of every consumer.

    If the experiment gives no group, an instance has the group ``group-N-instanceI``, as published. A second consumer
    on the same host would share it; therefore its group contains the name of the consumer.
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


def header_topics_of(experiment: Experiment) -> tuple[str, ...]:
    """The topics in which messages are recognised by the header that an engine forwards."""
    return tuple(dict.fromkeys(trace.to for trace in experiment.trace if trace.by == "header"))


def hashes_of(experiment: Experiment) -> dict[str, str]:
    """By which field the values of a topic are hashed, for topics with a trace by that field."""
    return {
        topic: trace.by
        for trace in experiment.trace
        if trace.by.startswith("json:")
        for topic in (trace.from_, trace.to)
    }
