"""What a store is asked, and what becomes of one that does not answer."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from stream2gym.clients import store_watch
from stream2gym.clients.latest_rows import LONGEST_CELL, MOST_READ, pick_latest
from stream2gym.clients.store_tables import OFFSETS, ServerLost
from stream2gym.clients.store_watch import MOST_COUNTED, StoreWatch, WatchedStore, read_mongo, read_mysql


class Server:
    """Stands for a database server: tables with what the server believes and what is there."""

    def __init__(self, **tables: tuple[int | None, int]) -> None:
        self.tables: dict[str, tuple[int | None, int]] = {**tables, OFFSETS: (3, 3)}
        self.counted: list[str] = []
        self.shown: list[str] = []

    def run(self, statement: str) -> list[tuple[Any, ...]]:
        if statement.startswith("SHOW"):
            return [("Threads_connected", "4")]
        if "information_schema.columns" in statement:
            return [(name, column) for name in self.tables for column in ("id", "value")]
        if "information_schema.key_column_usage" in statement:
            return [("keyed", "id")]
        if "information_schema" in statement:
            return [(name, estimate) for name, (estimate, _) in self.tables.items()]
        if statement.startswith("SELECT LEFT"):
            self.shown.append(statement)
            return [(b"1", "x" * 500), (None, "y")]
        if statement.startswith("SELECT COUNT(*)"):
            name = statement.split("`")[1]
            self.counted.append(name)
            return [(self.tables[name][1],)]
        assert statement == "COMMIT"
        return []


def test_small_tables_are_counted_and_of_large_ones_the_servers_estimate_is_taken() -> None:
    server = Server(small=(90, 100), empty=(None, 0), large=(MOST_COUNTED + 1, 5))
    found = read_mysql(server.run)
    assert found["connections"] == 3
    assert found["rows"] == {"small": 100, "empty": 0, "large": MOST_COUNTED + 1}
    assert server.counted == ["small", "empty"]


def test_the_last_rows_are_those_with_the_highest_key_or_those_that_are_kept_last() -> None:
    server = Server(keyed=(MOST_COUNTED + 1, 5), plain=(90, 100), empty=(0, 0), large=(MOST_READ + 1, 5))
    keyed, plain = read_mysql(server.run)["latest"]
    assert keyed["table"] == "keyed"
    assert keyed["by"] == "id"
    assert keyed["columns"] == ["id", "value"]
    assert keyed["rows"][0] == ["1", "x" * (LONGEST_CELL - 1) + "…"]
    assert keyed["rows"][1] == [None, "y"]
    assert plain["rows"] == keyed["rows"][::-1], "what comes last stands first"
    assert server.shown[0].endswith("FROM `keyed` ORDER BY `id` DESC LIMIT 8")
    assert server.shown[1].endswith("FROM `plain` LIMIT 8 OFFSET 92")


def test_a_store_without_a_server_tells_the_last_of_its_rows() -> None:
    rows = [{"n": number, **({"extra": "é"} if number == 19 else {})} for number in range(20)]
    found = pick_latest("t", rows, "n")
    assert found is not None
    assert found["columns"] == ["n", "extra"]
    assert found["rows"][:2] == [["19", "é"], ["18", None]]
    assert len(found["rows"]) == 8
    assert pick_latest("t", []) is None


def test_collections_are_rows_of_a_document_store() -> None:
    class Database(dict[str, Any]):
        def list_collection_names(self) -> list[str]:
            return list(self)

    class Client(dict[str, Any]):
        admin = SimpleNamespace(command=lambda _name: {"connections": {"current": 6}})

    class Documents:
        def find(self) -> Documents:
            return self

        def sort(self, *order: object) -> Documents:
            assert order == ("$natural", -1)
            return self

        def limit(self, most: int) -> list[dict[str, Any]]:
            documents: list[dict[str, Any]] = [{"_id": 2, "a": {"b": 1}}, {"_id": 1}]
            return documents[:most]

        def estimated_document_count(self) -> int:
            return 12

    client = Client(db=Database(things=Documents()))
    found = read_mongo(client, "db")
    assert found["connections"] == 6
    assert found["rows"] == {"things": 12}
    [latest] = found["latest"]
    assert latest == {"table": "things", "by": "", "columns": ["_id", "a"], "rows": [["2", "{'b': 1}"], ["1", None]]}


def test_a_lost_server_is_told_and_asked_again_over_a_new_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    class Reader:
        def __init__(self, _connection: object) -> None:
            made.append("open")

        def read(self) -> dict[str, Any]:
            if len(made) == 1:
                raise ServerLost("gone away")
            return {"connections": 1, "rows": {}, "latest": [{"table": "t", "rows": [["1"]]}]}

        def close(self) -> None:
            made.append("closed")

    monkeypatch.setitem(store_watch._READERS, "mysql", Reader)
    watch = StoreWatch((WatchedStore("db", {"kind": "mysql"}),))
    assert watch.look() == ({}, {"db": "gone away"})
    found, failed = watch.look()
    assert failed == {}
    assert found["db"]["latest"] == [{"table": "t", "rows": [["1"]]}]
    assert watch.look()[0]["db"]["latest"] == [], "what has not changed is not told again"
    assert made == ["open", "closed", "open"]
