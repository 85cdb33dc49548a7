"""Properties of a Kafka Connect JDBC sink, as a store and a sink of ours."""

from __future__ import annotations

from typing import Any

import pytest

from stream2gym.spec.readers.graphml.store_properties import store_and_sink

HEAD = "name=shop\nconnection.url=jdbc:mysql://db.example:3306/shop\ntopics=orders\n"


def sink_of(*lines: str) -> tuple[dict[str, Any], str]:
    _, sink, warnings = store_and_sink(HEAD + "\n".join(lines), "s.properties", host="h4", kind="")
    assert sink is not None
    return sink, "\n".join(map(str, warnings))


@pytest.mark.parametrize(
    ("lines", "keys"),
    [
        ((), {}),
        (("pk.mode=none",), {}),
        (("insert.mode=upsert", "pk.mode=record_value", "pk.fields=id, day"), {"keys": ["id", "day"]}),
        (("insert.mode=insert", "pk.mode=record_value", "pk.fields=id"), {"keys": ["id"], "mode": "insert"}),
        (("pk.fields=id",), {"keys": ["id"], "mode": "insert"}),
        (
            ("insert.mode=upsert", "pk.mode=record_key", "pk.fields=ship"),
            {"keys": ["ship"], "keys_from": "key"},
        ),
        (("insert.mode=upsert", "pk.mode=kafka"), {"keys_from": "place"}),
        (
            ("pk.mode=kafka", "pk.fields=t,p,o"),
            {"keys": ["t", "p", "o"], "keys_from": "place", "mode": "insert"},
        ),
        (("batch.size=3000", "auto.create=false"), {"batch": 3000, "create": False}),
        (("auto.create=true",), {}),
    ],
)
def test_keys_modes_and_sizes_are_understood(lines: tuple[str, ...], keys: dict[str, Any]) -> None:
    sink, warnings = sink_of(*lines)
    assert sink == {"store": "store-h4-1", "topics": ["orders"], **keys}
    assert not warnings


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("insert.mode=update", "'update' is not understood"),
        ("insert.mode=upsert", "needs pk.mode and pk.fields"),
        ("pk.mode=record_value", "without pk.fields"),
        ("batch.size=many", "not a whole number"),
        ("transforms=unwrap", "transforms: has no effect here"),
        ("delete.enabled=true", "delete.enabled: has no effect here"),
    ],
)
def test_what_cannot_be_done_is_told(line: str, words: str) -> None:
    assert words in sink_of(line)[1]


def test_properties_of_the_worker_are_kept_without_a_word() -> None:
    sink, warnings = sink_of("connector.class=io.confluent.connect.jdbc.JdbcSinkConnector", "tasks.max=2")
    assert sink["config"]["tasks.max"] == "2"
    assert not warnings
