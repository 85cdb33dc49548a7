"""Every key of an experiment says to editors what it means."""

from __future__ import annotations

import json
import subprocess
import sys

from stream2gym.spec.meanings import EVERYWHERE, MEANINGS, described, keys_of, meaning
from stream2gym.spec.model import Experiment


def test_every_key_of_the_schema_is_described() -> None:
    schema = described(Experiment.model_json_schema())
    silent = [f"{model}.{key}" for model, key, value in keys_of(schema) if not value.get("description")]
    assert silent == []


def test_no_meaning_is_of_a_key_that_there_is_not() -> None:
    there = {(model, key) for model, key, _ in keys_of(Experiment.model_json_schema())}
    told = {(model, key) for model, keys in MEANINGS.items() for key in keys}
    assert told <= there
    assert set(EVERYWHERE) <= {key for _, key in there}


def test_a_key_may_mean_something_of_its_own_in_a_model() -> None:
    assert meaning("Producer", "topics") != meaning("Consumer", "topics")
    assert meaning("Engine", "app") == meaning("Check", "app") == EVERYWHERE["app"]


def test_the_command_prints_them() -> None:
    argv = [sys.executable, "-m", "stream2gym", "schema", "--compact"]
    schema = json.loads(subprocess.run(argv, capture_output=True, check=True).stdout)
    assert schema["properties"]["drain"]["description"] == MEANINGS["Experiment"]["drain"]
