"""What a client is told, and what it says about mistakes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stream2gym.clients.config import ConsumerConfig, Imperfect, ProducerConfig, Sizes, load
from stream2gym.errors import BadInput
from stream2gym.record.messages import MOST_STARTS


def written(tmp_path: Path, value: object) -> Path:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(value))
    return path


def test_a_configuration_survives_its_file(tmp_path: Path) -> None:
    producer = ProducerConfig(
        "b:1",
        "gen",
        {"in": 2.0},
        size=Sizes("uniform", low=1, high=9),
        imperfect=Imperfect(late=0.1),
        acks="all",
    )
    assert load(ProducerConfig, written(tmp_path, producer.to_json())) == producer
    consumer = ConsumerConfig("b:1", "see", "g", topics=("in", "out"), client={"check.crcs": True})
    assert load(ConsumerConfig, written(tmp_path, consumer.to_json())) == consumer


def test_unknown_and_missing_keys_are_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as raised:
        load(ProducerConfig, written(tmp_path, {"name": "gen", "rte": 10}))
    assert str(raised.value).splitlines() == ["rte: is not a key", "bootstrap: is missing", "topics: is missing"]


def test_all_values_that_make_no_sense_are_told_at_once(tmp_path: Path) -> None:
    config = {"bootstrap": "b", "name": "gen", "topics": {}, "rate": 0, "size": {"kind": "normal"}}
    with pytest.raises(BadInput) as raised:
        load(ProducerConfig, written(tmp_path, config))
    assert [mistake.where for mistake in raised.value.mistakes] == ["topics", "rate", "size.mean", "size.deviation"]


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"topics": {}}, "at least one topic"),
        ({"rate": 0}, "not a rate"),
        ({"type": "ELTT"}, "needs a file"),
        ({"arrivals": {"kind": "poisson"}}, "need a rate"),
        ({"arrivals": {"kind": "trace"}}, "needs a file"),
        ({"size": {"kind": "uniform", "low": 9, "high": 1}}, "above high"),
        ({"size": {"kind": "pareto", "mean": 9, "shape": 1.0}}, "above 1"),
        ({"keys": {"kind": "fixed"}}, "needs its value"),
        ({"transactions": 0}, "transactions: needs at least one message"),
        ({"imperfect": {"late": 2}}, "between 0 and 1"),
        ({"messages": -1}, "below 0"),
        ({"skip": -1}, "below 0"),
        ({"size": {"kind": "fixed", "mean": -1}}, "below 0"),
        ({"instance": 0}, "count from 1"),
        ({"keys": 10}, "wrong type"),
        ({"rate": "fast"}, "wrong type"),
    ],
)
def test_values_that_make_no_sense_are_refused(tmp_path: Path, change: dict[str, object], part: str) -> None:
    config = {"bootstrap": "b", "name": "gen", "topics": {"in": 1}} | change
    with pytest.raises(BadInput, match=part):
        load(ProducerConfig, written(tmp_path, config))


def test_a_consumer_names_topics_or_a_pattern(tmp_path: Path) -> None:
    for change in ({}, {"topics": ["a"], "pattern": "a.*"}):
        with pytest.raises(BadInput, match="one of the two"):
            load(ConsumerConfig, written(tmp_path, {"bootstrap": "b", "name": "c", "group": "g"} | change))


def test_what_is_no_json_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text("{")
    with pytest.raises(BadInput, match="is not JSON"):
        load(ProducerConfig, path)
    with pytest.raises(BadInput, match="cannot be read"):
        load(ProducerConfig, tmp_path / "none.json")


def test_a_producer_that_was_started_too_often_is_refused_with_the_limit(tmp_path: Path) -> None:
    fine = ProducerConfig("b:1", "gen", {"in": 1.0}, incarnation=MOST_STARTS)
    assert load(ProducerConfig, written(tmp_path, fine.to_json())) == fine
    too_often = ProducerConfig("b:1", "gen", {"in": 1.0}, incarnation=MOST_STARTS + 1)
    with pytest.raises(BadInput, match=f"incarnation: .*at most {MOST_STARTS}"):
        load(ProducerConfig, written(tmp_path, too_often.to_json()))
