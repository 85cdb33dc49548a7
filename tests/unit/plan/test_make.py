"""The whole plan, from an experiment."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from stream2gym.errors import BadInput
from stream2gym.plan.make_plan import make_plan
from stream2gym.plan.planned import Plan
from stream2gym.spec.model import Experiment


def experiment(**parts: Any) -> Experiment:
    topology = {
        "hosts": ["h1", "h2", "h3"],
        "switches": ["s1", "s2"],
        "links": ["h1 -- s1: 5 ms, 100 Mbps", "h2 -- s2: 2 ms", "h3 -- s2", "s1 -- s2: 10 ms, 10 Mbps"],
    }
    return Experiment.model_validate({"topology": topology, **parts})


def star(count: int, **parts: Any) -> Experiment:
    hosts = [f"h{n}" for n in range(1, count + 1)]
    topology = {"hosts": hosts, "switches": ["s1"], "links": [f"{host} -- s1" for host in hosts]}
    return Experiment.model_validate({"topology": topology, **parts})


def test_without_components_every_pair_of_hosts_has_a_path() -> None:
    plan = make_plan(experiment())
    assert [(view.source, view.target) for view in plan.paths] == [("h1", "h2"), ("h1", "h3"), ("h2", "h3")]
    first = plan.paths[0]
    assert first.nodes == ("h1", "s1", "s2", "h2")
    assert first.rtt_ms == pytest.approx(34.0)
    assert first.bottleneck_bps == 10e6
    assert plan.warnings == ()


def test_with_components_only_those_that_talk_have_one() -> None:
    plan = make_plan(
        experiment(
            brokers=[{"on": "h2"}],
            producers=[{"name": "gen", "on": "h1", "instances": 2}, {"on": "h2"}],
            stores=[{"name": "db", "on": "h3"}],
            engines=[{"name": "job", "on": "h1"}],
            sinks=[{"name": "sink", "on": "h2", "store": "db"}],
        )
    )
    assert [(view.source, view.target) for view in plan.paths] == [("h2", "h3"), ("h1", "h2"), ("h1", "h3")]
    by_name = {component.name: component for component in plan.components}
    assert list(by_name) == ["broker-h2", "db", "sink", "job", "gen", "producer-h2-1"]
    assert by_name["job"].talks_to == ("broker-h2", "db")
    assert by_name["sink"].talks_to == ("broker-h2", "db")
    assert by_name["gen"].instances == 2


def test_components_without_a_host_are_placed_by_the_policy() -> None:
    plan = make_plan(experiment(brokers=[{}, {}], producers=[{"on": "h1"}], placement={"by": "round-robin"}))
    assert [(c.name, c.host, c.placed_by) for c in plan.components] == [
        ("broker-1", "h1", "round-robin"), ("broker-2", "h2", "round-robin"), ("producer-h1-1", "h1", "given"),
    ]  # fmt: skip


def test_the_nearest_host_is_near_in_milliseconds() -> None:
    plan = make_plan(
        experiment(
            brokers=[{"name": "b"}],
            producers=[{"on": "h3"}],
            placement={"by": "nearest", "hosts": ["h1", "h2"]},
        )
    )
    assert plan.components[0].host == "h2"


@pytest.mark.parametrize(
    ("brokers", "asked", "voters"),
    [
        ([{"on": "h1"}], 3, ["broker-h1"]),
        ([{"on": "h1"}, {"on": "h2"}], 3, ["broker-h1"]),
        ([{"on": f"h{n}"} for n in (3, 1, 2, 4)], 3, ["broker-h3", "broker-h1", "broker-h2"]),
        ([{"on": f"h{n}"} for n in (1, 2, 3, 4, 5)], 5, [f"broker-h{n}" for n in (1, 2, 3, 4, 5)]),
        ([{"on": "h1"}, {"on": "h2", "controller": True}], 3, ["broker-h2"]),
        ([{"on": "h1", "controller": False}, {"on": "h2"}], 3, ["broker-h2"]),
        ([{"on": "h1"}, {"on": "h2", "controller": "only"}], 3, ["controller-h2"]),
        ([{"on": f"h{n}", "controller": True} for n in (1, 2, 3, 4, 5)], 1, ["broker-h1"]),
    ],
)
def test_the_first_controllers_of_the_document_vote(brokers: list[Any], asked: int, voters: list[str]) -> None:
    plan = make_plan(star(5, brokers=brokers, kafka={"voters": asked}))
    assert list(plan.voters) == voters


def test_clients_do_not_talk_to_what_only_controls() -> None:
    plan = make_plan(star(3, brokers=[{"on": "h1"}, {"on": "h2", "controller": "only"}], consumers=[{"on": "h3"}]))
    talks = {component.name: component.talks_to for component in plan.components}
    assert talks["consumer-h3-1"] == ("broker-h1",)
    assert talks["broker-h1"] == ("controller-h2",)


def test_a_plan_survives_json_and_depends_on_nothing_but_experiment_and_seed() -> None:
    plan = make_plan(experiment(brokers=[{}], producers=[{}], placement={"by": "random"}), seed=7)
    assert plan.seed == plan.network.seed == 7
    assert Plan.from_json(json.loads(json.dumps(plan.to_json()))) == plan
    assert make_plan(experiment(brokers=[{}], producers=[{}], placement={"by": "random"}), seed=7) == plan


def test_parallel_links_get_names_of_their_own() -> None:
    plan = make_plan(
        Experiment.model_validate(
            {"topology": {"hosts": ["h1"], "switches": ["s1"], "links": ["h1 -- s1", "s1 -- h1", "h1 -- s1"]}}
        )
    )
    assert [link.name for link in plan.network.links] == ["h1 -- s1", "s1 -- h1 #2", "h1 -- s1 #3"]
    assert [(link.port_a, link.port_b) for link in plan.network.links] == [(1, 1), (2, 2), (3, 3)]


def test_the_observer_is_hidden_and_has_the_last_address() -> None:
    plan = make_plan(star(2))
    assert plan.network.observer is not None
    assert plan.network.observer.address == "10.255.255.254"
    assert plan.network.observer.name not in [host.name for host in plan.network.hosts]


def test_given_paths_may_leave_out_their_ends() -> None:
    parts = experiment().model_dump(by_alias=True)
    parts["topology"]["routing"] = {"by": "given", "paths": {"h1 -> h2": ["s1", "s2"]}}
    plan = make_plan(Experiment.model_validate(parts))
    assert plan.network.routing.given == {"h1 -> h2": ("h1", "s1", "s2", "h2")}


@pytest.mark.parametrize(
    ("paths", "message"),
    [
        ({"h1 -> h2": ["s1", "s3"]}, "'s3' is not a switch"),
        ({"h1 -> h3": ["s2"]}, "there is no link h1 -- s2"),
        ({"h1 -> h9": ["s1"]}, "'h9' is not a host"),
        ({"h1 h2": ["s1"]}, "not a pair of hosts"),
        ({"h1 -> h2": ["s1", "s2", "s1", "s2"]}, "contains a node twice"),
        ({"h1 -> h2": []}, "there is no link h1 -- h2"),
    ],
)
def test_a_given_path_that_cannot_be_is_a_mistake(paths: dict[str, list[str]], message: str) -> None:
    parts = experiment().model_dump(by_alias=True)
    parts["topology"]["routing"] = {"by": "given", "paths": paths}
    with pytest.raises(BadInput, match=message):
        make_plan(Experiment.model_validate(parts))


def test_all_mistakes_are_reported_at_once() -> None:
    with pytest.raises(BadInput) as caught:
        make_plan(
            experiment(
                brokers=[{"name": "b", "on": "h11"}],
                producers=[{"name": "b", "on": "h1"}],
                sinks=[{"store": "db"}],
                placement={"hosts": ["h7"], "constraints": [{"colocate": ["b"], "isolate": ["b"]}, {}]},
            )
        )
    assert len(caught.value.mistakes) == 6
    broken = {"hosts": ["h1", "h1"], "switches": ["s1"], "links": ["h1 -- s2", "s1 -- s1"]}
    with pytest.raises(BadInput) as caught:
        make_plan(Experiment.model_validate({"topology": broken}))
    assert len(caught.value.mistakes) == 3
    assert "known: h1, s1" in str(caught.value)


@pytest.mark.parametrize(
    ("link", "warning"),
    [
        ("h2 -- s1: 0 ms, 1 % reorder", "reordering has no effect"),
        ("h2 -- s1: 20 ms, 7 ms jitter", "jitter exceeds a third of the latency"),
        (
            {"between": ["h2", "s1"], "latency": "1 ms", "jitter": {"amount": "2 ms", "shape": "pareto"}},
            "jitter exceeds the latency",
        ),
        ("h2 -- s1: 100 % loss", "loses every packet"),
        ("h2 -- s1: 40 Gbps", "more than the fabric moves"),
        ("h2 -- s1: 100 kbps, 1000 packets queue", "a full queue delays packets for 120 s"),
        ("h2 -- s1: down", "down from the start"),
        ("h2 -- s1: mtu 1400", "takes packets up to 1400 bytes"),
        ({"between": ["h2", "s1"], "forward": {"mtu": 1400}}, "1400 bytes one way and 1500 the other"),
    ],
)
def test_what_was_probably_not_meant_is_said(link: Any, warning: str) -> None:
    topology = {"hosts": ["h1", "h2"], "switches": ["s1"], "links": ["h1 -- s1", link]}
    plan = make_plan(Experiment.model_validate({"topology": topology}))
    assert any(warning in text for text in plan.warnings), plan.warnings


@pytest.mark.parametrize("jitter", ["6 ms", {"amount": "19 ms", "shape": "uniform"}])
def test_jitter_that_leaves_every_delay_positive_is_no_reason_to_warn(jitter: Any) -> None:
    link = {"between": ["h2", "s1"], "latency": "20 ms", "jitter": jitter}
    topology = {"hosts": ["h1", "h2"], "switches": ["s1"], "links": ["h1 -- s1", link]}
    assert make_plan(Experiment.model_validate({"topology": topology})).warnings == ()


def test_pairs_without_a_way_are_reported() -> None:
    topology = {"hosts": ["h1", "h2", "h3"], "switches": ["s1", "s2"], "links": ["h1 -- s1", "h2 -- s2"]}
    plan = make_plan(Experiment.model_validate({"topology": topology}))
    assert plan.unreachable == (("h1", "h2"), ("h1", "h3"), ("h2", "h3"))
    assert "no link leads to h3" in plan.warnings
    assert any("has 2 parts without a connection" in text for text in plan.warnings)
    assert any("no path between h1 and h2" in text for text in plan.warnings)


def test_load_that_does_not_fit_through_the_network_is_said() -> None:
    plan = make_plan(
        experiment(
            brokers=[{"on": "h2"}],
            producers=[{"name": "gen", "on": "h1", "rate": "2000/s", "size": "1000 B", "instances": 2}],
        )
    )
    [warning] = plan.warnings
    assert "gen offers 32 Mbps" in warning
    assert "carries 10 Mbps" in warning


def test_hosts_that_ask_for_more_than_the_machine_has_are_said() -> None:
    hosts = [{"name": f"h{n}", "cpu": "50 %"} for n in (1, 2, 3)]
    plan = make_plan(Experiment.model_validate({"topology": {"hosts": hosts}}))
    assert any("150%" in text for text in plan.warnings)


def test_a_thousand_hosts_are_planned_in_well_under_a_second() -> None:
    described = star(1000)
    started = time.thread_time()  # of the CPU: other processes may use it meanwhile
    plan = make_plan(described)
    assert time.thread_time() - started < 1.0
    assert plan.pairs_left_out == 499_500 - len(plan.paths)


def test_copies_of_a_kafka_streams_program_are_told_that_they_do_not_share_its_work() -> None:
    keys = {"type": "kstreams", "app": "Count.java", "on": "h1", "name": "count", "copies": 2}
    (warning,) = make_plan(star(2, engines=[keys])).warnings
    assert warning.startswith("count-1, count-2 run Count.java as applications of their own")
    assert make_plan(star(2, engines=[{**keys, "application": "words"}])).warnings == ()
    assert make_plan(star(2, engines=[{**keys, "copies": 1}])).warnings == ()
