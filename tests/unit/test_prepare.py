"""One function checks an experiment for ``validate``, ``plan`` and ``run``: what one refuses, all refuse."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stream2gym import prepare as preparing
from stream2gym.api import prepare
from stream2gym.cli.main import main
from stream2gym.components.cluster_formation import check_formation
from stream2gym.errors import BadInput, CannotHere, Mistake
from stream2gym.kinds.plugins import PlugIns
from stream2gym.plan.make_plan import make_plan
from stream2gym.plan.planned import Plan
from stream2gym.prepare import prepare_experiment
from stream2gym.spec.model import Experiment

HEAD = "s2g: 1\n"
FAR = """\
topology: {hosts: [h1, h2, h3], switches: [s1], links: ["h1 -- s1: 600 ms", "h2 -- s1: 600 ms", h3 -- s1]}
startup: as-configured
brokers: [{on: h1}, {on: h2}]
topics: [in]
"""
Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    monkeypatch.chdir(tmp_path)

    def writer(text: str) -> Path:
        (tmp_path / "x.yaml").write_text(HEAD + text)
        return tmp_path / "x.yaml"

    return writer


def refused_by_all(path: Path, capsys: pytest.CaptureFixture[str]) -> list[Mistake]:
    """The mistakes, the same from every command."""
    with pytest.raises(BadInput) as caught:
        prepare(path)
    told = str(caught.value)
    capsys.readouterr()
    for command in ("validate", "plan"):
        assert main([command, str(path)]) == 2
        assert told in capsys.readouterr().err
    return list(caught.value.mistakes)


def test_mistakes_of_the_file_of_programs_and_of_the_cluster_come_in_one_list(
    write: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "gen").write_text("#!/bin/sh\n")
    text = """\
producers:
  - {name: gen, on: h3, type: CUSTOM, app: gen}
  - {name: two, on: h3, topic: in, acks: 1, transactions: 5}
  - {name: six, on: h3, type: CUSTOM, app: six.py, python: no-such-python}
