"""The nodes of the Kafka cluster of a plan: ids, addresses, roles, and the preferred leaders of topics. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, Protocol

from stream2gym.errors import Mistake
from stream2gym.plan.planned import Plan, PlannedComponent
from stream2gym.spec.model import Broker, Experiment, Topic

CLIENT_PORT = 9092
CONTROLLER_PORT = 9093


class ServingNode(Protocol):
    """A node of a cluster, whichever broker it runs."""

    @property
    def name(self) -> str: ...

    @property
    def host(self) -> str: ...

    @property
    def id(self) -> int: ...

    @property
    def is_broker(self) -> bool:
        """Whether it serves clients."""

    @property
    def client_address(self) -> str: ...


@dataclass(frozen=True)
class KafkaNode:
    """A node of the Kafka cluster: a broker, a controller, or both."""

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


def plan_nodes(experiment: Experiment, plan: Plan) -> tuple[KafkaNode, ...]:
    """Every node of the cluster. A broker on host hN has the id N, as published, unless two would have the same."""
    placed = {part.name: part.host for part in plan.components}
    addresses = {host.name: host.address for host in plan.network.hosts}
    brokers = [broker for broker in experiment.brokers if broker.type == "kafka"]
    hosts = [placed[str(broker.name)] for broker in brokers]
    ids = node_ids(hosts)
    return tuple(
        KafkaNode(str(broker.name), host, addresses[host], number, _roles(broker, plan.voters))
        for broker, host, number in zip(brokers, hosts, ids, strict=True)
    )


def node_ids(hosts: Sequence[str]) -> list[int]:
    """The number in the name of each host; or 1, 2, 3 ... when a host has none or two have the same."""
    found = [re.fullmatch(r"\D*(\d{1,8})", host) for host in hosts]
    numbers = [int(match[1]) for match in found if match]
    if len(numbers) == len(hosts) == len(set(numbers)) and 0 not in numbers:
        return numbers
    return list(range(1, len(hosts) + 1))


def name_nodes(components: Iterable[PlannedComponent]) -> dict[int, str]:
    """The names of the brokers by the number that Kafka knows each by. -1 stands for no broker."""
    brokers = [part for part in components if part.kind == "broker"]
    numbers = node_ids([part.host for part in brokers])
    return {-1: "nobody"} | {number: part.name for number, part in zip(numbers, brokers, strict=True)}


def _roles(broker: Broker, voters: Sequence[str]) -> tuple[str, ...]:
    if broker.controller == "only":
        return ("controller",)
    return ("broker", "controller") if broker.name in voters else ("broker",)


def kafka_nodes(nodes: Iterable[ServingNode]) -> tuple[KafkaNode, ...]:
    """Those of the nodes that run Kafka: all or none."""
    return tuple(node for node in nodes if isinstance(node, KafkaNode))


def bootstrap(nodes: Sequence[ServingNode]) -> str:
    """The addresses of all brokers, from which clients learn of the cluster."""
    return ",".join(node.client_address for node in nodes if node.is_broker)


def check_cluster(experiment: Experiment, plan: Plan) -> list[Mistake]:
    """Mistakes that can be found only when every broker has its host: two brokers that need the same port."""
    return find_shared_ports(plan_nodes(experiment, plan), CLIENT_PORT)


def find_shared_ports(nodes: Sequence[ServingNode], port: int) -> list[Mistake]:
    """A mistake for every node on a host that has another one already."""
    first: dict[str, ServingNode] = {}
    mistakes = []
    for node in nodes:
        other = first.setdefault(node.host, node)
        if other is not node:
            what = f"{other.name} has port {port} of {node.host} already"
            mistakes.append(Mistake(f"broker {node.name}", what, "put it on another host"))
    return mistakes


def topic_requests(experiment: Experiment, nodes: Sequence[KafkaNode]) -> list[dict[str, Any]]:
    """The topics as the admin client takes them.

    A preferred leader is the first of every replica list. Topics without a leader of their own get one in turn,
    partition by partition, if the placement says so; otherwise Kafka chooses.
    """
    brokers = [node for node in nodes if node.is_broker]
    turns = count() if experiment.placement.leaders == "round-robin" else None
    return [
        {
            "name": topic.name,
            "partitions": topic.partitions,
            "replicas": topic.replicas,
            "config": {key: property_text(value) for key, value in topic.config.items()},
            "assignment": assignment(topic, brokers, turns),
        }
        for topic in experiment.topics
    ]


def assignment(
    topic: Topic, brokers: Sequence[KafkaNode], turns: Iterator[int] | None = None
) -> list[list[int]] | None:
    """A replica list for each partition, with the preferred leader first; None if Kafka is to choose.

    The other replicas rotate from partition to partition. ``turns`` counts the partitions whose leader is the broker
    whose turn it is.
    """
    leader = next((node for node in brokers if topic.leader in (node.name, node.host)), None)
    if leader is not None:
        others = [node.id for node in brokers if node is not leader]
        return [
            [leader.id, *(others[(number + place) % len(others)] for place in range(topic.replicas - 1))]
            for number in range(topic.partitions)
        ]
    if turns is None:
        return None
    ids = [node.id for node in brokers]
    firsts = [next(turns) for _ in range(topic.partitions)]
    return [[ids[(first + place) % len(ids)] for place in range(topic.replicas)] for first in firsts]


def property_text(value: str | int | float | bool) -> str:
    """The value of a property as Java writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def property_texts(properties: Mapping[str, str | int | float | bool]) -> dict[str, str]:
    """All values as Java writes them."""
    return {key: property_text(value) for key, value in properties.items()}
