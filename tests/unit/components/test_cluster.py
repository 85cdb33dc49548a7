"""Who the brokers are: ids, roles, addresses, preferred leaders."""

from __future__ import annotations

from typing import Any

from stream2gym.components.broker import broker_properties
from stream2gym.components.cluster import (
    KafkaNode,
    bootstrap,
    check_cluster,
    node_ids,
    plan_nodes,
    topic_requests,
)
from stream2gym.components.topics import bootstrap_for, groups_of, topics_of
from stream2gym.plan.make_plan import make_plan
from stream2gym.plan.planned import Plan
from stream2gym.spec.model import Experiment


def planned(**parts: Any) -> tuple[Experiment, Plan]:
    experiment = Experiment.model_validate({"topology": {"kind": "star", "hosts": 4}, **parts})
    return experiment, make_plan(experiment)


def node(number: int, *roles: str) -> KafkaNode:
    return KafkaNode(f"b{number}", f"h{number}", f"10.0.0.{number}", number, roles or ("broker", "controller"))


def test_a_broker_has_the_number_of_its_host() -> None:
    assert node_ids(["h3", "h12", "h1"]) == [3, 12, 1]


def test_brokers_are_counted_when_host_names_give_no_numbers_of_their_own() -> None:
    assert node_ids(["paris", "rome"]) == [1, 2]
    assert node_ids(["a1", "b1"]) == [1, 2]
    assert node_ids(["h0", "h1"]) == [1, 2]


def test_the_first_three_brokers_vote_and_the_rest_only_serve() -> None:
    experiment, plan = planned(brokers=[{"on": f"h{n}"} for n in (1, 2, 3, 4)])
    assert [one.votes for one in plan_nodes(experiment, plan)] == [True, True, True, False]


def test_a_controller_on_a_host_of_its_own_serves_no_clients() -> None:
    experiment, plan = planned(brokers=[{"on": "h1", "controller": "only"}, {"on": "h2"}])
    first, second = plan_nodes(experiment, plan)
    assert first.roles == ("controller",)
    assert second.roles == ("broker",)
    assert bootstrap([first, second]) == "10.0.0.2:9092"


def test_two_brokers_placed_on_one_host_want_the_same_port() -> None:
    experiment = Experiment.model_validate(
        {"topology": {"kind": "star", "hosts": 1}, "brokers": [{"name": "a"}, {"name": "b"}]}
    )
    [mistake] = check_cluster(experiment, make_plan(experiment))
    assert "9092" in mistake.what
    assert "broker b" in mistake.where


def test_the_preferred_leader_comes_first_in_every_replica_list() -> None:
    experiment, plan = planned(
        brokers=[{"on": f"h{n}"} for n in (1, 2, 3)],
        topics=[{"name": "t", "partitions": 3, "replicas": 2, "leader": "h2"}, {"name": "u"}],
    )
    led, free = topic_requests(experiment, plan_nodes(experiment, plan))
    assert [replicas[0] for replicas in led["assignment"]] == [2, 2, 2]
    assert all(len(set(replicas)) == 2 for replicas in led["assignment"])
    assert free["assignment"] is None


def test_leaders_in_turn_give_every_broker_as_many_partitions_and_leave_given_leaders_alone() -> None:
    experiment, plan = planned(
        brokers=[{"on": f"h{n}"} for n in (1, 2, 3)],
        topics=[
            *({"name": f"t{n}", "partitions": 2, "replicas": 2} for n in range(3)),
            {"name": "u", "leader": "h2", "replicas": 2},
        ],
        placement={"leaders": "round-robin"},
    )
    *turns, given = topic_requests(experiment, plan_nodes(experiment, plan))
    assert [[replicas[0] for replicas in topic["assignment"]] for topic in turns] == [[1, 2], [3, 1], [2, 3]]
    assert all(len(set(replicas)) == 2 for topic in turns for replicas in topic["assignment"])
    assert given["assignment"][0][0] == 2


def test_properties_of_the_user_win_over_everything_else() -> None:
    nodes = [node(1), node(2)]
    asked = {"num.io.threads": 7, "auto.create.topics.enable": True}
    properties = broker_properties(nodes[0], nodes, "/tmp/work/b1", asked)
    assert properties["num.io.threads"] == "7"
    assert properties["auto.create.topics.enable"] == "true"
    assert properties["offsets.topic.replication.factor"] == "2"
    assert properties["advertised.listeners"].startswith("PLAINTEXT://10.0.0.1:9092")
    assert properties["controller.quorum.voters"] == "1@10.0.0.1:9093,2@10.0.0.2:9093"


def test_clients_begin_with_the_broker_that_the_published_format_names() -> None:
    experiment, plan = planned(
        brokers=[{"on": "h1"}, {"on": "h2"}], topics=[{"name": "t", "via": "h2"}, {"name": "u"}]
    )
    nodes = plan_nodes(experiment, plan)
    assert bootstrap_for(experiment, nodes, ["t"]) == "10.0.0.2:9092"
    assert bootstrap_for(experiment, nodes, ["u"]) == "10.0.0.1:9092,10.0.0.2:9092"


def test_without_a_group_every_instance_of_every_consumer_has_its_own() -> None:
    experiment, plan = planned(
        consumers=[
            {"name": "a", "on": "h1", "topics": ["t"], "instances": 2},
            {"name": "b", "on": "h1", "topics": ["t"]},
            {"name": "c", "on": "h2", "topics": ["t"], "group": "g", "instances": 2},
        ]
    )
    groups = groups_of(experiment, plan)
    assert groups["a"] == ["group-1-instance1", "group-1-instance2"]
    assert groups["c"] == ["g", "g"]
    assert len({*groups["a"], *groups["b"]}) == 3


def test_a_pattern_stands_for_the_topics_that_it_matches() -> None:
    experiment, _ = planned(
        topics=["in-1", "in-2", "out"], consumers=[{"name": "a", "on": "h1", "pattern": "^in-.*"}]
    )
    assert topics_of(experiment.consumers[0], experiment) == ["in-1", "in-2"]
