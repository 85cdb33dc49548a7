"""Copies topics into tables, each row once: ``python -m stream2gym.clients.sink CONFIG.json``.

CONTRACT
  in      CONFIG.json        a ``SinkConfig``
  out     the store          a row for each message, and the next offset of every partition, in one transaction
          standard output    lines ``S2G {json}``: ready (it has its partitions and the store answers), progress
                             (rows, positions), lost (the store is gone: why), found (the store is back),
                             late-commit (of an earlier connection), error (what), done
  signals SIGTERM, SIGINT    stop after the batch in hand
          SIGKILL            loses and duplicates nothing: the next start continues at the offsets in the store
  links   cut at any moment  likewise: a transaction changes the offsets only if they are those that the sink knows
  exit    0 stopped; 2 bad configuration; 3 cannot (the store refuses a row, or is gone for too long)

A value is a row when it is a JSON object, plain or in Kafka Connect's envelope of schema and payload; anything else
becomes a row of two columns, ``k`` and ``v``. The columns that make a row unique are fields of the value, fields of
the key (or the key itself under one name), or the place of the message in its topic.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stream2gym.clients.client_process import (
    DONE,
    STATUS_EVERY_NS,
    CannotContinue,
    Status,
    StopFlag,
    complain,
    launch,
    report_error,
)
from stream2gym.clients.config import ClientConfig, load
from stream2gym.clients.lean_kafka import lean_kafka
from stream2gym.clients.store_tables import OffsetsMoved, Place, Row, ServerLost, Tables, open_tables, until_open
from stream2gym.errors import BadInput, Mistake

STOP_S = 8.0
WAIT_S = 0.2
EARLIEST = -2
PLACE_COLUMNS = ("__connect_topic", "__connect_partition", "__connect_offset")  # as Kafka Connect names them


@dataclass(frozen=True)
class SinkConfig(ClientConfig):
    name: str
    bootstrap: str
    connection: dict[str, Any]
    topics: tuple[str, ...] = ()
    pattern: str | None = None
    table: str | None = None  # None: named like the topic; ${topic} stands for it
    keys: tuple[str, ...] = ()
    keys_from: str = "value"  # value, key or place: where the columns that make a row unique come from
    replace: bool = True  # a row with the same keys; else such a row is refused
    create: bool = True
    batch: int = 500
    ready_timeout_s: float = 60.0
    store_timeout_s: float = 60.0  # how long a store may be gone
    answer_timeout_s: float = 30.0  # how long it may take to answer

    def mistakes(self) -> list[Mistake]:
        return [] if self.topics or self.pattern else [Mistake("topics", "there are none")]

    @property
    def key_columns(self) -> tuple[str, ...]:
        return PLACE_COLUMNS if self.keys_from == "place" and not self.keys else self.keys


def row_of(key: bytes | None, value: bytes | None) -> tuple[Row, dict[str, str]] | None:
    """The row of a message and the types that its schema names; None for a tombstone."""
    if value is None:
        return None
    try:
        said = json.loads(value)
    except ValueError:
        said = None
    if not isinstance(said, dict):
        return {"k": _text(key), "v": _text(value)}, {}
    if set(said) == {"schema", "payload"} and isinstance(said["payload"], dict):
        fields = (said["schema"] or {}).get("fields", ())
        types = {str(field.get("field")): str(field.get("type")) for field in fields}
        return said["payload"], types
    return said, {}


def row_for(
    config: SinkConfig, place: tuple[str, int, int], key: bytes | None, value: bytes | None
) -> tuple[Row, dict[str, str]] | None:
    """The row of a message at a place (topic, partition, offset), with the columns that make it unique."""
    made = row_of(key, value)
    if made is None or config.keys_from == "value":
        return made
    row, types = made
    if config.keys_from == "place":
        return {**row, **dict(zip(config.key_columns, place, strict=True))}, types
    try:
        said = json.loads(key or b"null")
    except ValueError:
        said = _text(key)
    if isinstance(said, dict) and set(said) == {"schema", "payload"}:
        said = said["payload"]
    if isinstance(said, dict):
        return {**row, **{name: said.get(name) for name in config.keys}}, types
    return {**row, **dict.fromkeys(config.keys, said)}, types


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8", errors="replace")


def table_for(config: SinkConfig, topic: str) -> str:
    return (config.table or topic).replace("${topic}", topic)


@dataclass(frozen=True)
class Entry:
    """One message on its way into the store; a tombstone has no row."""

    place: Place
    offset: int
    table: str
    row: Row | None


class Sink:
    """One run of a sink. ``positions`` are the offsets up to which rows are in the store."""

    def __init__(self, config: SinkConfig, library: Any, status: Status, stop: StopFlag) -> None:
        self.config, self.status, self.stop = config, status, stop
        self.positions: dict[Place, int] = {}
        self.rows = 0
        self._stored: dict[Place, int] = {}  # the offsets that the store holds, as far as we know
        self._library = library
        self._types: dict[str, str] = {}
        self._next_status = 0
        self.consumer = library.Consumer(
            {
                "bootstrap.servers": config.bootstrap,
                "client.id": config.name,
                "group.id": f"s2g-sink-{config.name}",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "auto.offset.reset": "earliest",
                "isolation.level": "read_committed",
            }
        )

    def run(self) -> None:
        tables = self._read_offsets(self._open())
        self._assign()
        self.status.say("ready")
        while not self.stop.asked:
            first = self.consumer.poll(WAIT_S)
            if first is not None:
                more = self.config.batch - 1
                batch = [first, *(self.consumer.consume(more, 0) if more else [])]
                tables = self._store(tables, batch)
            self._report()
        tables.close()

    def _open(self) -> Tables:
        config = self.config

        def open_() -> Tables:
            return open_tables(
                config.connection,
                keys=config.key_columns,
                replace=config.replace,
                create=config.create,
                types=self._types,
                answer_s=config.answer_timeout_s,
            )

        return until_open(open_, config.store_timeout_s, lambda: self.stop.asked)

    def _read_offsets(self, tables: Tables) -> Tables:
        """Read the offsets in the store; a transaction of an earlier start may keep them locked for a while."""
        while not self.stop.asked:
            try:
                self._stored = tables.offsets(self.config.name)
                break
            except ServerLost as error:
                tables = self._reopen(tables, error)
        return tables

    def _reopen(self, tables: Tables, error: ServerLost) -> Tables:
        """Report that the store is gone, close the connection (it may hold a lock), and wait for the store."""
        complain(f"the store is gone: {error}")
        self.status.say("lost", why=str(error))
        tables.close()
        tables = self._open()
        self.status.say("found")
        return tables

    def _assign(self) -> None:
        make = self._library.TopicPartition
        places = []
        for topic, number in self._partitions():
            at = self._stored.get((topic, number), EARLIEST)
            places.append(make(topic, number, at))
            self.positions[topic, number] = max(at, 0)
        self.consumer.assign(places)

    def _partitions(self) -> list[Place]:
        deadline = time.monotonic() + self.config.ready_timeout_s
        wanted = re.compile(self.config.pattern.removeprefix("^")) if self.config.pattern else None
        while True:
            try:
                topics = self.consumer.list_topics(timeout=5.0).topics
            except self._library.KafkaException as error:
                topics = {}
                complain(f"topics: {error}")
            names = [name for name in topics if (wanted and wanted.match(name)) or name in self.config.topics]
            found = [(name, number) for name in names for number in topics[name].partitions]
            if found and set(self.config.topics) <= set(names):
                return found
            if self.stop.asked or time.monotonic() >= deadline:
                wish = self.config.pattern or ", ".join(self.config.topics)
                raise CannotContinue(f"there are no topics {wish} after {self.config.ready_timeout_s:g} s")
            time.sleep(WAIT_S)

    def _store(self, tables: Tables, batch: list[Any]) -> Tables:
        """Write a batch with its offsets. If the store goes away, wait for it and continue at its offsets."""
        entries = self._entries(batch)
        while todo := [one for one in entries if one.offset >= self._stored.get(one.place, 0)]:
            after = {one.place: one.offset + 1 for one in todo}
            rows = [(one.table, one.row) for one in todo if one.row is not None]
            try:
                tables.write(self.config.name, rows, self._stored, after)
                self._stored |= after
            except OffsetsMoved as moved:
                # A commit of an earlier connection, or of an earlier start, came after we had read the offsets.
                self._stored |= moved.offsets
                self.status.say("late-commit")
            except ServerLost as error:
                tables = self._reopen(tables, error)
        self.rows += sum(one.row is not None for one in entries)
        self.positions |= {one.place: self._stored[one.place] for one in entries}
        return tables

    def _entries(self, batch: list[Any]) -> list[Entry]:
        """The entries of a batch; ends of partitions move the positions."""
        entries = []
        for message in batch:
            place = (message.topic(), message.partition())
            error = message.error()
            if error is not None:
                if error.code() == self._library.KafkaError._PARTITION_EOF:
                    self.positions[place] = max(self.positions.get(place, 0), message.offset())
                continue
            made = row_for(self.config, (*place, message.offset()), message.key(), message.value())
            table = table_for(self.config, message.topic())
            entries.append(Entry(place, message.offset(), table, None if made is None else made[0]))
            if made is not None:
                self._types |= made[1]
        return entries

    def _report(self, last: bool = False) -> None:
        now = time.monotonic_ns()
        if last or now >= self._next_status:
            self._next_status = now + STATUS_EVERY_NS
            places = [[topic, number, at] for (topic, number), at in self.positions.items()]
            self.status.say("done" if last else "progress", rows=self.rows, positions=places)


def main(path: str, use: Callable[[], Any] = lean_kafka) -> int:
    status = Status()
    try:
        config = load(SinkConfig, Path(path))
        stop = StopFlag(STOP_S)
        library = use()
        sink = Sink(config, library, status, stop)
        sink.run()
    except (BadInput, CannotContinue, ServerLost, OSError) as error:
        return report_error(status, error)
    sink._report(last=True)
    return DONE


if __name__ == "__main__":
    launch("sink", main)
