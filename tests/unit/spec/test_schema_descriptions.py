"""Every key of an experiment says to editors what it means."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from stream2gym.spec.model import Experiment


def keys_of(schema: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Every key of every model in a schema, with what the schema says about it."""
    for model, definition in [*schema.get("$defs", {}).items(), ("Experiment", schema)]:
        for part in (definition, *definition.get("anyOf", ())):
            for key, value in part.get("properties", {}).items():
                yield model, key, value


def descriptions() -> dict[tuple[str, str], str]:
    schema = Experiment.model_json_schema()
    return {(model, key): value.get("description", "") for model, key, value in keys_of(schema)}


def test_every_key_of_the_schema_is_described() -> None:
    assert [f"{model}.{key}" for (model, key), words in descriptions().items() if not words] == []


def test_no_description_is_empty_of_meaning() -> None:
    same = [f"{model}.{key}" for (model, key), words in descriptions().items() if words.lower() == key]
    assert same == []


def test_a_key_may_mean_something_of_its_own_in_a_model() -> None:
    told = descriptions()
    assert told["Producer", "topics"] != told["Consumer", "topics"]
    assert told["Engine", "app"] == told["Check", "app"]


def test_the_keys_of_links_are_described_wherever_links_are_set() -> None:
    told = descriptions()
    assert told["Link", "latency"] == told["LinkChange", "latency"] == told["Star", "latency"]


def test_the_command_prints_them() -> None:
    argv = [sys.executable, "-m", "stream2gym", "schema", "--compact"]
    schema = json.loads(subprocess.run(argv, capture_output=True, check=True).stdout)
    assert schema["properties"]["drain"]["description"] == descriptions()["Experiment", "drain"]
