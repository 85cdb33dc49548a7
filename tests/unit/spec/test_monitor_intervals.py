"""How often monitors look: read from an experiment, checked, written, and named in the schema."""

from __future__ import annotations

import pytest

from stream2gym.errors import BadInput
from stream2gym.execution.start_monitors import find_interval_s
from stream2gym.kinds.monitor_sources import HOST, KAFKA, MEMORY
from stream2gym.spec.model import Experiment
from stream2gym.spec.writers.short_form import shorten_experiment
from stream2gym.spec.writers.yaml_writer import write_yaml
from tests.support.loading import Load

SMALL = "s2g: 1\ntopology: {kind: star, hosts: 2}\n"


def intervals(text: str, load: Load) -> list[float | None]:
    experiment = load(SMALL + text).experiment
    return [find_interval_s(experiment, kind) for kind in (KAFKA, MEMORY, HOST)]


def test_each_monitor_looks_as_often_as_the_experiment_says(load: Load) -> None:
    assert intervals("monitors: {kafka: 500 ms, memory: off}\n", load) == [0.5, None, 2.0]
    assert intervals("monitors: {memory: false, host: 1 min}\n", load) == [2.0, None, 60.0]
    assert intervals("", load) == [2.0, 10.0, 2.0]


def test_it_is_written_as_it_was_read(load: Load) -> None:
    before = load(SMALL + "monitors: {kafka: 500 ms, memory: off}\n").experiment
    text = write_yaml(shorten_experiment(before))
    assert 'monitors: {kafka: 500 ms, memory: "off"}' in text
    assert load(text).experiment == before


@pytest.mark.parametrize(
    ("entry", "what", "hint"),
    [
        ("kafak: 2 s", "there is no monitor 'kafak'", "did you mean 'kafka'?"),
        ("sky: off", "there is no monitor 'sky'", "known: machine-use, host, memory, link, kafka, store"),
        ("fabric: 2 s", "how often 'fabric' is sampled cannot be changed", "leave it out; these can be changed"),
        ("memory: 100 ms", "100 ms is too short a time between two looks", "at least 1 s, or off"),
        ("host: often", "not a duration: 'often'", "or off"),
        ("host: 5", "5 has no unit", "or off"),
    ],
)
def test_what_is_wrong_is_told_with_what_would_be_right(load: Load, entry: str, what: str, hint: str) -> None:
    with pytest.raises(BadInput) as caught:
        load(SMALL + f"monitors: {{{entry}}}\n")
    [mistake] = caught.value.mistakes
    assert mistake.where == f"monitors.{entry.partition(':')[0]}"
    assert mistake.line == 3
    assert what in mistake.what
    assert hint in f"{mistake.what} {mistake.hint}"


def test_all_mistakes_are_told_at_once(load: Load) -> None:
    with pytest.raises(BadInput) as caught:
        load(SMALL + "monitors: {kafak: 2 s, process: off, link: 1 ms}\n")
    assert len(caught.value.mistakes) == 3


def test_the_schema_names_the_monitors_and_their_usual_intervals() -> None:
    schema = Experiment.model_json_schema()["properties"]["monitors"]
    assert list(schema["properties"]) == ["machine-use", "host", "memory", "link", "kafka", "store"]
    assert "default 10 s" in schema["properties"]["memory"]["description"]
    assert "additionalProperties" in schema, "monitors of plug-ins are accepted"
