"""A sink against a real server whose earlier transaction is still open: its commit comes late, or never.

That is what a cut link leaves: the sink has sent COMMIT, gives the connection up and comes back on another one, and
the server gets the old COMMIT when the link heals.
"""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from stream2gym.clients import store_tables
from stream2gym.clients.client_process import Status
from stream2gym.clients.sink import Sink, SinkConfig
from stream2gym.clients.store_tables import MySqlTables, ServerLost, Tables, open_tables, until_open
from stream2gym.software.database_server import BUNDLED, find_database_server, with_template

PATIENCE_S = 180.0
FIRST_SQL = (
    "CREATE DATABASE s2g CHARACTER SET utf8mb4;\n"
    "CREATE USER 's2g'@'%' IDENTIFIED BY 's2g';\n"
    "GRANT ALL ON *.* TO 's2g'@'%';\n"
)


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """A server of the module's own on the loopback."""
    folder = tmp_path_factory.mktemp("mariadb")
    software = with_template(find_database_server(BUNDLED))
    shutil.copytree(software.template, folder / "data")
    (folder / "first.sql").write_text(FIRST_SQL)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [
            *software.serve(str(folder / "data")),
            f"--port={port}",
            "--bind-address=127.0.0.1",
            f"--socket={folder}/server.sock",
            f"--init-file={folder}/first.sql",
            f"--user={pwd.getpwuid(os.geteuid()).pw_name}",
        ],
        env=os.environ | software.environment,
        stderr=subprocess.DEVNULL,
    )
    where = {"kind": "mysql", "host": "127.0.0.1", "port": port}
    where |= {"user": "s2g", "password": "s2g", "database": "s2g"}
    try:
        until_open(lambda: open_tables(where), PATIENCE_S, lambda: False).close()
        yield where
    finally:
        server.kill()
        server.wait()


class FakeMessage:
    """A message of topic ``in``; its value is its offset."""

    def __init__(self, partition: int, offset: int) -> None:
        self._partition, self._offset = partition, offset

    def topic(self) -> str:
        return "in"

    def partition(self) -> int:
        return self._partition

    def offset(self) -> int:
        return self._offset

    def key(self) -> None:
        return None

    def value(self) -> bytes:
        return f"{self._partition}/{self._offset}".encode()

    def error(self) -> None:
        return None


class FakeLibrary:
    """Kafka is not asked anything here."""

    def Consumer(self, _settings: dict[str, Any]) -> None:
        return None


class Going:
    """Nobody asks the sink to stop."""

    asked = False


def batch(first: int, last: int, partitions: Sequence[int] = (0, 1)) -> list[Any]:
    return [FakeMessage(number, offset) for number in partitions for offset in range(first, last)]


class Said(Status):
    """What the sink says, kept."""

    def __init__(self) -> None:
        self.events: list[str] = []

    def say(self, event: str, **_details: Any) -> bool:
        self.events.append(event)
        return True


def make_sink(name: str, connection: dict[str, Any]) -> tuple[Sink, Tables]:
    """A sink that has read the store's offsets, as after a start."""
    config = SinkConfig(name, "nowhere", connection, ("in",), table=f"rows_{name}")
    sink = Sink(config, FakeLibrary(), Said(), Going())  # type: ignore[arg-type]
    return sink, sink._read_offsets(sink._open())


def hold_commit(tables: Tables, how: Callable[[], None]) -> None:
    """Let the connection's next commit do something else: it is under way, or lost."""
    assert isinstance(tables, MySqlTables)
    tables._db.commit = how  # type: ignore[method-assign]


def values(connection: dict[str, Any], name: str) -> list[str]:
    tables = open_tables(connection)
    try:
        return sorted(str(row["v"]) for row in tables.rows(f"rows_{name}"))
    finally:
        tables.close()


def cut_at_commit(sink: Sink, tables: Tables, messages: list[Any]) -> Callable[[], None]:
    """Store a batch whose COMMIT hangs on the way and whose connection is given up. Returns what lets it arrive."""
    assert isinstance(tables, MySqlTables)
    arrive = tables._db.commit

    def lose() -> None:
        raise OSError("timed out")

    hold_commit(tables, lose)
    entries = sink._entries(messages)
    rows = [(one.table, one.row) for one in entries if one.row is not None]
    with pytest.raises(ServerLost):
        tables.write(sink.config.name, rows, sink._stored, {one.place: one.offset + 1 for one in entries})
    return arrive


@pytest.mark.parametrize("known", [False, True], ids=["first batch", "later batch"])
def test_a_commit_that_arrives_after_the_reconnect_doubles_no_row(connection: dict[str, Any], known: bool) -> None:
    name = f"late{int(known)}"
    sink, tables = make_sink(name, connection)
    tables = sink._store(tables, batch(0, 5)) if known else tables
    arrive = cut_at_commit(sink, tables, batch(5, 15) if known else batch(0, 15))

    other, fresh = make_sink(name, connection)
    threading.Timer(1.0, arrive).start()
    other._store(fresh, batch(5, 20) if known else batch(0, 20))

    assert values(connection, name) == sorted(f"{part}/{at}" for part in (0, 1) for at in range(20))
    assert other.positions == {("in", 0): 20, ("in", 1): 20}


def test_a_lock_that_is_held_for_long_is_a_connection_lost_and_the_sink_tries_again(
    connection: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_tables, "LOCK_WAIT_S", 1)
    sink, tables = make_sink("locked", connection)
    tables = sink._store(tables, batch(0, 5))
    cut_at_commit(sink, tables, batch(5, 10))
    assert isinstance(tables, MySqlTables)

    other, fresh = make_sink("locked", connection)
    threading.Timer(2.5, tables._db.rollback).start()
    other._store(fresh, batch(5, 10))

    assert isinstance(other.status, Said)
    assert other.status.events.count("lost") >= 1
    assert values(connection, "locked") == sorted(f"{part}/{at}" for part in (0, 1) for at in range(10))


def test_a_store_that_committed_before_it_went_is_asked_and_not_written_to_again(
    connection: dict[str, Any],
) -> None:
    sink, tables = make_sink("committed", connection)
    assert isinstance(tables, MySqlTables)
    commit = tables._db.commit

    def commit_and_break() -> None:
        commit()
        raise OSError("timed out")

    hold_commit(tables, commit_and_break)
    sink._store(tables, batch(0, 5))

    assert values(connection, "committed") == sorted(f"{part}/{at}" for part in (0, 1) for at in range(5))
