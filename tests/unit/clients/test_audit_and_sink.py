"""Rows out of messages, and tables against the topics they come from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stream2gym.clients.audit import Tally, tally
from stream2gym.clients.client_process import CannotContinue
from stream2gym.clients.line_source import LineSourceConfig, lines_of
from stream2gym.clients.sink import SinkConfig, row_for, row_of, table_for
from stream2gym.clients.store_tables import OffsetsMoved, RocksTables


def test_a_json_object_is_a_row() -> None:
    assert row_of(None, b'{"a": 1, "b": "x"}') == ({"a": 1, "b": "x"}, {})


def test_kafka_connects_envelope_is_opened_and_its_types_are_kept() -> None:
    fields = [{"field": "a", "type": "int32", "optional": False}]
    value = {"schema": {"type": "struct", "fields": fields}, "payload": {"a": 1}}
    assert row_of(None, json.dumps(value).encode()) == ({"a": 1}, {"a": "int32"})


def test_anything_else_is_a_row_of_key_and_value() -> None:
    assert row_of(b"k", b"plain text") == ({"k": "k", "v": "plain text"}, {})
    assert row_of(b"k", None) is None


@pytest.mark.parametrize(
    ("keys", "keys_from", "key", "more"),
    [
        (("a",), "value", b"x", {}),
        (("ship",), "key", b"x", {"ship": "x"}),
        (("ship",), "key", b"7", {"ship": 7}),
        (("ship", "day"), "key", b'{"ship": 7, "day": "mon", "more": 1}', {"ship": 7, "day": "mon"}),
        (("ship",), "key", b'{"schema": null, "payload": {"ship": 7}}', {"ship": 7}),
        (("ship",), "key", None, {"ship": None}),
        ((), "place", None, {"__connect_topic": "t", "__connect_partition": 1, "__connect_offset": 5}),
        (("x", "y", "z"), "place", None, {"x": "t", "y": 1, "z": 5}),
    ],
)
def test_keys_come_from_the_value_the_key_or_the_place_of_a_message(
    keys: tuple[str, ...], keys_from: str, key: bytes | None, more: dict[str, object]
) -> None:
    config = SinkConfig("s", "b", {}, ("t",), keys=keys, keys_from=keys_from)
    assert row_for(config, ("t", 1, 5), key, b'{"a": 1}') == ({"a": 1, **more}, {})
    assert row_for(config, ("t", 1, 5), key, None) is None


def test_a_table_is_named_like_its_topic_unless_told_otherwise() -> None:
    config = SinkConfig("s", "b", {}, ("t",))
    assert table_for(config, "t") == "t"
    assert table_for(SinkConfig("s", "b", {}, ("t",), table="kept_${topic}"), "t") == "kept_t"


def test_rows_that_are_missing_or_doubled_are_counted() -> None:
    expected = [{"a": 1}, {"a": 2}, {"a": 2}]
    assert tally(expected, [{"a": 1}, {"a": 2}, {"a": 2}], ()) == Tally(3, 3, 0, 0)
    assert tally(expected, [{"a": 2}], ()) == Tally(3, 1, 2, 0)
    assert tally(expected, [{"a": 1}, {"a": 1}, {"a": 2}, {"a": 2}], ()) == Tally(3, 4, 0, 1)


def test_with_keys_the_last_row_of_a_key_is_the_one_that_counts() -> None:
    expected = [{"k": 1, "v": 1.0}, {"k": 1, "v": 2.0}, {"k": 2, "v": 3.0}]
    assert tally(expected, [{"k": 1, "v": 2}, {"k": 2, "v": 3}], ["k"]) == Tally(2, 2, 0, 0)
    assert tally(expected, [{"k": 1, "v": 1}, {"k": 2, "v": 3}], ["k"]) == Tally(2, 2, 1, 0)


def test_a_file_is_served_once_or_as_often_as_asked(tmp_path: Path) -> None:
    file = tmp_path / "lines"
    file.write_text("a\nb\n")
    config = LineSourceConfig("127.0.0.1", 1, "x", file=str(file))
    assert list(lines_of(config)) == ["a", "b"]
    assert list(lines_of(LineSourceConfig("127.0.0.1", 1, "x", file=str(file), lines=3))) == ["a", "b", "a"]


def test_generated_lines_are_the_same_for_the_same_seed() -> None:
    made = [list(lines_of(LineSourceConfig("127.0.0.1", 1, "x", lines=5, seed=seed))) for seed in (1, 1, 2)]
    assert made[0] == made[1] != made[2]


def test_rocksdb_keeps_rows_and_offsets_together(tmp_path: Path) -> None:
    pytest.importorskip("rocksdict")
    tables = RocksTables(str(tmp_path / "db"), ["k"])
    tables.write("s", [("t", {"k": 1, "v": "a"}), ("u", {"k": 9})], {}, {("in", 0): 2})
    tables.write("s", [("t", {"k": 1, "v": "b"})], {("in", 0): 2}, {("in", 1): 5})
    assert list(tables.rows("t")) == [{"k": 1, "v": "b"}]
    assert tables.offsets("s") == {("in", 0): 2, ("in", 1): 5}
    tables.close()


def test_rows_are_written_only_from_the_offsets_that_the_writer_knows(tmp_path: Path) -> None:
    pytest.importorskip("rocksdict")
    tables = RocksTables(str(tmp_path / "db"), ["k"])
    tables.write("s", [("t", {"k": 1})], {}, {("in", 0): 2})
    with pytest.raises(OffsetsMoved) as moved:
        tables.write("s", [("t", {"k": 2})], {}, {("in", 0): 2, ("in", 1): 1})
    assert moved.value.offsets == {("in", 0): 2}
    assert [row["k"] for row in tables.rows("t")] == [1]
    tables.close()


def test_a_rocksdb_that_may_not_replace_refuses_a_second_row(tmp_path: Path) -> None:
    pytest.importorskip("rocksdict")
    tables = RocksTables(str(tmp_path / "db"), ["k"], replace=False)
    tables.write("s", [("t", {"k": 1})], {}, {("in", 0): 1})
    with pytest.raises(CannotContinue, match="may not replace"):
        tables.write("s", [("t", {"k": 1})], {("in", 0): 1}, {("in", 0): 2})
    with pytest.raises(CannotContinue, match="may not replace"):
        tables.write("s", [("t", {"k": 2}), ("t", {"k": 2})], {("in", 0): 1}, {("in", 0): 3})
    assert tables.offsets("s") == {("in", 0): 1}
    tables.close()
