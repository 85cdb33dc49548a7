"""Faults that cannot be are refused before the run, each with one clear message."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stream2gym.spec.checks.experiment_checks import check_experiment
from stream2gym.spec.model import Experiment

SCENE = {
    "topology": {
        "hosts": ["h1", "h2", "h3"],
        "switches": ["s1"],
        "links": [f"h{n} -- s1" for n in (1, 2, 3)],
    },
    "brokers": [{"on": "h1"}, {"on": "h2"}],
    "topics": [{"name": "t"}],
    "producers": [{"name": "gen", "on": "h3", "topic": "t"}],
    "time": "20 s",
}


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ({"do": "down", "on": "h1 -- s1", "at": "30 s"}, "starts at 30 s, when the load of 20 s is over"),
        ({"do": "down", "on": "h1 -- s9"}, "there is no link 'h1 -- s9'"),
        ({"do": "kill", "on": "broker-h7"}, "there is no component 'broker-h7'"),
        ({"do": "kill", "on": "leader of nope"}, "there is no topic 'nope'"),
        ({"do": "kill", "on": "random 5 of broker-*"}, "there are only 2 of 'broker-*'"),
        ({"do": "pause", "on": "s1"}, "s1 is a switch, but pause acts on a component"),
        ({"do": "down", "on": "h1"}, "h1 is a host, but down acts on a link"),
        ({"do": "restart", "on": "gen", "data": "wipe"}, "gen keeps no data that could be wiped"),
        ({"do": "move", "on": "h1", "to": "s9"}, "there is no switch 's9'"),
        ({"do": "move-leader", "on": "t", "to": "broker-h9"}, "there is no broker 'broker-h9'"),
        ({"do": "reassign", "on": "t", "replicas": ["h1", "h9"]}, "there is no broker 'h9'"),
        ({"do": "delete-records", "on": "t", "partition": 7}, "t has no partition 7"),
        ({"do": "partition", "shape": "ring"}, "a ring of 2 hosts separates none of them"),
        ({"do": "partition", "shape": "bridge", "bridge": "h9"}, "there is no host 'h9'"),
        ({"do": "partition", "groups": [["h1"], ["h9"]]}, "there is no node 'h9'"),
        ({"do": "partition", "groups": [["h1"], ["h*"]]}, "h1 is in two groups"),
        ({"do": "pause", "on": "broker-h1", "when": "broker-h9 is controller"}, "there is no broker 'broker-h9'"),
        ({"do": "pause", "on": "broker-h1", "when": "lagg > 5"}, "'lagg > 5' is not a condition"),
        ({"do": "degrade", "on": "h1 -- s1"}, "changes nothing"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_an_impossible_fault_is_one_clear_message(fault: dict[str, Any], message: str, tmp_path: Path) -> None:
    starts = {} if "at" in fault or "when" in fault else {"at": "1 s"}

    found = check_experiment(Experiment.model_validate({**SCENE, "faults": [{**fault, **starts}]}), tmp_path)

    assert [mistake.what for mistake in found if message in mistake.what] == [mistake.what for mistake in found]
    assert len(found) == 1


def test_what_is_possible_is_not_refused(tmp_path: Path) -> None:
    faults = [
        {"do": "restart", "on": "broker-*", "data": "wipe", "at": "1 s"},
        {"do": "move-leader", "on": "t", "to": "h2", "partition": 0, "at": "2 s"},
        {"do": "partition", "groups": [["h1"], ["h2", "h3"]], "at": "3 s", "for": "1 s"},
        {"do": "pause", "on": "random 2 of broker-*", "when": "broker-h2 is controller", "for": "1 s"},
    ]

    assert check_experiment(Experiment.model_validate({**SCENE, "faults": faults}), tmp_path) == []


@pytest.mark.parametrize("name", ["job", "worker"])
@pytest.mark.parametrize(
    "fault", [{"do": "restart", "data": "wipe"}, {"do": "restart"}, {"do": "pause"}, {"do": "kill"}]
)
def test_faults_act_on_job_managers_and_task_managers_of_flink_alike(
    fault: dict[str, Any], name: str, tmp_path: Path
) -> None:
    (tmp_path / "job.sql").write_text("INSERT INTO a SELECT * FROM b;")
    engines = [
        {"name": "job", "on": "h1", "type": "flink-jobmanager", "app": "job.sql"},
        {"name": "worker", "on": "h2", "type": "flink-taskmanager", "jobmanager": "job"},
    ]
    keys = {**SCENE, "engines": engines, "faults": [{**fault, "on": name, "at": "1 s"}]}
    assert check_experiment(Experiment.model_validate(keys), tmp_path) == []