expect: [lots == 0]
"""
    (tmp_path / "six.py").touch()
    found = refused_by_all(write(FAR + text), capsys)
    by_place = {mistake.where: mistake for mistake in found}
    assert set(by_place) == {
        "producers.gen.app", "producers.two.acks", "producers.six.python", "expect.0", "broker broker-h2",
    }  # fmt: skip
    assert "chmod +x gen" in by_place["producers.gen.app"].hint
    assert by_place["producers.gen.app"].line == 7
    assert all(mistake.file.endswith("x.yaml") for mistake in found)


def test_typing_errors_do_not_hide_what_only_the_plan_shows(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    text = "tme: 5 s\nproducers: [{name: gen, on: h3, topic: in, rate: fast, sise: 5 Mb, size: 5 Mb}]\n"
    found = refused_by_all(write(FAR + text), capsys)
    assert {mistake.where for mistake in found} == {
        "tme", "producers.gen.rate", "producers.gen.sise", "producers.gen.size", "broker broker-h2",
    }  # fmt: skip
    [size] = [mistake for mistake in found if mistake.where == "producers.gen.size"]
    assert "write '5 MB'" in str(size)


def test_a_broken_metric_plug_in_is_bad_input(
    write: Write, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    broken: PlugIns[Any] = PlugIns(broken={"mine": "ImportError: no numpie"})
    monkeypatch.setattr("stream2gym.kinds.metrics._plug_ins", lambda: broken)
    [mistake] = refused_by_all(write("topology: {hosts: [h1]}\nexpect: [mine == 0]\n"), capsys)
    assert "plug-in 'mine' cannot be loaded: ImportError: no numpie" in str(mistake)


def test_a_module_that_is_missing_here_is_told_by_every_command(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "gen.py").write_text("import kafka\n")
    monkeypatch.setattr("stream2gym.components.program_command.missing_modules", lambda _program: ["kafka"])
    path = write("topology: {hosts: [h1]}\nproducers: [{name: gen, on: h1, type: CUSTOM, app: gen.py}]\n")
    with pytest.raises(CannotHere, match="imports kafka, which is not installed"):
        prepare(path)
    assert main(["validate", str(path)]) == 4
    assert "pip install 'stream2gym[published]'" in capsys.readouterr().err
    assert main(["validate", str(path), "--json"]) == 4
    assert json.loads(capsys.readouterr().out)["not_here"][0]["remedy"].startswith("pip install")
    assert main(["plan", str(path)]) == 0
    assert "this machine cannot run it: producer gen (gen.py) imports kafka" in capsys.readouterr().out


def test_a_sound_experiment_is_planned_once(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    plans: list[Plan] = []

    def plan_and_count(*args: Any, **options: Any) -> Plan:
        plans.append(make_plan(*args, **options))
        return plans[-1]

    monkeypatch.setattr(preparing, "make_plan", plan_and_count)
    assert prepare_experiment(write("topology: {hosts: [h1]}\n"), seed=7).plan == plans[0]
    assert (len(plans), plans[0].seed) == (1, 7)


def test_controllers_whose_elections_may_time_out_are_warned_of(write: Write) -> None:
    text = FAR.replace("600 ms", "300 ms").replace("brokers: [", "brokers: [{on: h3}, ")
    [warning] = prepare_experiment(write(text)).plan.warnings
    assert "between the controllers broker-h1 and broker-h2 takes 1200 ms" in warning
    assert not prepare_experiment(write(text.replace("as-configured", "fast"))).plan.warnings


def test_what_a_plan_is_made_of_is_told_once_where_it_is_wrong(
    write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    [mistake] = refused_by_all(write("topology: {hosts: [h1]}\nbrokers: [{on: h9}]\n"), capsys)
    assert mistake.where == "brokers.0.on"


def formation(startup: str, *, latency: str = "1 ms", brokers: int = 3, **more: Any) -> list[Mistake]:
    hosts = [f"h{number}" for number in range(1, brokers + 1)]
    links: list[dict[str, Any]] = [{"between": [host, "s1"], "latency": latency} for host in hosts]
    for number in more.pop("down", ()):
        links[number - 1]["up"] = False
    for number in more.pop("lossy", ()):
        links[number - 1]["loss"] = "100 %"
    experiment = Experiment.model_validate(
        {
            "topology": {"hosts": hosts, "switches": ["s1"], "links": links},
            "brokers": [{"on": host} for host in hosts],
            "startup": startup,
            **more,
        }
    )
    return check_formation(experiment, make_plan(experiment))


def test_controllers_that_are_too_far_apart_never_elect_one() -> None:
    [mistake] = formation("as-configured", latency="500 ms")
    assert "no majority of the controllers" in mistake.what
    assert "a round trip takes 2000 ms, and Kafka waits 2000 ms" in mistake.what
    assert "startup: fast" in mistake.hint
    assert formation("as-configured", latency="450 ms") == []


def test_a_longer_time_out_of_kafka_allows_for_longer_ways() -> None:
    config = {"controller.quorum.request.timeout.ms": 9000}
    far: dict[str, Any] = {"latency": "700 ms", "kafka": {"config": config}}
    assert formation("as-configured", brokers=2, **far) == [], "one controller needs no election"
    assert formation("as-configured", **far)
    config["controller.quorum.election.timeout.ms"] = 2000
    assert formation("as-configured", **far) == []


def test_a_fast_start_forms_the_cluster_over_any_latency_and_loss() -> None:
    assert formation("fast", latency="5 s", lossy=[1, 2, 3]) == []
    assert formation("as-configured", lossy=[1, 2, 3])


@pytest.mark.parametrize("startup", ["fast", "as-configured"])
def test_a_broker_without_a_path_to_the_controllers_cannot_join(startup: str) -> None:
    [mistake] = formation(startup, down=[3])
    assert (mistake.where, "there is no path" in mistake.what) == ("broker broker-h3", True)
    [mistake] = formation(startup, down=[2, 3])
    assert mistake.where == "brokers"


def test_one_broker_is_a_cluster_wherever_it_is() -> None:
    assert formation("as-configured", latency="5 s", brokers=1, down=[1]) == []


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("brokers: [{on: h1, controller: only}]\n", "brokers"),
        ("brokers: [{on: h1}]\nkafka: {config: {offsets.topic.replication.factor: 3}}\n",
         "kafka.config.offsets.topic.replication.factor"),
        ("brokers: [{on: h1}]\ntopics: [{name: in, replicas: 2}]\n", "topics.in.replicas"),
        ("brokers: [{on: h1, controller: false}]\n", "brokers"),
    ],
)  # fmt: skip
def test_a_cluster_that_could_not_serve_is_refused(
    text: str, where: str, write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    [mistake] = refused_by_all(write("topology: {hosts: [h1]}\n" + text), capsys)
    assert mistake.where == where
