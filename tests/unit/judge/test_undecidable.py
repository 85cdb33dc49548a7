"""Expectations that no run could decide are named before two minutes are spent, each with its reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from stream2gym.api import prepare
from stream2gym.cli.main import main
from stream2gym.execution.new_folder import new_folder
from stream2gym.judge.undecidable import REASONS, find_undecidable
from stream2gym.kinds.metrics import BUILT_IN
from stream2gym.plan.make_plan import make_plan
from stream2gym.spec.loading import load_experiment
from stream2gym.spec.model import Experiment

ROOT = Path(__file__).parents[3]
EXPERIMENTS = [path for path in sorted((ROOT / "examples").glob("*/*.yaml")) if path.name != "sweep.yaml"]


def told(*expect: str, **changes: Any) -> list[str]:
    """What is told of expectations in an experiment with one producer and two groups, or one that is changed."""
    keys: dict[str, Any] = {
        "topology": {"hosts": ["h1", "h2"], "links": ["h1 -- h2: 5 ms"]},
        "brokers": [{"on": "h1"}],
        "topics": [{"name": "in", "partitions": 2}, {"name": "out"}],
        "producers": [{"name": "gen", "on": "h1", "topic": "in", "rate": "100/s", "size": "100 B"}],
        "consumers": [
            {"name": "see", "on": "h2", "topics": ["in"], "group": "g"},
            {"name": "also", "on": "h2", "topics": ["in"], "group": "k"},
        ],
        "faults": [{"name": "cut", "do": "down", "on": "h1 -- h2", "at": "1 s", "for": "1 s"}],
        "expect": list(expect),
    }
    experiment = Experiment.model_validate(keys | changes)
    return find_undecidable(experiment, make_plan(experiment))


BEHIND_AN_ENGINE: dict[str, Any] = {
    "engines": [{"name": "job", "on": "h1", "app": "job.py"}],
    "consumers": [{"name": "see", "on": "h2", "topics": ["out"], "group": "g"}],
}
OBSERVED: dict[str, Any] = BEHIND_AN_ENGINE | {
    "engines": [{"name": "job", "on": "h1", "app": "job.py", "observe": "wire"}]
}
TRACE: dict[str, Any] = {"trace": [{"from": "in", "to": "out", "by": "value"}]}
ACKS_0: dict[str, Any] = {"producers": [{"name": "gen", "on": "h1", "topic": "in", "acks": 0, "messages": 9}]}
OWN: dict[str, Any] = {"producers": [{"name": "own", "on": "h1", "topic": "in", "type": "CUSTOM", "app": "x"}]}
UNLIMITED: dict[str, Any] = {"topology": {"hosts": ["h1", "h2"], "links": ["h1 -- h2: unlimited"]}}
ONE_GROUP: dict[str, Any] = {"consumers": [{"name": "see", "on": "h2", "topics": ["in"], "group": "g"}]}


@pytest.mark.parametrize(
    ("text", "changes", "why"),
    [
        ("lost == 0", {"consumers": []}, "no consumer whose doings are recorded reads any topic"),
        ("lost == 0", {"producers": []}, "no producer whose doings are recorded writes to any topic"),
        ("lost == 0", OWN, "no producer whose doings are recorded"),
        ("lost(topic=out) == 0", {}, "writes to out"),
        ("lost == 0", ACKS_0, "with acks 0 nobody acknowledges anything; unconfirmed_lost counts"),
        ("lost == 0", BEHIND_AN_ENGINE, "a trace tells how to recognise its results"),
        ("lost(topic=in) == 0", BEHIND_AN_ENGINE, "no consumer whose doings are recorded reads in"),
        ("duplicated(producer=gen) == 0", BEHIND_AN_ENGINE | TRACE, "results_doubled(from=in, to=out)"),
        ("out_of_order == 0", BEHIND_AN_ENGINE | TRACE, "nobody reads what is written to in"),
        ("lost(fault=cut, partition=0) == 0", {}, "the part of a fault is not told by partition"),
        ("latency.p99(fault=cut) < 1 s", {}, "latency is not attributed to faults"),
        ("lost(topic=in) == 0", OBSERVED, "no consumer whose doings are recorded reads in"),
        ("lost(producer=gen) == 0", OBSERVED, "nobody reads what is written to in"),
        ("delivery_rate(consumer=job) > 1/s", OBSERVED, "only received(consumer=job) tells"),
        ("lag(consumer=job) < 10", OBSERVED, "job reads outside of any group"),
        ("received(topic=in) > 0", OBSERVED, "no consumer whose doings are recorded reads in"),
        ("lost(partition=7) == 0", {}, "there is no partition 7: the topics have 2"),
        ("latency.p99 < 1 s", BEHIND_AN_ENGINE, "nobody reads what is written to in"),
        ("latency.p99(topic=out) < 1 s", {}, "writes to out"),
        ("ack_latency.p99 < 1 s", ACKS_0, "with acks 0 nobody acknowledges anything"),
        ("throughput > 5/s", ACKS_0, "with acks 0 nobody acknowledges anything"),
        ("throughput.min(partition=0) > 5/s", {}, "not kept by partition"),
        ("delivery_rate(partition=0) > 5/s", {}, "not kept by partition"),
        ("trace_latency.p99 < 1 s", {}, "declares no such trace"),
        ("results_missing == 0", TRACE, "no consumer whose doings are recorded reads out"),
        ("sync_latency.p99 < 1 s", ONE_GROUP, "two recorded groups"),
        ("recovery < 1 s", {"faults": []}, "no fault"),
        ("unavailable < 1 s", {"faults": []}, "no fault"),
        ("link_use < 50 %", UNLIMITED, "without a bandwidth"),
        ("link_drops(link=h7*) == 0", {}, "no such link"),
        ("cpu(component=brokr) < 50 %", {}, "no such component"),
        ("died(component=brokr) == 0", {}, "no such component"),
        ("received(topic=out) == 0", {}, "reads out"),
        ("received(producer=gen, consumer=see) == 0", {}, "not by both"),
        ("offset_gaps(producer=gen) == 0", {}, "belongs to no producer"),
        ("sent == 0", OWN, "no producer whose doings are recorded"),
        ("lag < 10", {"consumers": []}, "no consumer"),
        ("query_failures == 0", {}, "no such engine"),
        ("mismatches(check=x) == 0", {}, "no such check"),
        ("rows_missing == 0", {}, "no sink"),
        ("sample.max(source=memory) < 5", {"monitors": {"memory": "off"}}, "the monitor memory is switched off"),
        ("leader_changes == 0", {"brokers": [], "topics": [], "producers": [], "consumers": []}, "no broker"),
    ],
)  # fmt: skip
def test_what_can_never_be_decided_is_told_with_its_reason(text: str, changes: dict[str, Any], why: str) -> None:
    (warning,) = told(text, **changes)

    assert warning.startswith(f"the expectation {text!r} can never be decided: ")
    assert why in warning


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ("lost == 0", {}), ("lost(fault=cut, topic=in) == 0", {}), ("recovery(fault=cut) < 5 s", {}),
        ("latency.p99(consumer=see) < 1 s", {}), ("lost(group=g, partition=1) == 0", {}), ("died == 0", {}),
        ("unconfirmed_lost == 0", ACKS_0), ("latency.p99 < 1 s", ACKS_0), ("sync_latency.p99 < 1 s", {}),
        ("lost == 0", OBSERVED), ("duplicated(topic=out) == 0", OBSERVED), ("sent(producer=job) > 0", OBSERVED),
        ("received(consumer=job) > 0", OBSERVED), ("throughput(producer=job) > 1/s", OBSERVED),
        ("latency_sent.p99(topic=out) < 1 s", OBSERVED), ("ack_latency_sent.p99(producer=job) < 1 s", OBSERVED),
        ("lost(topic=out) == 0", BEHIND_AN_ENGINE | TRACE), ("lost == 0", BEHIND_AN_ENGINE | TRACE),
        ("trace_latency.p99 < 1 s", BEHIND_AN_ENGINE | TRACE), ("throughput.mean(partition=0) > 5/s", {}),
        ("link_throughput(host=h1) > 1 kbps", UNLIMITED),
        ("link_use < 50 %", {}), ("received(consumer=al*) > 5", {}), ("lost == 0", ONE_GROUP),
        ("controller_changes(fault=cut) == 0", {}), ("offset_gaps(group=g) == 0", {}), ("sample > 5", {}),
    ],
)  # fmt: skip
def test_what_a_run_can_decide_is_no_alarm(text: str, changes: dict[str, Any]) -> None:
    assert told(text, **changes) == []


def test_what_follows_a_trace_that_nobody_can_follow_can_fail_but_never_pass() -> None:
    why = "can never pass: it follows the trace from in to out, and no consumer whose doings are recorded reads out"
    for text in ("lost == 0", "duplicated < 3", "delivered >= 99 %"):
        assert why in told(text, **TRACE)[0], text
    for text in ("lost(topic=in) == 0", "lost(producer=gen) == 0", "lost > 3", "out_of_order == 0"):
        assert told(text, **TRACE) == [], text


def test_a_count_to_which_unrecorded_programs_add_can_fail_but_never_pass() -> None:
    mixed: dict[str, Any] = {
        "producers": [
            {"name": "gen", "on": "h1", "topic": "in", "messages": 9},
            {"name": "own", "on": "h1", "topic": "in", "type": "CUSTOM", "app": "x.py", "observe": False},
        ]
    }
    (warning,) = told("lost == 0", **mixed)
    assert warning.startswith("the expectation 'lost == 0' can never pass: own is a program of yours")
    assert told("lost(producer=gen) == 0", "acknowledged >= 5", **mixed) == []


def test_a_program_that_can_be_observed_leaves_everything_open() -> None:
    programs: dict[str, Any] = {
        "producers": [{"name": "own", "on": "h1", "type": "CUSTOM", "app": "x.py"}],
        "consumers": [{"name": "mine", "on": "h1", "type": "CUSTOM", "app": "y.py"}],
    }
    counts = ("lost == 0", "acknowledged(topic=out) == 5", "received(topic=out) == 5", "failed == 0")
    assert told(*counts, **programs) == []
    assert told("latency_sent.p99(topic=in) < 1 s", "ack_latency_sent.p99 < 1 s", **programs) == []


def test_programs_have_no_due_times_and_our_producers_no_latency_from_send() -> None:
    own = {"name": "own", "on": "h1", "topic": "in", "type": "CUSTOM", "app": "x.py"}
    (warning,) = told("latency.p99 < 1 s", producers=[own])
    assert "programs of yours give their messages no due time; latency_sent asks from when they were sent" in warning
    (warning,) = told("latency_sent.p99 < 1 s")
    assert "only programs of yours are measured from sending; latency asks from due times" in warning


@pytest.mark.parametrize("path", EXPERIMENTS, ids=lambda p: p.parent.name)
def test_every_expectation_of_the_examples_can_be_decided(path: Path) -> None:
    experiment = load_experiment(path).experiment
    assert find_undecidable(experiment, make_plan(experiment)) == []


def test_the_table_of_reasons_speaks_of_every_metric_that_needs_something() -> None:
    always = {"lateness", "unasked_drops", "startup"}
    by_faults = {metric.name for metric in BUILT_IN if metric.needs == "faults"}
    assert set(REASONS) == {metric.name for metric in BUILT_IN} - always - by_faults


def _file(tmp_path: Path) -> str:
    path = tmp_path / "experiment.yaml"
    keys = {
        "s2g": 1,
        "topology": {"hosts": ["h1"]},
        "brokers": [{"on": "h1"}],
        "topics": [{"name": "in"}],
        "producers": [{"name": "gen", "on": "h1", "topic": "in", "messages": 5}],
        "expect": ["lost == 0", "sent > 1"],
    }
    path.write_text(yaml.safe_dump(keys), "utf-8")
    return str(path)


def test_validate_and_plan_tell_it_and_the_record_keeps_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, words = _file(tmp_path), "the expectation 'lost == 0' can never be decided: no consumer"

    assert main(["validate", file]) == 0
    assert words in capsys.readouterr().err
    assert main(["validate", file, "--json"]) == 0
    assert words in json.loads(capsys.readouterr().out)["undecidable"][0]
    assert main(["plan", file]) == 0
    assert words in " ".join(capsys.readouterr().out.split())
    planned, loaded = prepare(file)
    folder = new_folder(planned, loaded, tmp_path / "run")
    folder.release()
    assert any(words in event.get("what", "") for event in folder.read_events())


RABBITMQ: dict[str, Any] = {
    "brokers": [{"on": "h1", "type": "rabbitmq"}],
    "topics": [{"name": "in", "queue": "classic"}, {"name": "log", "queue": "stream"}],
    "producers": [
        {"name": "gen", "on": "h1", "topic": "in", "rate": "100/s", "size": "100 B"},
        {"name": "clerk", "on": "h1", "topic": "log", "rate": "100/s", "size": "100 B"},
    ],
    "consumers": [{"name": "see", "on": "h2", "topics": ["in", "log"], "group": "g"}],
}


@pytest.mark.parametrize("metric", ["offset_gaps", "duplicated_in_log", "redelivered", "expired", "compacted"])
def test_what_only_offsets_tell_can_never_be_decided_of_a_queue(metric: str) -> None:
    for text in (f"{metric} == 0", f"{metric}(topic=in) == 0"):
        [sentence] = told(text, **RABBITMQ)
        assert "messages of in, a classic queue, have no offsets" in sentence
    assert told(f"{metric}(topic=log) == 0", **RABBITMQ) == [], "a stream has offsets"


@pytest.mark.parametrize("text", ["leader_changes == 0", "election < 5 s", "under_replicated == 0"])
def test_rabbitmq_does_not_tell_who_leads(text: str) -> None:
    [sentence] = told(text, **RABBITMQ)
    assert "RabbitMQ does not tell who leads a queue" in sentence


def test_what_queues_do_tell_is_decided() -> None:
    assert told("lost == 0", "duplicated == 0", "out_of_order == 0", "lag < 100", "in_flight == 0", **RABBITMQ) == []
