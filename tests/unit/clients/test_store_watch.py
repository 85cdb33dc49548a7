"""What a store is asked, and what becomes of one that does not answer."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from stream2gym.clients import store_watch
from stream2gym.clients.store_tables import OFFSETS, ServerLost
from stream2gym.clients.store_watch import MOST_COUNTED, StoreWatch, WatchedStore, read_mongo, read_mysql


class Server:
    """Stands for a database server: tables with what the server believes and what is there."""

    def __init__(self, **tables: tuple[int | None, int]) -> None:
        self.tables: dict[str, tuple[int | None, int]] = {**tables, OFFSETS: (3, 3)}
        self.counted: list[str] = []

    def run(self, statement: str) -> list[tuple[Any, ...]]:
        if statement.startswith("SHOW"):
            return [("Threads_connected", "4")]
        if "information_schema" in statement:
            return [(name, estimate) for name, (estimate, _) in self.tables.items()]
        if statement.startswith("SELECT COUNT(*)"):
            name = statement.split("`")[1]
            self.counted.append(name)
            return [(self.tables[name][1],)]
        assert statement == "COMMIT"
        return []


def test_small_tables_are_counted_and_of_large_ones_the_servers_estimate_is_taken() -> None:
    server = Server(small=(90, 100), empty=(None, 0), large=(MOST_COUNTED + 1, 5))
    assert read_mysql(server.run) == {"connections": 3, "rows": {"small": 100, "empty": 0, "large": MOST_COUNTED + 1}}
    assert server.counted == ["small", "empty"]


def test_collections_are_rows_of_a_document_store() -> None:
    class Database(dict[str, Any]):
        def list_collection_names(self) -> list[str]:
            return list(self)

    class Client(dict[str, Any]):
        admin = SimpleNamespace(command=lambda _name: {"connections": {"current": 6}})

    client = Client(db=Database(things=SimpleNamespace(estimated_document_count=lambda: 12)))
    assert read_mongo(client, "db") == {"connections": 6, "rows": {"things": 12}}


def test_a_lost_server_is_told_and_asked_again_over_a_new_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    class Reader:
        def __init__(self, _connection: object) -> None:
            made.append("open")

        def read(self) -> dict[str, Any]:
            if len(made) == 1:
                raise ServerLost("gone away")
            return {"connections": 1, "rows": {}}

        def close(self) -> None:
            made.append("closed")

    monkeypatch.setitem(store_watch._READERS, "mysql", Reader)
    watch = StoreWatch((WatchedStore("db", {"kind": "mysql"}),))
    assert watch.look() == ({}, {"db": "gone away"})
    assert watch.look() == ({"db": {"connections": 1, "rows": {}}}, {})
    assert made == ["open", "closed", "open"]
