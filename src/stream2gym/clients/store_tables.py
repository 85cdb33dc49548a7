"""Tables of a store for sinks and audits: rows are written together with the offsets that they came from.

``open_tables`` takes a connection (a plain dictionary that the component of the store made) and returns a handle.
The offsets are in a table of the same store and are written in the same transaction as the rows, so that a crash at
any moment neither loses nor duplicates a row. A transaction first locks the offsets and compares them with those
that the writer knows. So a commit of an earlier connection, which may arrive long after that connection was given
up, is waited for and then noticed.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Protocol

from stream2gym.clients.client_process import CannotContinue

Place = tuple[str, int]
Row = dict[str, Any]
OFFSETS = "s2g_offsets"
RETRY_S = 0.1
CONNECT_S = 5
ANSWER_S = 30.0  # how long a server may take to answer
_SQL_TYPES = {bool: "BOOLEAN", int: "BIGINT", float: "DOUBLE"}
_CONNECT_TYPES = {
    "int8": "TINYINT", "int16": "SMALLINT", "int32": "INT", "int64": "BIGINT", "float": "FLOAT",
    "float32": "FLOAT", "float64": "DOUBLE", "double": "DOUBLE", "boolean": "BOOLEAN", "bytes": "LONGBLOB",
}  # fmt: skip
_DUPLICATE, _NO_TABLE, _UNKNOWN_COLUMN = 1062, 1146, 1054
_LOST = (2003, 2006, 2013, 1053, 1927)  # no server, gone away, lost, shutting down, killed
# Waited too long for a lock, or was chosen to end a deadlock: an earlier connection's transaction is still open.
_LOCKED = (1205, 1213)
# How long a statement waits for a lock before the connection counts as lost.
LOCK_WAIT_S = 5
_LOCK_WAITS = ("innodb_lock_wait_timeout", "lock_wait_timeout")  # for rows, for definitions of tables


class ServerLost(Exception):
    """The server is gone, or holds a lock for too long; a new connection may succeed."""


class OffsetsMoved(Exception):
    """Another transaction has moved the offsets since they were read; nothing was written."""

    def __init__(self, offsets: Mapping[Place, int]) -> None:
        super().__init__("the offsets in the store are not those that the writer knows")
        self.offsets = dict(offsets)


class Tables(Protocol):
    def offsets(self, sink: str) -> dict[Place, int]: ...

    def write(
        self,
        sink: str,
        rows: Sequence[tuple[str, Row]],
        before: Mapping[Place, int],
        after: Mapping[Place, int],
    ) -> None:
        """Write the rows and move the offsets of the places in ``after`` there, all or nothing.

        Raises OffsetsMoved when the store does not hold the offsets of ``before`` for these places (no entry: none).
        """

    def rows(self, table: str) -> Iterator[Row]: ...

    def close(self) -> None: ...


def open_tables(
    connection: Mapping[str, Any],
    *,
    keys: Sequence[str] = (),
    replace: bool = True,
    create: bool = True,
    types: Mapping[str, str] | None = None,
    answer_s: float = ANSWER_S,
) -> Tables:
    """A handle on the store; ServerLost when it cannot be reached now.

    With ``replace`` a row takes the place of the one with the same keys; without, it is refused. A server that takes
    longer than ``answer_s`` to answer is lost.
    """
    if connection["kind"] == "mysql":
        return MySqlTables(connection, keys, create, types or {}, replace=replace, answer_s=answer_s)
    if connection["kind"] == "rocksdb":
        return RocksTables(str(connection["path"]), keys, replace)
    raise CannotContinue(f"no sink writes to stores of type {connection['kind']}")


def until_open(open_: Callable[[], Tables], within_s: float, stop: Callable[[], bool]) -> Tables:
    """Try until the server answers; raises CannotContinue with the last error when it does not in time."""
    deadline = time.monotonic() + within_s
    while True:
        try:
            return open_()
        except ServerLost as error:
            if stop():
                raise CannotContinue(f"the store was gone when it had to stop: {error}") from error
            if time.monotonic() >= deadline:
                raise CannotContinue(f"the store did not answer within {within_s:g} s: {error}") from error
            time.sleep(RETRY_S)


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


class MySqlTables:
    """MariaDB or MySQL. A missing table is made from the first row, if ``create`` allows it."""

    def __init__(
        self,
        connection: Mapping[str, Any],
        keys: Sequence[str],
        create: bool,
        types: Mapping[str, str],
        *,
        replace: bool = True,
        answer_s: float = ANSWER_S,
    ) -> None:
        import pymysql

        self._error = pymysql.err.MySQLError
        self._keys, self._create, self._types, self._replace = keys, create, types, replace
        self._known: set[str] = set()
        try:
            self._db = pymysql.connect(
                host=connection["host"],
                port=int(connection["port"]),
                user=connection["user"],
                password=connection["password"],
                database=connection["database"],
                charset="utf8mb4",
                connect_timeout=CONNECT_S,
                read_timeout=answer_s,
                write_timeout=answer_s,
                init_command="SET SESSION " + ", ".join(f"{name} = {LOCK_WAIT_S}" for name in _LOCK_WAITS),
            )
        except (pymysql.err.MySQLError, OSError) as error:
            raise self._explained(error) from error

    def run(self, statement: str, values: Sequence[Any] = ()) -> Sequence[tuple[Any, ...]]:
        """Run one statement and return its rows."""
        try:
            with self._db.cursor() as cursor:
                cursor.execute(statement, values or None)
                return list(cursor.fetchall())
        except (self._error, OSError) as error:
            raise self._explained(error) from error

    def commit(self) -> None:
        try:
            self._db.commit()
        except (self._error, OSError) as error:
            raise self._explained(error) from error

    def offsets(self, sink: str) -> dict[Place, int]:
        self.run(
            f"CREATE TABLE IF NOT EXISTS {OFFSETS} (sink VARCHAR(63), topic VARCHAR(249), part INT, "
            "next BIGINT NOT NULL, PRIMARY KEY (sink, topic, part))"
        )
        found = self.run(f"SELECT topic, part, next FROM {OFFSETS} WHERE sink = %s", (sink,))
        self.commit()
        return {(str(topic), int(part)): int(at) for topic, part, at in found}

    def write(
        self,
        sink: str,
        rows: Sequence[tuple[str, Row]],
        before: Mapping[Place, int],
        after: Mapping[Place, int],
    ) -> None:
        by_shape: dict[tuple[str, tuple[str, ...]], list[tuple[Any, ...]]] = {}
        for table, row in rows:
            if table not in self._known:
                self._make(table, row)
            by_shape.setdefault((table, tuple(row)), []).append(tuple(map(_sql_value, row.values())))
        try:
            with self._db.cursor() as cursor:
                self._fence(cursor, sink, before, after)
                for (table, columns), values in by_shape.items():
                    cursor.executemany(self._insert(table, columns), values)
                cursor.executemany(
                    f"REPLACE INTO {OFFSETS} (sink, topic, part, next) VALUES (%s, %s, %s, %s)",
                    [(sink, topic, part, at) for (topic, part), at in after.items()],
                )
            self._db.commit()
        except (self._error, OSError) as error:
            raise self._explained(error) from error

    def _fence(self, cursor: Any, sink: str, before: Mapping[Place, int], after: Mapping[Place, int]) -> None:
        """Lock the offsets until the commit; raises OffsetsMoved unless they are those of ``before``."""
        places = ", ".join(["(%s, %s)"] * len(after))
        cursor.execute(
            f"SELECT topic, part, next FROM {OFFSETS} WHERE sink = %s AND (topic, part) IN ({places}) FOR UPDATE",
            (sink, *(value for place in after for value in place)),
        )
        found = {(str(topic), int(part)): int(at) for topic, part, at in cursor.fetchall()}
        if found != {place: before[place] for place in after if place in before}:
            self._db.rollback()
            raise OffsetsMoved(found)

    def rows(self, table: str) -> Iterator[Row]:
        with self._db.cursor() as cursor:
            cursor.execute(f"SELECT * FROM {quoted(table)}")
            names = [column[0] for column in cursor.description]
            for values in cursor.fetchall():
                yield dict(zip(names, values, strict=True))

    def close(self) -> None:
        with suppress(self._error, OSError):
            self._db.close()

    def _insert(self, table: str, columns: Sequence[str]) -> str:
        names = ", ".join(map(quoted, columns))
        marks = ", ".join(["%s"] * len(columns))
        text = f"INSERT INTO {quoted(table)} ({names}) VALUES ({marks})"
        others = [column for column in columns if column not in self._keys]
        if self._keys and self._replace:
            changes = [f"{quoted(name)} = VALUES({quoted(name)})" for name in others or columns]
            text += f" ON DUPLICATE KEY UPDATE {', '.join(changes)}"
        return text

    def _make(self, table: str, row: Row) -> None:
        """Make the table if it is missing; where that is not permitted, the first insert fails."""
        self._known.add(table)
        if not self._create:
            return
        columns = [f"{quoted(name)} {self._type(name, value)}" for name, value in row.items()]
        missing = [key for key in self._keys if key not in row]
        if missing:
            raise CannotContinue(
                f"the keys {', '.join(missing)} are no fields of the rows of {table}: {', '.join(row)}"
            )
        if self._keys:
            columns.append(f"PRIMARY KEY ({', '.join(map(quoted, self._keys))})")
        self.run(f"CREATE TABLE IF NOT EXISTS {quoted(table)} ({', '.join(columns)})")

    def _type(self, name: str, value: Any) -> str:
        known = _CONNECT_TYPES.get(self._types.get(name, "")) or _SQL_TYPES.get(type(value))
        return known or ("VARCHAR(255)" if name in self._keys else "TEXT")

    def _explained(self, error: Exception) -> Exception:
        """The exception for a database error: ServerLost when trying again may help, else CannotContinue."""
        code = error.args[0] if error.args else 0
        words = str(error.args[1]) if len(error.args) > 1 else str(error)
        if isinstance(error, OSError) or code in (*_LOST, *_LOCKED) or "closed" in words.lower():
            return ServerLost(words)
        if code == _DUPLICATE:
            why = "its mode is insert" if self._keys else "it has no keys to replace it by"
            return CannotContinue(f"a row is there already, and the sink may not replace it ({why}): {words}")
        if code == _NO_TABLE:
            return CannotContinue(f"{words} (the sink may not make it: create is false)")
        if code == _UNKNOWN_COLUMN:
            return CannotContinue(f"the table has other columns than the rows: {words}")
        return CannotContinue(f"the store refuses: {words}")


class RocksTables:
    """RocksDB: each row is a value under ``TABLE/KEY``; rows and offsets are in one write batch."""

    def __init__(self, path: str, keys: Sequence[str], replace: bool = True) -> None:
        import rocksdict

        self._batch = rocksdict.WriteBatch
        self._keys, self._replace = keys, replace
        try:
            self._db = rocksdict.Rdict(path, rocksdict.Options(raw_mode=True))
        except Exception as error:
            raise CannotContinue(f"RocksDB cannot be opened: {error}") from error

    def offsets(self, sink: str) -> dict[Place, int]:
        found = self._db.get(f"{OFFSETS}/{sink}".encode())
        return {(topic, part): at for topic, part, at in json.loads(found)} if found else {}

    def write(
        self,
        sink: str,
        rows: Sequence[tuple[str, Row]],
        before: Mapping[Place, int],
        after: Mapping[Place, int],
    ) -> None:
        stored = self.offsets(sink)
        found = {place: stored[place] for place in after if place in stored}
        if found != {place: before[place] for place in after if place in before}:
            raise OffsetsMoved(found)
        batch = self._batch(raw_mode=True)
        put: set[bytes] = set()
        for number, (table, row) in enumerate(rows):
            key = [row.get(name) for name in self._keys] if self._keys else [time.time_ns(), number]
            name = f"{table}/{json.dumps(key)}".encode()
            if not self._replace and self._keys and (name in put or self._db.get(name) is not None):
                raise CannotContinue(f"a row is there already, and the sink may not replace it: {name.decode()}")
            put.add(name)
            batch.put(name, json.dumps(row, default=str).encode())
        every = stored | dict(after)
        text = json.dumps([[topic, part, at] for (topic, part), at in every.items()])
        batch.put(f"{OFFSETS}/{sink}".encode(), text.encode())
        self._db.write(batch)

    def rows(self, table: str) -> Iterator[Row]:
        start = f"{table}/".encode()
        for key, value in self._db.items(from_key=start):
            if not isinstance(key, bytes) or not key.startswith(start):
                return
            yield json.loads(str(value, "utf-8") if isinstance(value, bytes) else value)

    def close(self) -> None:
        self._db.close()


def _sql_value(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, dict | list) else value
