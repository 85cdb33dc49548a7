"""``--set``: values changed from outside, addressed by names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stream2gym.api import prepare
from stream2gym.errors import BadInput
from stream2gym.spec.loading import check_model
from stream2gym.spec.model import Broker, Experiment, Producer, Topic, Topology
from tests.support.loading import Load, Mistakes

TEXT = """\
topology: {hosts: [h1, h.2], switches: [s1], links: ["h1 -- s1: 5 ms", h.2 -- s1]}
brokers: [{on: h1, config: {num.io.threads: 2}}]
topics: [in]
producers: [{name: gen, on: h1, topic: in}, {on: h1, topic: in}]
faults: [{name: cut, do: degrade, on: h1 -- s1, at: 1 s, latency: 5 ms}]
"""


@pytest.mark.parametrize(
    ("key", "value", "path", "expected"),
    [
        ("time", "30 s", "time", 30.0),
        ("producers.gen.rate", "10/s", "producers.0.rate", 10.0),
        ("producers.0.rate", "10/s", "producers.0.rate", 10.0),
        ("producers.producer-h1-1.instances", "4", "producers.1.instances", 4),
        ("topology.links.h1 -- s1.latency", "9 ms", "topology.links.0.latency", pytest.approx(0.009)),
        ("topology.links.s1--h1.latency", "9 ms", "topology.links.0.latency", pytest.approx(0.009)),
        ("topology.links.1.forward.loss", "2 %", "topology.links.1.forward.loss", 0.02),
        ("topology.hosts.h.2.cpu", "20 %", "topology.hosts.1.cpu", 0.2),
        ("topics.in.partitions", "6", "topics.0.partitions", 6),
        ("brokers.broker-h1.config.num.io.threads", "8", "brokers.0.config", {"num.io.threads": 8}),
        ("brokers.broker-h1.config.log.dir", "x", "brokers.0.config", {"num.io.threads": 2, "log.dir": "x"}),
        ("kafka.version", "'4.0.0'", "kafka.version", "4.0.0"),
        ("faults.cut.latency", "9 ms", "faults.0.settings", {"latency": "9 ms"}),
        ("expect", "[lost == 0]", "expect", ["lost == 0"]),
        ("stores", "[{on: h1}]", "stores.0.on", "h1"),
    ],
)
def test_a_value_is_set_where_its_path_says(load: Load, key: str, value: str, path: str, expected: object) -> None:
    here: Any = load(TEXT, overrides={key: value}).experiment
    for step in path.split("."):
        here = here[int(step)] if step.isdecimal() else getattr(here, step)
    assert here == expected


@pytest.mark.parametrize(
    ("key", "told"),
    [
        ("tim", "did you mean 'time'?"),
        ("producers.gne.rate", "did you mean 'gen'?"),
        ("producers.gen.rte", "did you mean 'rate'?"),
        ("topology.links.h1 -- s2.latency", "did you mean"),
        ("time.x", "one value"),
        ("producers.7.rate", "known: "),
        ("", "known: "),
    ],
)
def test_a_path_that_names_nothing_is_told(mistakes: Mistakes, key: str, told: str) -> None:
    (mistake,) = mistakes(TEXT, overrides={key: "5"})
    assert mistake.file == "--set"
    assert told in str(mistake)


def test_a_bad_value_names_the_option_not_the_file(mistakes: Mistakes) -> None:
    (mistake,) = mistakes(TEXT, overrides={"producers.gen.rate": "fast"})
    assert (mistake.file, mistake.line, mistake.where) == ("--set", None, "producers.gen.rate")


def test_options_of_a_generator_can_be_set_and_its_links_too(load: Load) -> None:
    star = "topology: {kind: star, hosts: 3}\n"
    assert len(load(star, overrides={"topology.hosts": "5"}).experiment.topology.hosts) == 5
    slow = load(star, overrides={"topology.links.h2 -- s1.latency": "50 ms"}).experiment
    assert [link.latency for link in slow.topology.links] == [None, 0.05, None]


def test_published_experiments_are_overridden_the_same_way(published: Load) -> None:
    loaded = published("forms", overrides={"producers.producer-h4-1.rate": "99/s", "time": "1 min"})
    assert loaded.experiment.producers[3].rate == 99
    assert loaded.experiment.time == 60


def built(**keys: Any) -> Experiment:
    return Experiment(
        topology=Topology(hosts=["h1"]),
        brokers=[Broker(on="h1")],
        topics=[Topic(name="in")],
        producers=[Producer(name="gen", on="h1", topic="in")],
        **keys,
    )


def test_an_experiment_built_in_python_is_overridden_by_the_same_paths(tmp_path: Path) -> None:
    changes = {"producers.gen.rate": "99/s", "time": "7 s", "topics.in.partitions": 3}
    changed = check_model(built(), changes, tmp_path)
    assert (changed.producers[0].rate, changed.time, changed.topics[0].partitions) == (99, 7, 3)


@pytest.mark.parametrize(
    ("changes", "where", "what"),
    [
        ({"producers.gen.rte": "99/s"}, "producers.gen.rte", "there is no 'rte' here"),
        ({"producers.gen.rate": "fast"}, "producers.gen.rate", "not a rate"),
        ({"time": "soon"}, "time", "not a duration"),
        ({"producers.gen.topic": "out"}, "producers.gen.topic", "there is no topic 'out'"),
    ],
)
def test_a_wrong_override_of_an_experiment_built_in_python_is_our_mistake(
    changes: dict[str, str], where: str, what: str
) -> None:
    with pytest.raises(BadInput) as caught:
        prepare(built(), overrides=changes)
    [mistake] = caught.value.mistakes
    assert mistake.where == where
    assert what in mistake.what
