"""Engines and sinks that could never work are refused before anything runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stream2gym.spec.checks.experiment_checks import check_experiment
from stream2gym.spec.model import Experiment


def told(tmp_path: Path, *engines: dict[str, Any]) -> str:
    (tmp_path / "job.py").touch()
    keys = {"topology": {"hosts": ["h1"]}, "engines": [{"on": "h1", **engine} for engine in engines]}
    return "\n".join(map(str, check_experiment(Experiment.model_validate(keys), tmp_path)))


@pytest.mark.parametrize(
    "engines",
    [
        [{"app": "job.py", "cluster": True, "worker_memory": "400m"}],
        [{"name": "m", "type": "spark-master"}, {"type": "spark-worker", "master": "m", "memory": "256 MiB"}],
        [{"name": "m", "type": "spark-master"}, {"app": "job.py", "master": "m", "memory": "256 MiB"}],
    ],
)
def test_too_little_memory_for_an_executor_is_refused(tmp_path: Path, engines: list[dict[str, Any]]) -> None:
    assert "too little for an executor" in told(tmp_path, *engines)


def test_a_program_without_executors_may_be_small(tmp_path: Path) -> None:
    assert not told(tmp_path, {"app": "job.py", "memory": "256 MiB"})
    assert not told(tmp_path, {"app": "job.py", "cluster": True, "worker_memory": "512m"})


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"app": "job.py"}, "'job.py' is no program of Kafka Streams (a .java file, which is compiled, or a .jar)"),
        ({}, "needs a program (app: Program.java)"),
        ({"app": "Job.java"}, "Kafka Streams needs a broker"),
        ({"app": "Job.java", "config": {"application.id": "words"}}, "(application: words)"),
        ({"app": "Job.java", "packages": ["gson"]}, "'gson' is no coordinate of a package"),
        ({"app": "Job.java", "store": "disk"}, "store"),
        ({"app": "Job.java", "guarantee": "at-most-once"}, "guarantee"),
    ],
)
def test_a_kafka_streams_program_that_could_not_run_is_refused(
    tmp_path: Path, keys: dict[str, Any], words: str
) -> None:
    (tmp_path / "Job.java").touch()
    assert words in told(tmp_path, {"type": "kstreams", **keys})


def test_a_sink_into_a_store_that_none_writes_to_is_refused(tmp_path: Path) -> None:
    keys = {
        "topology": {"hosts": ["h1"]},
        "brokers": [{"on": "h1"}],
        "topics": ["t"],
        "stores": [{"on": "h1", "name": "docs", "type": "MongoDB"}],
        "sinks": [{"on": "h1", "topics": ["t"], "store": "docs"}],
    }
    (mistake,) = check_experiment(Experiment.model_validate(keys), tmp_path)
    assert "no sink writes to stores of type mongodb" in str(mistake)


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"mode": "upsert"}, "has no keys"),
        ({"keys_from": "key"}, "has no keys"),
        ({"keys_from": "place", "keys": ["a", "b"]}, "three columns"),
    ],
)
def test_keys_that_make_no_sense_are_refused(tmp_path: Path, keys: dict[str, Any], words: str) -> None:
    experiment = {
        "topology": {"hosts": ["h1"]},
        "brokers": [{"on": "h1"}],
        "topics": ["t"],
        "stores": [{"on": "h1", "name": "db"}],
        "sinks": [{"on": "h1", "topics": ["t"], "store": "db", **keys}],
    }
    (mistake,) = check_experiment(Experiment.model_validate(experiment), tmp_path)
    assert words in str(mistake)
