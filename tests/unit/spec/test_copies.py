"""Copies: one item stands for several components or topics that differ in a number."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from stream2gym.errors import BadInput
from stream2gym.spec.loading import load_experiment
from stream2gym.spec.model import Experiment
from stream2gym.spec.writers.conversion import to_yaml

BASE: dict[str, Any] = {
    "s2g": 1,
    "topology": {"kind": "star", "hosts": 4},
    "brokers": [{"on": "h{n}", "copies": 2}],
    "topics": [{"name": "talk-{n}", "copies": 3}, "other"],
    "producers": [{"name": "voice", "on": "h{n}", "copies": 2, "topics": ["talk-{n}", "other"], "rate": "1/s"}],
    "consumers": [{"name": "ear", "on": "h4", "copies": 3, "topics": ["talk-{n}"], "group": "g{n}"}],
}


def load(tmp_path: Path, overrides: dict[str, Any] | None = None, **changes: Any) -> Experiment:
    path = tmp_path / "experiment.yaml"
    path.write_text(yaml.safe_dump({**BASE, **changes}, sort_keys=False))
    return load_experiment(path, overrides=overrides).experiment


def test_each_copy_has_its_number_in_every_text_and_at_the_end_of_its_name(tmp_path: Path) -> None:
    found = load(tmp_path)

    assert [broker.name for broker in found.brokers] == ["broker-h1", "broker-h2"]
    assert [topic.name for topic in found.topics] == ["talk-1", "talk-2", "talk-3", "other"]
    assert [(p.name, p.on, [t.name for t in p.topics]) for p in found.producers] == [
        ("voice-1", "h1", ["talk-1", "other"]),
        ("voice-2", "h2", ["talk-2", "other"]),
    ]
    assert [(c.name, c.group) for c in found.consumers] == [("ear-1", "g1"), ("ear-2", "g2"), ("ear-3", "g3")]


def test_a_model_that_is_built_in_python_writes_copies_out_as_well() -> None:
    assert [one.name for one in Experiment.model_validate(BASE).consumers] == ["ear-1", "ear-2", "ear-3"]


def test_the_number_of_copies_is_one_setting(tmp_path: Path) -> None:
    assert len(load(tmp_path, {"consumers.ear.copies": 1}).consumers) == 1
    assert load(tmp_path, {"consumers.ear.copies": 1}).consumers[0].name == "ear-1"
    assert len(load(tmp_path, {"brokers.0.copies": 4}).brokers) == 4


@pytest.mark.parametrize("number", [0, -1, 10_001, "many", 1.5, True])
def test_a_number_of_copies_that_makes_no_sense_is_refused(tmp_path: Path, number: Any) -> None:
    with pytest.raises(BadInput, match=r"consumers\.ear\.copies"):
        load(tmp_path, {"consumers.ear.copies": number})


def test_a_mistake_of_copies_is_told_once_with_the_line_of_the_item(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as wrong:
        load(tmp_path, consumers=[*BASE["consumers"], {"name": "eye", "on": "h4", "copies": 3, "topic": "other"}])

    lines = (tmp_path / "experiment.yaml").read_text().splitlines()
    (mistake,) = {(one.line, one.what) for one in wrong.value.mistakes}
    assert mistake[0] is not None
    assert lines[mistake[0] - 1].strip() == "topic: other"


def test_a_mistake_behind_copies_keeps_its_own_line(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as wrong:
        load(tmp_path, consumers=[*BASE["consumers"], {"name": "eye", "on": "h9", "topics": ["other"]}])

    lines = (tmp_path / "experiment.yaml").read_text().splitlines()
    assert {lines[(one.line or 0) - 1].strip() for one in wrong.value.mistakes} == {"'on': h9"}


def test_a_number_without_copies_is_no_name(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"h\{n\}"):
        load(tmp_path, consumers=[{"name": "eye", "on": "h{n}", "topics": ["other"]}])


def test_the_experiment_as_understood_has_every_copy(tmp_path: Path) -> None:
    text = to_yaml(load(tmp_path))

    assert "copies" not in text
    assert "ear-3" in text
