"""From GraphML to YAML and back, losing nothing; what GraphML cannot say is named."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stream2gym.spec.loading import load_experiment
from stream2gym.spec.model import Experiment
from stream2gym.spec.writers.conversion import rebase, to_yaml
from stream2gym.spec.writers.graphml_writer import to_graphml
from stream2gym.spec.writers.short_form import format_quantity, shorten_experiment
from stream2gym.spec.writers.yaml_writer import write_yaml
from stream2gym.units import Share
from tests.support.loading import Load

COUNTS = st.integers(1, 9)
MS = st.integers(0, 5000).map(lambda n: f"{n} ms")
NAMES = st.from_regex(r"[a-z][a-z0-9.-]{0,8}[a-z0-9]", fullmatch=True)


def some(**keys: st.SearchStrategy) -> st.SearchStrategy:
    return st.fixed_dictionaries({}, optional=keys)


SAID = some(
    latency=MS, bandwidth=st.integers(1, 1000).map(lambda n: f"{n} Mbps"), loss=COUNTS.map(lambda n: f"{n} %"),
)  # fmt: skip
MORE = some(
    latency=st.floats(0, 1e4, allow_nan=False).map(lambda n: f"{n!r} ms"),
    jitter=MS | st.fixed_dictionaries({"amount": MS, "shape": st.sampled_from(["uniform", "pareto"])}),
    bandwidth=st.sampled_from(["unlimited", "5 kbps", "2.5 Gbps"]),
    loss=st.just({"to_bad": "1 %", "to_good": "30 %"}) | st.floats(0, 100).map(lambda n: f"{n!r} %"),
    duplicate=COUNTS.map(lambda n: f"{n} %"),
    queue=st.sampled_from(["100 packets", "64 KiB", 50]),
    mtu=st.integers(576, 9000),
    up=st.booleans(),
    ports=st.tuples(st.none() | COUNTS, st.none()),
    forward=SAID,
)
PROPERTIES = st.dictionaries(NAMES, st.integers() | st.booleans() | st.text(max_size=12), max_size=2)


@st.composite
def experiments(draw: st.DrawFn, *, rich: bool) -> Experiment:
    count = draw(st.integers(2, 5))
    hosts = [f"h{n}" for n in range(1, count + 1)]
    link = MORE if rich else SAID
    links = [draw(link) | {"between": [host, "s1"]} for host in hosts]
    topics = [{"name": f"t{n}", "partitions": draw(COUNTS), "via": "h1"} for n in range(draw(COUNTS))]
    topic = st.sampled_from([topic["name"] for topic in topics])
    common = {"linger": MS, "batch": COUNTS.map(lambda n: f"{n} KiB"), "acks": st.sampled_from([0, 1, "all"])}
    common |= {"instances": COUNTS, "rate": COUNTS.map(lambda n: f"{n}/s")}
    if rich:
        common |= {
            "keys": st.sampled_from(["zipf", 5, {"kind": "fixed", "value": "true"}]),
            "client": PROPERTIES,
        }
        common |= {"name": NAMES.map(lambda name: f"p.{name}"), "restart": COUNTS, "size": st.just("5 kB")}
        common |= {"args": st.lists(st.text(max_size=8), max_size=2), "messages": COUNTS}
    wanted = draw(st.lists(some(**common), max_size=count))
    producers = [keys | {"on": host, "topic": draw(topic)} for host, keys in zip(hosts, wanted, strict=False)]
    consumers = [{"on": hosts[-1], "topics": [draw(topic)], "instances": draw(COUNTS)}]
    brokers = [
        {"on": host, "controller": draw(st.sampled_from([True, None]))} for host in hosts[: draw(st.integers(1, 2))]
    ]
    data = {
        "topology": {"hosts": hosts, "switches": ["s1"], "links": links}, "brokers": brokers, "topics": topics,
        "producers": producers, "consumers": consumers, "name": draw(NAMES),
    }  # fmt: skip
    if rich:
        data["faults"] = [{"do": "degrade", "on": "h1 -- s1", "at": "5 %", "latency": draw(MS)}]
        data["time"] = draw(MS.filter(lambda text: text != "0 ms"))
    return Experiment.model_validate(data)


def _again(text: str, folder: Path) -> Experiment:
    path = folder / "x.yaml"
    path.write_text(text, encoding="utf-8")
    from stream2gym.spec.readers.yaml_documents import read_documents

    return Experiment.model_validate(read_documents(text, "x")[0][0].data)


QUICK = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@QUICK
@given(experiment=experiments(rich=True))
def test_reading_what_was_written_as_yaml_gives_the_same_experiment(experiment: Experiment, tmp_path: Path) -> None:
    assert _again(to_yaml(experiment), tmp_path) == experiment


@settings(max_examples=60, deadline=None)
@given(experiment=experiments(rich=True))
def test_the_yaml_of_a_run_folder_means_the_same_to_other_readers(experiment: Experiment) -> None:
    text = to_yaml(experiment, quote_yes_no_keys=True)
    assert yaml.safe_load(text) == yaml.safe_load(yaml.safe_dump(shorten_experiment(experiment)))


@pytest.mark.parametrize("value", ["on", "2001-01-01", "12:30:45", "1_000", "1e3", "0o17", "=", "<<", 1e-07, 1e22])
def test_a_value_that_yaml_1_1_would_take_for_something_else_is_quoted(value: str | float) -> None:
    assert yaml.safe_load(write_yaml({"key": value})) == {"key": value}


def test_only_keys_of_a_run_folder_are_quoted_for_other_readers() -> None:
    assert write_yaml({"on": "h1"}) == "on: h1\n"
    assert write_yaml({"on": "h1"}, quote_yes_no_keys=True) == '"on": h1\n'


@QUICK
@given(experiment=experiments(rich=False))
def test_what_graphml_can_say_goes_there_and_back(experiment: Experiment, tmp_path: Path) -> None:
    folder = tmp_path / "graphml"
    assert to_graphml(experiment, folder) == []
    again = load_experiment(folder / f"{experiment.name}.graphml", cwd=folder).experiment
    assert again == experiment
    assert _again(to_yaml(again), tmp_path) == experiment


@pytest.mark.parametrize("name", ["forms", "names", "rabbit"])
def test_published_files_go_to_yaml_and_back_losing_nothing(published: Load, tmp_path: Path, name: str) -> None:
    loaded = published(name)
    moved = rebase(loaded.experiment, loaded.base, tmp_path)
    (tmp_path / "x.yaml").write_text(to_yaml(moved), encoding="utf-8")
    from_yaml = load_experiment(tmp_path / "x.yaml", cwd=tmp_path).experiment
    assert from_yaml == moved
    assert to_graphml(rebase(from_yaml, tmp_path, tmp_path / "back"), tmp_path / "back") == []
    back = load_experiment(tmp_path / "back" / f"{loaded.experiment.name}.graphml", cwd=tmp_path)
    same = rebase(back.experiment, back.base, loaded.base)
    assert same.topology == loaded.experiment.topology
    assert same.components() == loaded.experiment.components()


def test_what_graphml_cannot_say_is_named(tmp_path: Path) -> None:
    experiment = Experiment.model_validate(
        {
            "topology": {
                "hosts": ["web", {"name": "h2", "memory": "1 GiB"}], "switches": ["s1"],
                "links": ["web -- s1: 5 ms, 1 ms jitter", "h2 -- s1"],
            },
            "brokers": [{"on": "h2", "config": {"num.io.threads": 3}}], "topics": ["t"],
            "producers": [
                {"name": "a", "on": "h2", "topic": "t", "keys": 5}, {"name": "b", "on": "h2", "topic": "t"},
            ],
            "expect": ["lost == 0"], "time": "30 s",
        }
    )  # fmt: skip
    assert to_graphml(experiment, tmp_path) == [
        "node web: ids of hosts begin with h, of switches with s, so it is h-web",
        "time: 30 s",
        "expect: ['lost == 0']",
        "host h2: memory",
        "link h-web -- s1: jitter",
        "broker broker-h2: config",
        "producer a: name, keys",
        "producer b: all of it",
    ]


def test_the_yaml_is_short_where_it_can_be(published: Load) -> None:
    text = to_yaml(published("forms").experiment)
    assert '    - "s1 -- s2: 35 ms, 50 Mbps, ports 4/1"\n' in text
    assert "  hosts: [h1, {name: h2, cpu: 25 %}, h3, h4, h5, h6]\n" in text
    assert "null" not in text
    assert max(map(len, text.splitlines())) <= 110


@pytest.mark.parametrize("per_cent", [74.88096906, 98.28582489, 33.3, 0.1, 100.0, 1e-7, 6.885e-91])
def test_a_share_is_written_so_that_reading_it_gives_the_same_number(per_cent: float) -> None:
    share = Share(per_cent / 100)
    assert float(Share.parse(format_quantity(share))) == float(share)


def test_any_share_is_written_so_that_reading_it_gives_the_same_number() -> None:
    numbers = random.Random(1)
    shares = [Share(numbers.random() ** power) for power in (1, 8) for _ in range(5000)]
    assert [share for share in shares if float(Share.parse(format_quantity(share))) != float(share)] == []
