"""Dumps topics and tables at the end of a run, and compares tables with their topics; it runs on the observer host.

    python -m stream2gym.clients.audit CONFIG.json

CONTRACT
  in    CONFIG.json        an ``AuditConfig``
  out   ``folder``         topics/NAME.jsonl: every message of a topic as Kafka holds it: partition, offset,
                           time_ms, key, value; tables/STORE.TABLE.jsonl: every row
        standard output    ``S2G {json}``: audit, once for each sink and table: rows expected, present, missing,
                           ``doubled``; rows, once for each store: the last rows of its ``tables`` (see
                           ``latest_rows``); dumped (topics, tables) at the end; error: what
  exit  0 done; 2 bad configuration; 3 Kafka or a store did not answer
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stream2gym.clients.client_process import DONE, CannotContinue, Status, error_text, leave, report_error
from stream2gym.clients.config import ClientConfig, load
from stream2gym.clients.latest_rows import pick_latest
from stream2gym.clients.lean_kafka import lean_kafka
from stream2gym.clients.sink import SinkConfig, row_for, table_for
from stream2gym.clients.store_tables import Row, ServerLost, Tables, open_tables, until_open
from stream2gym.clients.store_watch import WatchedStore, open_reader
from stream2gym.errors import BadInput
from stream2gym.jsonable import Jsonable

ANSWER_S = 10.0
STORE_S = 20.0


@dataclass(frozen=True)
class StoreDump(Jsonable):
    name: str
    connection: dict[str, Any]
    tables: tuple[str, ...]


@dataclass(frozen=True)
class AuditConfig(ClientConfig):
    bootstrap: str
    folder: str
    topics: tuple[str, ...] = ()
    stores: tuple[StoreDump, ...] = ()
    sinks: tuple[SinkConfig, ...] = ()
    store_of: dict[str, str] = field(default_factory=dict)  # a sink's name to its store's
    shown: tuple[
        WatchedStore, ...
    ] = ()  # servers whose last rows are told; those of other stores are told with sinks


@dataclass(frozen=True)
class Tally:
    """The rows that a table should hold, compared with those that it holds."""

    expected: int
    present: int
    missing: int
    doubled: int


def tally(expected: Sequence[Row], present: Iterable[Row], keys: Sequence[str]) -> Tally:
    """Compare rows by the columns of the expected rows. With keys, the last expected row of each key counts."""
    columns = sorted({column for row in expected for column in row})
    if keys:
        wanted = Counter({_key(row, keys): _shape(row, columns) for row in expected}.values())
    else:
        wanted = Counter(_shape(row, columns) for row in expected)
    rows = list(present)
    found = Counter(_shape(row, columns) for row in rows)
    if keys:
        copies = Counter(_key(row, keys) for row in rows)
        doubled = sum(count - 1 for count in copies.values())
    else:
        doubled = sum(max(0, found[shape] - count) for shape, count in wanted.items())
    missing = sum((wanted - found).values())
    return Tally(sum(wanted.values()), len(rows), missing, doubled)


def _key(row: Row, keys: Sequence[str]) -> tuple[str, ...]:
    return tuple(_plain(row.get(key)) for key in keys)


def _shape(row: Row, columns: Sequence[str]) -> tuple[str, ...]:
    return tuple(_plain(row.get(column)) for column in columns)


def _plain(value: Any) -> str:
    """A value as a text that does not change when the value passes through a database."""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, int | float):
        return f"{float(value):.9g}"
    if isinstance(value, bytes):
        return value.decode("utf-8", errors="replace")
    if isinstance(value, dict | list):
        return json.dumps(value)
    return "" if value is None else str(value)


def read_topic(library: Any, bootstrap: str, topic: str) -> Iterator[dict[str, Any]]:
    """Every message of a topic, from the start to the end of each partition."""
    consumer = library.Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "s2g-audit",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
        }
    )
    try:
        partitions = consumer.list_topics(topic, timeout=ANSWER_S).topics[topic].partitions
        consumer.assign([library.TopicPartition(topic, number, 0) for number in partitions])
        left, heard = set(partitions), time.monotonic()
        while left:
            for message in consumer.consume(1000, 0.2):
                heard = time.monotonic()
                if message.error() is None:
                    yield _message(message)
                elif message.error().code() == library.KafkaError._PARTITION_EOF:
                    left.discard(message.partition())
            if time.monotonic() - heard > ANSWER_S:
                raise CannotContinue(f"topic {topic} cannot be read to its end: partitions {sorted(left)} are silent")
    finally:
        consumer.close()


def _message(message: Any) -> dict[str, Any]:
    key, value = message.key(), message.value()
    return {
        "partition": message.partition(),
        "offset": message.offset(),
        "time_ms": message.timestamp()[1],
        "key": None if key is None else key.decode("utf-8", errors="replace"),
        "value": None if value is None else value.decode("utf-8", errors="replace"),
    }


def dump(path: Path, rows: Iterable[dict[str, Any]]) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    count = 0
    with path.open("w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(row, default=str) + "\n")
            count += 1
    return count


def dumped(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def expected_rows(config: SinkConfig, topics: Sequence[str], folder: Path) -> dict[str, list[Row]]:
    """The rows of every table of a sink, from the topics as Kafka holds them."""
    tables: dict[str, list[Row]] = {}
    for topic in topics:
        rows = tables.setdefault(table_for(config, topic), [])
        for message in dumped(folder / "topics" / f"{topic}.jsonl"):
            key, value = (None if text is None else text.encode() for text in (message["key"], message["value"]))
            made = row_for(config, (topic, message["partition"], message["offset"]), key, value)
            if made is not None:
                rows.append(made[0])
    return tables


def audit(config: AuditConfig, library: Any, status: Status) -> None:
    folder = Path(config.folder)
    counts = {
        topic: dump(folder / "topics" / f"{topic}.jsonl", read_topic(library, config.bootstrap, topic))
        for topic in config.topics
    }
    rows: dict[str, int] = {}
    for store in config.stores:
        tables = _open(store.connection)
        for table in store.tables:
            name = f"{store.name}.{table}"
            rows[name] = dump(folder / "tables" / f"{name}.jsonl", tables.rows(table))
        tables.close()
    served = {store.name for store in config.shown}
    for sink in config.sinks:
        tables = _open(sink.connection)
        for table, wanted in expected_rows(sink, sink.topics, folder).items():
            # A table without rows to be may not have been made.
            found = tally(wanted, tables.rows(table) if wanted else (), sink.key_columns)
            store_name = config.store_of[sink.name]
            status.say("audit", sink=sink.name, store=store_name, table=table, **found.__dict__)
            if wanted and store_name not in served:
                latest = pick_latest(table, tables.rows(table), ", ".join(sink.key_columns))
                status.say("rows", store=store_name, tables=[latest] if latest else [])
        tables.close()
    tell_latest_rows(config.shown, status)
    status.say("dumped", topics=counts, tables=rows)


def tell_latest_rows(stores: Iterable[WatchedStore], status: Status) -> None:
    """Tell the last rows of servers. What one does not answer is missing, because nothing is judged by it."""
    for store in stores:
        with suppress(ServerLost, CannotContinue, OSError):
            reader = open_reader(store)
            try:
                status.say("rows", store=store.name, tables=reader.read()["latest"])
            finally:
                reader.close()


def _open(connection: dict[str, Any]) -> Tables:
    return until_open(lambda: open_tables(connection), STORE_S, lambda: False)


def main(path: str) -> int:
    status = Status()
    library = lean_kafka()
    try:
        audit(load(AuditConfig, Path(path)), library, status)
    except (BadInput, CannotContinue, ServerLost, OSError, KeyError, library.KafkaException) as error:
        return report_error(
            status, error if not isinstance(error, library.KafkaException) else CannotContinue(error_text(error))
        )
    return DONE


if __name__ == "__main__":
    leave(main(sys.argv[1]))
