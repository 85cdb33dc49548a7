"""The nodes of a RabbitMQ cluster, and the queues that hold topics."""

from __future__ import annotations

import json
from typing import Any

import pytest

from stream2gym.components.rabbitmq_cluster import (
    GroupQueue,
    RabbitMqNode,
    check_rabbitmq_cluster,
    group_queues,
    make_definitions,
    node_environment,
    node_settings,
    plan_rabbitmq_nodes,
    queue_arguments,
    queue_topics,
    topic_requests,
)
from stream2gym.components.topics import bootstrap_for
from stream2gym.plan.make_plan import make_plan
from stream2gym.spec.model import Experiment, Topic

THREE = {"kind": "star", "hosts": 3}


def experiment(**parts: Any) -> Experiment:
    defaults: dict[str, Any] = {
        "topology": THREE,
        "brokers": [{"on": "h1", "type": "rabbitmq"}, {"on": "h2", "type": "rabbitmq"}],
    }
    return Experiment.model_validate(defaults | parts)


def queues_of(made: Experiment) -> list[GroupQueue]:
    return group_queues(made, make_plan(made))


def test_a_node_is_named_after_its_address_and_numbered_after_its_host() -> None:
    made = experiment()
    nodes = plan_rabbitmq_nodes(made, make_plan(made))
    assert [(node.name, node.host, node.id, node.erlang_name) for node in nodes] == [
        ("broker-h1", "h1", 1, "rabbit@10.0.0.1"),
        ("broker-h2", "h2", 2, "rabbit@10.0.0.2"),
    ]
    assert nodes[0].client_address == "10.0.0.1:5672"


def test_two_nodes_cannot_share_a_host() -> None:
    made = experiment(
        topology={"kind": "star", "hosts": 1}, brokers=[{"name": name, "type": "rabbitmq"} for name in ("a", "b")]
    )
    [mistake] = check_rabbitmq_cluster(made, make_plan(made))
    assert "port 5672 of h1" in mistake.what


def test_every_group_has_a_queue_of_its_own_and_a_stream_is_read_by_all() -> None:
    made = experiment(
        topics=["orders", {"name": "log", "queue": "stream"}],
        consumers=[
            {"name": "a", "on": "h3", "topics": ["orders", "log"], "group": "g", "instances": 1},
            {"name": "b", "on": "h3", "topics": ["orders"], "instances": 2},
            {"name": "mine", "on": "h3", "topics": ["orders"], "type": "CUSTOM", "app": "x.py"},
        ],
    )
    assert [(queue.name, queue.kind) for queue in queues_of(made)] == [
        ("orders.g", "quorum"),
        ("log", "stream"),
        ("orders.group-3-instance1", "quorum"),
        ("orders.group-3-instance2", "quorum"),
    ]
    assert queue_topics(made) == {"orders": "quorum"}


def test_kafka_has_no_queues() -> None:
    assert queue_topics(experiment(brokers=[{"on": "h1"}], topics=["t"])) == {}


@pytest.mark.parametrize(
    ("queue", "wanted"),
    [
        (None, {"x-queue-type": "quorum", "x-quorum-initial-group-size": 2, "x-max-length": 9}),
        ("classic", {"x-queue-type": "classic", "x-max-length": 9}),
        ("stream", {"x-queue-type": "stream", "x-initial-cluster-size": 2, "x-max-length": 9}),
    ],
)
def test_a_queue_has_its_kind_its_replicas_and_the_arguments_of_the_user(queue: Any, wanted: dict[str, Any]) -> None:
    assert queue_arguments(Topic(name="t", replicas=2, queue=queue, config={"x-max-length": 9})) == wanted


def test_queues_are_led_by_the_node_that_the_topic_names_or_by_the_nodes_in_turn() -> None:
    made = experiment(
        topics=[{"name": "a", "leader": "h2"}, "b", {"name": "c", "queue": "stream"}],
        consumers=[{"name": f"c{n}", "on": "h3", "topics": ["a", "b"], "group": f"g{n}"} for n in (1, 2)],
    )
    nodes = plan_rabbitmq_nodes(made, make_plan(made))
    asked = {topic["name"]: topic["queues"] for topic in topic_requests(made, nodes, queues_of(made))}
    assert [(queue["name"], queue["via"]) for queue in asked["a"]] == [("a.g1", 1), ("a.g2", 1)]
    assert [queue["via"] for queue in asked["b"]] == [0, 1]
    assert [queue["name"] for queue in asked["c"]] == ["c"], "a stream that nobody reads is made, too"


def test_classic_queues_with_replicas_have_copies_by_a_policy_and_others_have_none() -> None:
    made = experiment(
        topics=[{"name": "a.b", "queue": "classic", "replicas": 2}, {"name": "c", "queue": "classic"}, "d"],
        consumers=[{"name": "c1", "on": "h3", "topics": ["a.b", "c", "d"], "group": "g"}],
    )
    definitions = json.loads(make_definitions(made, queues_of(made)))
    [policy] = definitions["policies"]
    assert policy["pattern"] == r"^(a\.b\.g)$"
    assert policy["definition"]["ha-params"] == 2
    assert definitions["users"][0]["name"] == "guest"


def test_one_node_forms_no_cluster_and_several_say_how_they_handle_partitions() -> None:
    nodes = [RabbitMqNode(f"b{n}", f"h{n}", f"10.0.0.{n}", n) for n in (1, 2)]
    alone = node_settings(nodes[:1], "/w", "autoheal", {})
    assert not [key for key in alone if key.startswith("cluster")]
    together = node_settings(nodes, "/w", None, {"net_ticktime": 5, "loopback_users": "mine"})
    assert together["cluster_partition_handling"] == "ignore"
    assert together["cluster_formation.classic_config.nodes.2"] == "rabbit@10.0.0.2"
    assert (together["net_ticktime"], together["loopback_users"]) == ("5", "mine")
    assert node_settings(nodes, "/w", "autoheal", {})["cluster_partition_handling"] == "autoheal"


def test_a_node_keeps_its_files_in_its_own_folder() -> None:
    environment = node_environment(RabbitMqNode("b1", "h1", "10.0.0.1", 1), "/w/b1")
    assert environment["RABBITMQ_NODENAME"] == "rabbit@10.0.0.1"
    assert environment["RABBITMQ_MNESIA_BASE"].startswith("/w/b1/")


def test_a_client_speaks_to_the_node_on_its_own_host_first() -> None:
    made = experiment(topics=["t", {"name": "v", "via": "h1"}])
    nodes = plan_rabbitmq_nodes(made, make_plan(made))
    assert bootstrap_for(made, nodes, ["t"], near="h2") == "10.0.0.2:5672,10.0.0.1:5672"
    assert bootstrap_for(made, nodes, ["t"], near="h3") == "10.0.0.1:5672,10.0.0.2:5672"
    assert bootstrap_for(made, nodes, ["v"], near="h2") == "10.0.0.1:5672"
