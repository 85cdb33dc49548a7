"""The nodes of the RabbitMQ cluster of a plan: their configuration, and the queues that hold topics. Pure.

A topic is a fanout exchange. In a topic of classic or quorum queues each group has a queue of its own, which is bound
to the exchange and named ``TOPIC.GROUP``. A topic that is a stream has one queue, named like the topic, which
everybody reads.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from stream2gym.components.cluster import find_shared_ports, node_ids, property_text
from stream2gym.components.topics import groups_of, topics_of
from stream2gym.errors import Mistake
from stream2gym.plan.planned import Plan
from stream2gym.spec.model import Experiment, Topic

CLIENT_PORT = 5672
# Nodes talk to each other here. Erlang's own name service listens on 4369.
NODE_PORT = 25672
COOKIE = "stream2gym"
DEFAULT_QUEUE = "quorum"


@dataclass(frozen=True)
class RabbitMqNode:
    """A node of the RabbitMQ cluster."""

    name: str
    host: str
    address: str
    id: int
    # As KafkaNode has it: every node serves clients.
    is_broker: bool = True

    @property
    def client_address(self) -> str:
        return f"{self.address}:{CLIENT_PORT}"

    @property
    def erlang_name(self) -> str:
        return f"rabbit@{self.address}"


@dataclass(frozen=True)
class GroupQueue:
    """The queue that a group reads a topic from."""

    topic: str
    group: str
    name: str
    kind: str


def plan_rabbitmq_nodes(experiment: Experiment, plan: Plan) -> tuple[RabbitMqNode, ...]:
    """Every node of the cluster, in the order of the experiment."""
    placed = {part.name: part.host for part in plan.components}
    addresses = {host.name: host.address for host in plan.network.hosts}
    names = [str(broker.name) for broker in experiment.brokers if broker.type == "rabbitmq"]
    hosts = [placed[name] for name in names]
    return tuple(
        RabbitMqNode(name, host, addresses[host], number)
        for name, host, number in zip(names, hosts, node_ids(hosts), strict=True)
    )


def check_rabbitmq_cluster(experiment: Experiment, plan: Plan) -> list[Mistake]:
    """Mistakes that can be found only when every broker has its host: two nodes that need the same port."""
    return find_shared_ports(plan_rabbitmq_nodes(experiment, plan), CLIENT_PORT)


def queue_kind(topic: Topic) -> str:
    """What holds the messages of a topic: quorum, classic or stream."""
    return topic.queue or DEFAULT_QUEUE


def queue_name(topic: str, group: str, kind: str) -> str:
    """The queue that a group reads a topic from: its own, or the stream that everybody reads."""
    return topic if kind == "stream" else f"{topic}.{group}"


def queue_topics(experiment: Experiment) -> dict[str, str]:
    """The topics that are classic or quorum queues, each with its kind: their messages have no offsets."""
    if not experiment.uses_rabbitmq:
        return {}
    return {topic.name: queue_kind(topic) for topic in experiment.topics if queue_kind(topic) != "stream"}


def group_queues(experiment: Experiment, plan: Plan) -> list[GroupQueue]:
    """The queue of every group of recording consumers in each of its topics."""
    kinds = {topic.name: queue_kind(topic) for topic in experiment.topics}
    groups = groups_of(experiment, plan)
    found: dict[tuple[str, str], GroupQueue] = {}
    for consumer in experiment.consumers:
        if consumer.app is None:
            for topic in topics_of(consumer, experiment):
                for group in groups[str(consumer.name)]:
                    name = queue_name(topic, group, kinds[topic])
                    found.setdefault((topic, group), GroupQueue(topic, group, name, kinds[topic]))
    return list(found.values())


def topic_requests(
    experiment: Experiment, nodes: Sequence[RabbitMqNode], queues: Sequence[GroupQueue]
) -> list[dict[str, Any]]:
    """The topics with their queues as the admin client takes them.

    The node that is asked to make a queue leads it: the one that the topic names, or else the nodes in turn.
    """
    turns = count()
    requests = []
    for topic in experiment.topics:
        named = [at for at, node in enumerate(nodes) if topic.leader in (node.name, node.host)]
        names = [queue.name for queue in queues if queue.topic == topic.name]
        if queue_kind(topic) == "stream":
            names = [topic.name]
        made = [
            {
                "name": name,
                "via": named[0] if named else next(turns) % len(nodes),
                "arguments": queue_arguments(topic),
            }
            for name in dict.fromkeys(names)
        ]
        requests.append({"name": topic.name, "queues": made})
    return requests


def queue_arguments(topic: Topic) -> dict[str, Any]:
    """The arguments of the queues of a topic: its kind, its replicas, and what the user gives."""
    kind = queue_kind(topic)
    size = {"quorum": "x-quorum-initial-group-size", "stream": "x-initial-cluster-size"}.get(kind)
    return {"x-queue-type": kind, **({size: topic.replicas} if size else {}), **topic.config}


def has_mirrors(experiment: Experiment) -> bool:
    """Whether a classic queue has copies on several nodes, which versions before 4 offer."""
    return any(queue_kind(topic) == "classic" and topic.replicas > 1 for topic in experiment.topics)


def make_definitions(experiment: Experiment, queues: Sequence[GroupQueue]) -> str:
    """What every node loads at its first start: the user, and a policy for each classic queue with copies."""
    policies = []
    for topic in experiment.topics:
        names = [re.escape(queue.name) for queue in queues if queue.topic == topic.name]
        if queue_kind(topic) == "classic" and topic.replicas > 1 and names:
            definition = {"ha-mode": "exactly", "ha-params": topic.replicas, "ha-sync-mode": "automatic"}
            policies.append(
                {
                    "vhost": "/", "name": f"copies of {topic.name}", "pattern": f"^({'|'.join(names)})$",
                    "apply-to": "queues", "definition": definition, "priority": 0,
                }
            )  # fmt: skip
    everything = {"configure": ".*", "write": ".*", "read": ".*"}
    return json.dumps(
        {
            "users": [{"name": "guest", "password": "guest", "tags": "administrator"}],
            "vhosts": [{"name": "/"}],
            "permissions": [{"user": "guest", "vhost": "/", **everything}],
            "policies": policies,
        }
    )


def node_settings(
    nodes: Sequence[RabbitMqNode],
    folder: str,
    partition_handling: str | None,
    asked: Mapping[str, str | int | float | bool],
) -> dict[str, str]:
    """The lines of ``rabbitmq.conf``: ours, overridden by the user's."""
    settings = {
        "listeners.tcp.1": f"0.0.0.0:{CLIENT_PORT}",
        "loopback_users": "none",
        "load_definitions": f"{folder}/definitions.json",
        # The storage of a host is memory: small files, and an alarm only when it is nearly full.
        "disk_free_limit.absolute": "10MB",
        "raft.wal_max_size_bytes": str(16 * 1024**2),
    }
    if len(nodes) > 1:
        settings["cluster_formation.peer_discovery_backend"] = "classic_config"
        for number, node in enumerate(nodes, 1):
            settings[f"cluster_formation.classic_config.nodes.{number}"] = node.erlang_name
        settings["cluster_partition_handling"] = partition_handling or "ignore"
    return settings | {key: property_text(value) for key, value in asked.items()}


def settings_text(settings: Mapping[str, str]) -> str:
    """The text of ``rabbitmq.conf``."""
    return "".join(f"{key} = {value}\n" for key, value in settings.items())


def node_environment(node: RabbitMqNode, folder: str) -> dict[str, str]:
    """The variables that tell the start script who the node is and where its files are."""
    return {
        "HOME": folder,
        "RABBITMQ_CONF_ENV_FILE": "/dev/null",
        "RABBITMQ_NODENAME": node.erlang_name,
        "RABBITMQ_USE_LONGNAME": "true",
        "RABBITMQ_DIST_PORT": str(NODE_PORT),
        "RABBITMQ_MNESIA_BASE": f"{folder}/data",
        "RABBITMQ_LOG_BASE": f"{folder}/log",
        "RABBITMQ_LOGS": "-",
        "RABBITMQ_ENABLED_PLUGINS_FILE": f"{folder}/plugins",
        "RABBITMQ_CONFIG_FILE": f"{folder}/rabbitmq.conf",
        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": f"-setcookie {COOKIE}",
        # Then the start script becomes Erlang, so that a signal reaches it.
        "RUNNING_UNDER_SYSTEMD": "true",
    }
