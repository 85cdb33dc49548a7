"""Executors that could never start are refused before anything runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stream2gym.spec.checks import check_experiment
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
