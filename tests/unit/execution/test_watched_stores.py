"""Which stores are asked for their rows while a run goes on."""

from __future__ import annotations

from typing import Any

from stream2gym.execution.start_monitors import find_watched_stores


class Store:
    """Stands for the component of a store."""

    def __init__(self, name: str, connection: dict[str, Any] | None) -> None:
        self.name = name
        self._connection = connection

    def connection(self) -> dict[str, Any]:
        if self._connection is None:
            raise NotImplementedError
        return self._connection


def test_servers_that_our_client_knows_are_asked_and_no_others() -> None:
    stores: Any = [
        Store("db", {"kind": "mysql", "host": "h1"}),
        Store("embedded", {"kind": "rocksdb", "path": "/x"}),
        Store("of-a-plug-in", {"address": "somewhere"}),
        Store("without-a-connection", None),
    ]
    assert [store.name for store in find_watched_stores(stores)] == ["db"]
