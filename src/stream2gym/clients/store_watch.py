"""Asks stores for their connections and rows again and again; it runs on the observer host.

    python -m stream2gym.clients.store_watch CONFIG.json

CONTRACT
  in    CONFIG.json        a ``StoreWatchConfig``
        SIGTERM            end
  out   standard output    ``S2G {json}``: stores, every ``every_s`` seconds: ``found``, for each store that answered
                           its ``connections`` (without our own), ``rows`` by table, and in ``latest`` the last rows
                           of the tables whose last rows have changed (see ``latest_rows``); ``failed``, for each
                           other store the reason
  exit  0 asked to end; 2 bad configuration
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from stream2gym.clients.client_process import DONE, CannotContinue, Status, StopFlag, leave, report_error
from stream2gym.clients.config import ClientConfig, load
from stream2gym.clients.latest_rows import LatestTable, is_shown, read_latest_of_mongo, read_latest_of_mysql
from stream2gym.clients.store_tables import MySqlTables, ServerLost, quoted
from stream2gym.errors import BadInput
from stream2gym.jsonable import Jsonable

ANSWER_S = 2.0
END_S = 2.0
PAUSE_S = 0.1
# Rows of a table are counted up to here. To count more takes the server too long: then its own estimate is taken.
MOST_COUNTED = 100_000


@dataclass(frozen=True)
class WatchedStore(Jsonable):
    name: str
    connection: dict[str, Any]


@dataclass(frozen=True)
class StoreWatchConfig(ClientConfig):
    stores: tuple[WatchedStore, ...]
    every_s: float


class StoreReader(Protocol):
    """An open connection to a store."""

    def read(self) -> dict[str, Any]:
        """``connections``, ``rows`` by table, and the ``latest`` rows of tables."""

    def close(self) -> None: ...


class MySqlReader:
    """MariaDB or MySQL."""

    def __init__(self, connection: Mapping[str, Any]) -> None:
        self._tables = MySqlTables(connection, (), False, {}, answer_s=ANSWER_S)

    def read(self) -> dict[str, Any]:
        return read_mysql(self._tables.run)

    def close(self) -> None:
        self._tables.close()


def read_mysql(run: Callable[[str], Any]) -> dict[str, Any]:
    """What the server says. ``run`` runs one statement and returns its rows."""
    [(_, connections)] = run("SHOW GLOBAL STATUS LIKE 'Threads_connected'")
    estimates = run("SELECT table_name, table_rows FROM information_schema.tables WHERE table_schema = DATABASE()")
    rows = {}
    for table, estimate in estimates:
        if not is_shown(str(table)):
            continue
        if (estimate or 0) <= MOST_COUNTED:
            [(rows[str(table)],)] = run(f"SELECT COUNT(*) FROM {quoted(str(table))}")
        else:
            rows[str(table)] = int(estimate)
    latest = read_latest_of_mysql(run, rows)
    # Otherwise the next look would see the tables as they are now.
    run("COMMIT")
    return {"connections": int(connections) - 1, "rows": rows, "latest": latest}


class MongoReader:
    """MongoDB or FerretDB."""

    def __init__(self, connection: Mapping[str, Any]) -> None:
        import pymongo

        timeout_ms = int(ANSWER_S * 1000)
        self._client: Any = pymongo.MongoClient(
            connection["host"],
            int(connection["port"]),
            directConnection=True,
            serverSelectionTimeoutMS=timeout_ms,
            socketTimeoutMS=timeout_ms,
        )
        self._database = connection["database"]

    def read(self) -> dict[str, Any]:
        from pymongo.errors import PyMongoError

        try:
            return read_mongo(self._client, self._database)
        except PyMongoError as error:
            raise ServerLost(str(error)) from error

    def close(self) -> None:
        self._client.close()


def read_mongo(client: Any, database: str) -> dict[str, Any]:
    """What the server says. It counts our own connections, too, and does not say how many there are."""
    status = client.admin.command("serverStatus")
    collections = client[database].list_collection_names()
    rows = {name: int(client[database][name].estimated_document_count()) for name in collections}
    latest = read_latest_of_mongo(client[database], [name for name, count in rows.items() if count])
    return {"connections": int(status["connections"]["current"]), "rows": rows, "latest": latest}


_READERS: dict[str, Callable[[Mapping[str, Any]], StoreReader]] = {"mysql": MySqlReader, "mongodb": MongoReader}
# An embedded store is open in the process of its sink only: nobody else can ask it.
WATCHED_KINDS = frozenset(_READERS)


def open_reader(store: WatchedStore) -> StoreReader:
    """Connect to a store of one of ``WATCHED_KINDS``."""
    return _READERS[store.connection["kind"]](store.connection)


class StoreWatch:
    """Reads all stores. A connection that fails is opened again at the next look."""

    def __init__(self, stores: tuple[WatchedStore, ...]) -> None:
        self._stores = stores
        self._open: dict[str, StoreReader] = {}
        # The last rows that were told, by store and table.
        self._told: dict[tuple[str, str], LatestTable] = {}

    def look(self) -> tuple[dict[str, Any], dict[str, str]]:
        """What each store answered, and why others did not."""
        found: dict[str, Any] = {}
        failed: dict[str, str] = {}
        for store in self._stores:
            try:
                if store.name not in self._open:
                    self._open[store.name] = open_reader(store)
                answer = self._open[store.name].read()
                found[store.name] = answer | {"latest": self._pick_changed(store.name, answer["latest"])}
            except (ServerLost, CannotContinue, OSError) as error:
                failed[store.name] = str(error)
                if store.name in self._open:
                    self._open.pop(store.name).close()
        return found, failed

    def _pick_changed(self, store: str, latest: list[LatestTable]) -> list[LatestTable]:
        changed = [one for one in latest if self._told.get((store, one["table"])) != one]
        self._told |= {(store, one["table"]): one for one in changed}
        return changed


def main(path: str) -> int:
    status = Status()
    try:
        config = load(StoreWatchConfig, Path(path))
    except BadInput as error:
        return report_error(status, error)
    stop = StopFlag(END_S)
    watch = StoreWatch(config.stores)
    due = time.monotonic()
    while not stop.asked:
        found, failed = watch.look()
        status.say("stores", found=found, failed=failed)
        due = max(due + config.every_s, time.monotonic())
        while not stop.asked and (left_s := due - time.monotonic()) > 0:
            time.sleep(min(PAUSE_S, left_s))
    return DONE


if __name__ == "__main__":
    leave(main(sys.argv[1]))
