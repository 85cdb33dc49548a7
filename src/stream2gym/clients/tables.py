"""Tables of a store, as sinks and audits use them: rows go in together with the offsets they came from.

``open_tables`` takes a connection (a plain dictionary that the store's component made) and gives a handle. The
offsets stand in a table of their own in the same store and are written in the same transaction as the rows, so
that a crash at any moment neither loses nor doubles a row.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from stream2gym.clients.process import Cannot

Place = tuple[str, int]
Row = dict[str, Any]
OFFSETS = "s2g_offsets"
RETRY_S = 0.1
_SQL_TYPES = {bool: "BOOLEAN", int: "BIGINT", float: "DOUBLE"}
_CONNECT_TYPES = {
    "int8": "TINYINT", "int16": "SMALLINT", "int32": "INT", "int64": "BIGINT", "float": "FLOAT",
    "float32": "FLOAT", "float64": "DOUBLE", "double": "DOUBLE", "boolean": "BOOLEAN", "bytes": "LONGBLOB",
}  # fmt: skip
_DUPLICATE, _NO_TABLE, _UNKNOWN_COLUMN = 1062, 1146, 1054
_LOST = (2003, 2006, 2013, 1053, 1927)  # no server, gone away, lost, shutting down, killed


class Lost(Exception):
    """The server is gone; a new connection may find it again."""


class Tables(Protocol):
    def offsets(self, sink: str) -> dict[Place, int]: ...

    def write(self, sink: str, rows: Sequence[tuple[str, Row]], offsets: Mapping[Place, int]) -> None: ...

    def rows(self, table: str) -> Iterator[Row]: ...

    def close(self) -> None: ...


def open_tables(
    connection: Mapping[str, Any],
    *,
    keys: Sequence[str] = (),
    replace: bool = True,
    create: bool = True,
    types: Mapping[str, str] | None = None,
) -> Tables:
    """A handle on the store; Lost when it cannot be reached now. With ``replace`` a row takes the place of the one
    with the same keys; without, it is refused."""
    if connection["kind"] == "mysql":
        return MySqlTables(connection, keys, create, types or {}, replace)
    if connection["kind"] == "rocksdb":
        return RocksTables(str(connection["path"]), keys, replace)
    raise Cannot(f"no sink writes to stores of type {connection['kind']}")


def until_open(open_: Callable[[], Tables], within_s: float, stop: Callable[[], bool]) -> Tables:
    """Try until the server answers; Cannot with its last words when it does not in time."""
    deadline = time.monotonic() + within_s
    while True:
        try:
            return open_()
        except Lost as error:
            if stop():
                raise Cannot(f"the store was gone when it had to stop: {error}") from error
            if time.monotonic() >= deadline:
                raise Cannot(f"the store did not answer within {within_s:g} s: {error}") from error
            time.sleep(RETRY_S)


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


class MySqlTables:
    """MariaDB or MySQL. A table that is missing is made from the first row, unless that is not wanted."""

    def __init__(
        self,
        connection: Mapping[str, Any],
        keys: Sequence[str],
        create: bool,
        types: Mapping[str, str],
        replace: bool = True,
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
                connect_timeout=5,
                read_timeout=30,
                write_timeout=30,
            )
        except (pymysql.err.MySQLError, OSError) as error:
            raise self._explained(error) from error

    def run(self, statement: str, values: Sequence[Any] = ()) -> Sequence[tuple[Any, ...]]:
        """One statement and what it gives."""
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

    def write(self, sink: str, rows: Sequence[tuple[str, Row]], offsets: Mapping[Place, int]) -> None:
        by_shape: dict[tuple[str, tuple[str, ...]], list[tuple[Any, ...]]] = {}
        for table, row in rows:
            if table not in self._known:
                self._make(table, row)
            by_shape.setdefault((table, tuple(row)), []).append(tuple(map(_sql_value, row.values())))
        try:
            with self._db.cursor() as cursor:
                for (table, columns), values in by_shape.items():
                    cursor.executemany(self._insert(table, columns), values)
                cursor.executemany(
                    f"REPLACE INTO {OFFSETS} (sink, topic, part, next) VALUES (%s, %s, %s, %s)",
                    [(sink, topic, part, at) for (topic, part), at in offsets.items()],
                )
            self._db.commit()
        except (self._error, OSError) as error:
            raise self._explained(error) from error

    def rows(self, table: str) -> Iterator[Row]:
        with self._db.cursor() as cursor:
            cursor.execute(f"SELECT * FROM {quoted(table)}")
            names = [column[0] for column in cursor.description]
            for values in cursor.fetchall():
                yield dict(zip(names, values, strict=True))

    def close(self) -> None:
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
        """Make the table unless it is there; without permission to, its absence shows at the first insert."""
        self._known.add(table)
        if not self._create:
            return
        columns = [f"{quoted(name)} {self._type(name, value)}" for name, value in row.items()]
        missing = [key for key in self._keys if key not in row]
        if missing:
            raise Cannot(
                f"the keys {', '.join(missing)} are no fields of the rows of {table}: {', '.join(row)}"
            )
        if self._keys:
            columns.append(f"PRIMARY KEY ({', '.join(map(quoted, self._keys))})")
        self.run(f"CREATE TABLE IF NOT EXISTS {quoted(table)} ({', '.join(columns)})")

    def _type(self, name: str, value: Any) -> str:
        known = _CONNECT_TYPES.get(self._types.get(name, "")) or _SQL_TYPES.get(type(value))
        return known or ("VARCHAR(255)" if name in self._keys else "TEXT")

    def _explained(self, error: Exception) -> Exception:
        """What went wrong in words, and whether trying again may help."""
        code = error.args[0] if error.args else 0
        words = str(error.args[1]) if len(error.args) > 1 else str(error)
        if isinstance(error, OSError) or code in _LOST or "closed" in words.lower():
            return Lost(words)
        if code == _DUPLICATE:
            why = "its mode is insert" if self._keys else "it has no keys to replace it by"
            return Cannot(f"a row is there already, and the sink may not replace it ({why}): {words}")
        if code == _NO_TABLE:
            return Cannot(f"{words} (the sink may not make it: create is false)")
        if code == _UNKNOWN_COLUMN:
            return Cannot(f"the table has other columns than the rows: {words}")
        return Cannot(f"the store refuses: {words}")


class RocksTables:
    """RocksDB: one value a row under ``TABLE/KEY``, rows and offsets in one write batch."""

    def __init__(self, path: str, keys: Sequence[str], replace: bool = True) -> None:
        import rocksdict

        self._batch = rocksdict.WriteBatch
        self._keys, self._replace = keys, replace
        try:
            self._db = rocksdict.Rdict(path, rocksdict.Options(raw_mode=True))
        except Exception as error:
            raise Cannot(f"RocksDB cannot be opened: {error}") from error

    def offsets(self, sink: str) -> dict[Place, int]:
        found = self._db.get(f"{OFFSETS}/{sink}".encode())
        return {(topic, part): at for topic, part, at in json.loads(found)} if found else {}

    def write(self, sink: str, rows: Sequence[tuple[str, Row]], offsets: Mapping[Place, int]) -> None:
        batch = self._batch(raw_mode=True)
        put: set[bytes] = set()
        for number, (table, row) in enumerate(rows):
            key = [row.get(name) for name in self._keys] if self._keys else [time.time_ns(), number]
            name = f"{table}/{json.dumps(key)}".encode()
            if not self._replace and self._keys and (name in put or self._db.get(name) is not None):
                raise Cannot(f"a row is there already, and the sink may not replace it: {name.decode()}")
            put.add(name)
            batch.put(name, json.dumps(row, default=str).encode())
        every = self.offsets(sink) | dict(offsets)
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
