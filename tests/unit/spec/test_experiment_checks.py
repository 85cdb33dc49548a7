"""What a well-formed experiment can still get wrong, and how it is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from stream2gym.spec.checks.experiment_checks import check_experiment
from stream2gym.spec.model import Broker, Experiment, Producer, Topology
from tests.support.loading import Load, Mistakes

TOP = "topology: {hosts: [h1, h2, h3], switches: [s1], links: [h1 -- s1, h2 -- s1, h3 -- s1]}\n"
PIPE = TOP + "brokers: [{on: h1}, {on: h2}]\ntopics: [in, out]\n"

CASES = {
    "a link to nowhere": ("topology: {hosts: [h1], links: [h1 -- s7]}", "no host or switch 's7'"),
    "a link to itself": ("topology: {hosts: [h1], links: [h1 -- h1]}", "linked to itself"),
    "two links between a pair": ("topology: {hosts: [a, b], links: [a -- b, b -- a]}", "two links b -- a"),
    "two nodes of one name": ("topology: {hosts: [h1], switches: [h1]}", "taken by another node"),
    "a port used twice": (
        "topology: {hosts: [a, b, c], links: ['a -- b: ports 1/1', 'a -- c: ports 1/1']}", "port 1 of a is used"),
    "no hosts": ("topology: {switches: [s1]}", "no hosts"),
    "an address that is none": ("topology: {hosts: [{name: a, address: 10.0.0.256}]}", "not an IPv4 address"),
    "an address for two": (
        "topology: {hosts: [{name: a, address: 10.1.0.1}, {name: b, address: 10.1.0.1}]}", "address of a already"),
    "a loopback address": ("topology: {hosts: [{name: a, address: 127.0.0.1}]}", "cannot be the address"),
    "a component on a switch": (TOP + "brokers: [{on: s1}]", "s1 is a switch"),
    "a component on no host": (TOP + "brokers: [{on: h9}]", "no host 'h9'"),
    "two brokers on a host": (TOP + "brokers: [{on: h1}, {on: h1, name: b}]", "h1 has the broker broker-h1"),
    "two of one name": (PIPE + "consumers: [{name: x, topics: [in]}]\nsources: [{name: x, lines: 5}]", "taken by a"),
    "the name of a node": (PIPE + "consumers: [{name: h3, topics: [in]}]", "name of the node h3"),
    "topics that Kafka takes for one": (PIPE.replace("[in,", "[a.b, a_b, in,"), "'.' and '_' alone"),
    "topics without a broker": (TOP + "topics: [in]", "topics but no broker"),
    "replicas without brokers": (PIPE.replace("[in,", "[{name: in, replicas: 3},"), "only 2"),
    "a leader that is no broker": (PIPE.replace("[in,", "[{name: in, leader: h3},"), "'h3'"),
    "an old Kafka": (PIPE + "kafka: {version: 2.8.0}", "not a version of Kafka"),
    "a producer without topic": (PIPE + "producers: [{on: h1}]", "needs a topic"),
    "a topic nobody declared": (PIPE + "producers: [{on: h1, topic: ni}]", "no topic 'ni'"),
    "a producer without its file": (PIPE + "producers: [{on: h1, topic: in, type: SFST}]", "needs a file"),
    "a file that is missing": (PIPE + "producers: [{topic: in, type: SFST, file: a.txt}]", "'a.txt' does not exist"),
    "a file where a folder is meant": (PIPE + "producers: [{topic: in, type: MFST, file: here}]", "not a folder"),
    "a file that nobody reads": (PIPE + "producers: [{topic: in, file: here}]", "reads no file"),
    "an observed built-in client": (PIPE + "consumers: [{topics: [in], observe: wire}]", "records by itself"),
    "an engine recorded from inside": (PIPE + "engines: [{app: here, observe: true}]", "observe: wire"),
    "an observed worker": (
        PIPE + "engines: [{name: m, type: spark-master}, {type: spark-worker, master: m, observe: wire}]",
        "observe: wire on the job",
    ),
    "an observed engine without broker": (TOP + "engines: [{app: here, observe: wire}]", "no packets to decode"),
    "what an unobserved engine sent": (
        PIPE + "engines: [{name: job, app: here}]\nexpect: [sent(producer=job) > 0]",
        "job is an engine that is not observed (observe: wire",
    ),
    "a custom one without program": (PIPE + "consumers: [{type: CUSTOM}]", "needs a program"),
    "a grace of a built-in consumer": (PIPE + "consumers: [{topics: [in], grace: 3 s}]", "only a program of yours"),
    "bursts without lengths": (PIPE + "producers: [{topic: in, rate: 1/s, arrivals: bursts}]", "bursts need"),
    "sizes without bounds": (PIPE + "producers: [{topic: in, size: {kind: uniform}}]", "uniform sizes need"),
    "idempotence with one ack": (PIPE + "producers: [{topic: in, idempotence: true}]", "acks from all"),
    "a consumer of nothing": (PIPE + "consumers: [{on: h1}]", "needs topics or a pattern"),
    "a pattern that is none": (PIPE + "consumers: [{pattern: '('}]", "not a regular expression"),
    "a client without broker": (TOP + "consumers: [{pattern: x}]", "no broker to talk to"),
    "an engine without program": (TOP + "engines: [{on: h1}]", "needs a program"),
    "a worker without master": (TOP + "engines: [{type: spark-worker, master: m}]", "no spark-master 'm'"),
    "a setting of another type": (TOP + "stores: [{on: h1, type: rocksdb, port: 5}]", "unknown key 'port' of store"),
    "a sink without store": (PIPE + "sinks: [{topics: [in], store: db}]", "no store 'db'"),
    "two on one port": (TOP + "stores: [{on: h1}, {on: h1, type: mariadb}]", "port 3306 of h1 is taken"),
    "a source on a broker's port": (PIPE + "sources: [{on: h1, port: 9092, lines: 5}]", "port 9092 of h1"),
    "a trace of no topic": (PIPE + "trace: [{from: in, to: nowhere}]", "no topic 'nowhere'"),
    "a trace by magic": (PIPE + "trace: [{from: in, to: out, by: magic}]", "no way to recognise"),
    "a constraint that is two": (
        PIPE + "placement: {constraints: [{colocate: ['*'], isolate: ['*']}]}", "exactly one of"),
    "a constraint on nobody": (PIPE + "placement: {constraints: [{colocate: [nobody]}]}", "no component"),
    "a fault on nothing": (TOP + "faults: [{do: down, on: h1 -- h2, at: 1 s}]", "no link 'h1 -- h2'"),
    "a fault without target": (TOP + "faults: [{do: down, at: 1 s}]", "needs a target"),
    "a fault without time": (TOP + "faults: [{do: down, on: h1 -- s1}]", "when it starts"),
    "a fault with two times": (TOP + "faults: [{do: down, on: h1 -- s1, at: 1 s, when: lag > 5}]", "at and when"),
    "a fault after the end": (TOP + "faults: [{do: down, on: h1 -- s1, at: 20 s}]", "is over"),
    "a fault after no fault": (TOP + "faults: [{do: down, on: h1 -- s1, after: cut}]", "no other fault"),
    "a fault on the wrong thing": (TOP + "faults: [{do: kill, on: h1, at: 1 s}]", "h1 is a host, but kill"),
    "a fault that changes nothing": (TOP + "faults: [{do: degrade, on: h1 -- s1, at: 1 s}]", "changes nothing"),
    "an impossible fault": (
        TOP + "stores: [{on: h1, type: rocksdb}]\nfaults: [{do: kill, on: store-h1-1, at: 1 s}]", "cannot act on"),
    "two faults of one name": (
        TOP + "faults: [{name: a, do: isolate, on: h1, at: 1 s}, {name: a, do: isolate, on: h2, at: 1 s}]",
        "two faults"),
    "a move to no switch": (TOP + "faults: [{do: move, on: h1, at: 1 s, to: s9}]", "no switch 's9'"),
    "an unknown metric": (TOP + "expect: [lst == 0]", "lst"),
    "an expectation of no topic": (PIPE + "expect: ['throughput(topic=xx) > 5/s']", "xx"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_it_tells_of(mistakes: Mistakes, tmp_path: Path, case: str) -> None:
    (tmp_path / "here").write_text("x")
    text, told = CASES[case]
    assert told in "\n".join(map(str, mistakes(text + "\n")))


def test_given_paths_must_follow_links(mistakes: Mistakes) -> None:
    routing = "{by: given, paths: {h1 -> h2: [s1], h1 -> h3: [h2]}}"
    found = mistakes(TOP.replace("]}", f"], routing: {routing}}}"))
    assert [mistake.what for mistake in found] == [
        "the path needs a link h1 -- h2, which does not exist",
        "the path needs a link h2 -- h3, which does not exist",
    ]


@pytest.mark.parametrize(
    "target",
    [
        "broker-h1",
        "broker-*",
        "leader of in",
        "follower of in/0",
        "controller",
        "coordinator of g",
        "random 2 of broker-*",
    ],
)
def test_components_can_be_named_by_name_glob_and_role(load: Load, target: str) -> None:
    experiment = load(PIPE + f"faults: [{{do: kill, on: '{target}', at: 1 s, for: 2 s}}]\n").experiment
    assert experiment.faults[0].on == [target]


@pytest.mark.parametrize("target", ["h1 -- s1", "s1 -- h1", "* -- s1", "busiest 2 links", "random 1 of h* -- s1"])
def test_links_can_be_named_in_either_order_and_by_glob(load: Load, target: str) -> None:
    assert load(TOP + f"faults: [{{do: down, on: '{target}', at: 1 s}}]\n").experiment.faults[0].do == "down"


def test_links_whose_packets_are_wanted_must_be_there(mistakes: Mistakes, load: Load) -> None:
    assert load(TOP + "capture: h1 -- s1\n").experiment.capture == ["h1 -- s1"]
    (found,) = mistakes(TOP + "capture: [h1 -- s1, h1 -- s7]\n")
    assert (found.what, found.hint) == ("there is no link 'h1 -- s7'", "did you mean 'h1 -- s1'?")


def test_components_get_names_from_kind_and_host(load: Load) -> None:
    on_h1 = "{on: h1, topic: in}, {on: h1, topic: in}, {topic: in}"
    on_h2 = "{name: producer-h2-1, on: h2, topic: in}, {on: h2, topic: in}"
    text = PIPE + f"producers: [{on_h1}, {on_h2}]\n"
    names = [producer.name for producer in load(text).experiment.producers]
    assert names == ["producer-h1-1", "producer-h1-2", "producer-1", "producer-h2-1", "producer-h2-2"]


def test_a_broken_host_does_not_make_others_look_wrong(mistakes: Mistakes) -> None:
    found = mistakes(
        "topology: {hosts: [{name: h1, cpu: 900 %}, {nme: h2}], links: [h1 -- h2]}\nbrokers: [{on: h1}]\n"
    )
    assert {mistake.where for mistake in found} == {
        "topology.hosts.h1.cpu", "topology.hosts.1", "topology.hosts.1.nme", "topology.links.h1 -- h2",
    }  # fmt: skip


def test_the_python_door_meets_the_same_checks(tmp_path: Path) -> None:
    experiment = Experiment(
        topology=Topology.model_validate({"kind": "star", "hosts": 2}),
        brokers=[Broker(on="h1"), Broker(on="h3")],
        producers=[Producer(topic="nowhere")],
    )
    told = {(mistake.where, mistake.what) for mistake in check_experiment(experiment, tmp_path)}
    assert told == {
        ("brokers.broker-h3.on", "there is no host 'h3'"),
        ("producers.producer-1.topic", "there is no topic 'nowhere'"),
    }


def test_a_part_used_in_two_experiments_keeps_the_name_of_neither() -> None:
    broker = Broker(on="h1")
    assert Experiment(brokers=[broker]).brokers[0].name == "broker-h1"
    assert broker.name is None
