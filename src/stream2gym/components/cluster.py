"""Who the brokers are to each other: node ids, addresses, voters, and the preferred leaders of topics. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stream2gym.errors import Mistake
from stream2gym.plan.model import Plan
from stream2gym.spec.model import Broker, Experiment, Topic

CLIENT_PORT = 9092
CONTROLLER_PORT = 9093


@dataclass(frozen=True)
class Node:
    """A broker, a controller, or both."""

    name: str
    host: str
    address: str
    id: int
    roles: tuple[str, ...]

    @property
    def is_broker(self) -> bool:
        return "broker" in self.roles

    @property
    def votes(self) -> bool:
        return "controller" in self.roles

    @property
    def client_address(self) -> str:
        return f"{self.address}:{CLIENT_PORT}"


def plan_nodes(experiment: Experiment, plan: Plan) -> tuple[Node, ...]:
    """Every node of the cluster; a broker on hN has the id N, as published, unless two would share it."""
    placed = {part.name: part.host for part in plan.components}
    addresses = {host.name: host.address for host in plan.network.hosts}
    brokers = [broker for broker in experiment.brokers if broker.type == "kafka"]
    hosts = [placed[str(broker.name)] for broker in brokers]
    ids = node_ids(hosts)
    return tuple(
        Node(str(broker.name), host, addresses[host], number, _roles(broker, plan.voters))
        for broker, host, number in zip(brokers, hosts, ids, strict=True)
    )


def node_ids(hosts: Sequence[str]) -> list[int]:
    """The number in each host's name, or 1, 2, 3 ... when they do not all have one of their own."""
    found = [re.fullmatch(r"\D*(\d{1,8})", host) for host in hosts]
    numbers = [int(match[1]) for match in found if match]
    if len(numbers) == len(hosts) == len(set(numbers)) and 0 not in numbers:
        return numbers
    return list(range(1, len(hosts) + 1))


def _roles(broker: Broker, voters: Sequence[str]) -> tuple[str, ...]:
    if broker.controller == "only":
        return ("controller",)
    return ("broker", "controller") if broker.name in voters else ("broker",)


def bootstrap(nodes: Sequence[Node], via: str | None = None) -> str:
    """Addresses that clients begin with: the broker on ``via`` first, where it is one, as published."""
    brokers = sorted((node for node in nodes if node.is_broker), key=lambda node: node.host != via)
    return ",".join(node.client_address for node in brokers)


def check_cluster(experiment: Experiment, plan: Plan) -> list[Mistake]:
    """What only shows once every broker has its host: two that want the same port."""
    return _same_port(plan_nodes(experiment, plan))


def _same_port(nodes: Sequence[Node]) -> list[Mistake]:
    first: dict[str, Node] = {}
    mistakes = []
    for node in nodes:
        other = first.setdefault(node.host, node)
        if other is not node:
            what = f"{other.name} has port {CLIENT_PORT} of {node.host} already"
            mistakes.append(Mistake(f"broker {node.name}", what, "put it on another host"))
    return mistakes


def topic_requests(topics: Sequence[Topic], nodes: Sequence[Node]) -> list[dict[str, Any]]:
    """The topics as the admin client takes them; a preferred leader becomes the first of every replica list."""
    brokers = [node for node in nodes if node.is_broker]
    return [
        {
            "name": topic.name,
            "partitions": topic.partitions,
            "replicas": topic.replicas,
            "config": {key: property_text(value) for key, value in topic.config.items()},
            "assignment": assignment(topic, brokers),
        }
        for topic in topics
    ]


def assignment(topic: Topic, brokers: Sequence[Node]) -> list[list[int]] | None:
    """Replica lists with the preferred leader first; the other replicas move on with every partition."""
    leader = next((node for node in brokers if topic.leader in (node.name, node.host)), None)
    if leader is None:
        return None
    others = [node.id for node in brokers if node is not leader]
    return [
        [leader.id, *(others[(number + place) % len(others)] for place in range(topic.replicas - 1))]
        for number in range(topic.partitions)
    ]


def property_text(value: str | int | float | bool) -> str:
    """A property as Java writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def property_texts(properties: Mapping[str, str | int | float | bool]) -> dict[str, str]:
    return {key: property_text(value) for key, value in properties.items()}
