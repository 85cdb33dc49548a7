"""The record of one process: its journals, made when they are first needed, and its notes.

A process has one journal for all that it sends and one for each group in which it receives. After a fork the child
begins its own. Journals are shared by all threads of a process, so every write holds the lock of its journal.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..record.journal import (
    ACKED,
    DELIVERED,
    FAILED,
    MARK,
    QUEUED,
    SAMPLES,
    UNCONFIRMED,
    Identity,
    Journal,
)
from ..record.journal_writers import ReceivedLog, SentLog
from ..record.messages import (
    HEADER,
    MOST_STARTS,
    first_seq,
    hash64,
    make_header_format,
    parse_header,
    value_hasher,
)
from .settings import Settings

now_ns = time.monotonic_ns


class Transaction:
    """The messages that a producer sent between ``begin`` and ``commit`` or ``abort``."""

    __slots__ = ("error", "outcome", "rows")

    def __init__(self) -> None:
        self.rows: list[int] = []
        # What became of it: ACKED or FAILED; 0 while nobody knows.
        self.outcome = QUEUED
        self.error = 0


class Sends:
    """What this process sends, and what became of each message."""

    def __init__(self, log: SentLog, settings: Settings, first: int) -> None:
        self._log = log
        self._settings = settings
        self._lock = threading.RLock()
        self._topics: dict[str, tuple[int, Callable[[bytes], int]]] = {}
        self._header = make_header_format(settings.name)
        self._first = first

    def add(self, topic: str, key: Any, value: Any, transaction: Transaction | None = None) -> int:
        """Write the row of a message that is about to be sent; returns its number."""
        known = self._topics.get(topic)
        if known is None:
            known = self._learn(topic)
        if key is not None:
            key = hash64(key.encode() if isinstance(key, str) else key)
        if value is None:
            value = b""
        elif isinstance(value, str):
            value = value.encode()
        number, value_hash = known[0], known[1](value)
        with self._lock:
            at = now_ns()
            row = self._log.add(at, at, key, value_hash, len(value), number)
        if transaction is not None:
            transaction.rows.append(row)
        return row

    def _learn(self, topic: str) -> tuple[int, Callable[[bytes], int]]:
        """The number of a topic, and how its values are hashed."""
        with self._lock:
            hasher = value_hasher(self._settings.hash_by.get(topic, "value"))
            self._topics[topic] = (self._log.number(topic), hasher)
            return self._topics[topic]

    def header(self, row: int) -> bytes:
        """What the header ``s2g`` of the message of a row holds."""
        return self._header % (self._first + row)

    def delivered(
        self, row: int, status: int, partition: int, offset: int, transaction: Transaction | None = None
    ) -> None:
        """Kafka has the message. In a transaction it counts as acknowledged when that is committed."""
        at = now_ns()
        with self._lock:
            if transaction is None:
                self._log.report(row, status, at, partition, offset)
            else:
                self._log.report(
                    row, transaction.outcome or DELIVERED, at, partition, offset, error=transaction.error
                )

    def failed(self, row: int, why: str) -> None:
        """The message was refused or given up."""
        with self._lock:
            self._log.report(row, FAILED, now_ns(), error=self._log.number(why))

    def reopen(self, row: int) -> None:
        """The program tries again to send a message that was refused because there was no room for it."""
        with self._lock:
            self._log.patch(row, "status", QUEUED)

    def settle(self, transaction: Transaction, committed: bool) -> None:
        """Write the outcome of a transaction into the rows of its messages."""
        with self._lock:
            transaction.outcome = ACKED if committed else FAILED
            transaction.error = 0 if committed else self._log.number("transaction aborted")
            at = now_ns()
            for row in transaction.rows:
                if self._log.status_of(row) == DELIVERED:
                    self._log.patch(row, "done_ns", at)
                    self._log.patch(row, "error", transaction.error)
                    self._log.patch(row, "status", transaction.outcome)
            transaction.rows.clear()


class Receipts:
    """What this process receives in one group."""

    def __init__(self, log: ReceivedLog, settings: Settings) -> None:
        self._log = log
        self._settings = settings
        self._lock = threading.RLock()
        self._topics: dict[str, tuple[int, Callable[[bytes], int]]] = {}

    def add(
        self,
        at_ns: int,
        topic: str,
        partition: int,
        offset: int,
        broker_ms: int,
        key: Any,
        value: Any,
        ours: tuple[str, int] | None,
    ) -> None:
        """Write the row of a message that the program is about to get; ``ours`` is what its header says."""
        known = self._topics.get(topic)
        if known is None:
            known = self._learn(topic)
        if key is not None:
            key = hash64(key)
        if value is None:
            value = b""
        number, value_hash, producer, seq = known[0], known[1](value), 0, 0
        with self._lock:
            if ours is not None:
                producer, seq = self._log.number(ours[0]), ours[1]
            self._log.add(at_ns, number, partition, offset, producer, seq, key, value_hash, len(value), broker_ms)

    def _learn(self, topic: str) -> tuple[int, Callable[[bytes], int]]:
        """The number of a topic, and how its values are hashed."""
        with self._lock:
            hasher = value_hasher(self._settings.hash_by.get(topic, "value"))
            self._topics[topic] = (self._log.number(topic), hasher)
            return self._topics[topic]


class Recorder:
    """The record of this process; a copy of the process by fork begins a new one."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._begin()
        os.register_at_fork(after_in_child=self._begin)

    def _begin(self) -> None:
        # The journals of a parent stay the parent's: they are let go of, neither written nor closed.
        self._lock = threading.RLock()
        self._sends: Sends | None = None
        self._receipts: dict[str, Receipts] = {}
        self._samples: Journal | None = None
        self._notes = -1
        self._said: set[str] = set()
        self.is_off = False

    # ---- journals

    def sends(self) -> Sends | None:
        """Where this process records what it sends; None when it cannot."""
        if self._sends is None and not self.is_off:
            with self._lock:
                if self._sends is None:
                    log, identity = self._claim(
                        "sent", lambda path, who: SentLog(path, who, paced=False, exclusive=True)
                    )
                    self._sends = Sends(log, self.settings, first_seq(identity.instance, identity.incarnation))
        return None if self.is_off else self._sends

    def receipts(self, group: str) -> Receipts | None:
        """Where this process records what it receives in a group; None when it cannot."""
        found = self._receipts.get(group)
        if found is None and not self.is_off:
            with self._lock:
                found = self._receipts.get(group)
                if found is None:
                    log, _ = self._claim(
                        "received", lambda path, who: ReceivedLog(path, who, exclusive=True), group=group
                    )
                    found = self._receipts[group] = Receipts(log, self.settings)
        return None if self.is_off else found

    def committed(self, offsets: Iterable[tuple[str, int, int]]) -> None:
        """Kafka accepted the commit of these offsets (topic, partition, next offset)."""
        with self._lock:
            if self._samples is None:
                self._samples, _ = self._claim(
                    "samples",
                    lambda path, who: Journal(path, SAMPLES, who, rows_per_chunk=4096, kept=1, exclusive=True),
                )
            samples, at_ns = self._samples, now_ns()
            source, label = samples.number("client"), samples.number(self.settings.label or self.settings.name)
            for topic, partition, offset in offsets:
                if offset >= 0:
                    metric = samples.number(f"committed {topic}/{partition}")
                    samples.append(at_ns, float(offset), source, label, metric, MARK)

    def _claim(self, schema: str, make: Callable[[Path, Identity], Any], **extra: Any) -> tuple[Any, Identity]:
        """Make the first journal of this component and instance whose number nobody has."""
        settings = self.settings
        for number in range(1, MOST_STARTS + 1):
            who = Identity(settings.name, settings.instance, number, extra)
            try:
                return make(Path(settings.raw, who.file_name(schema)), who), who
            except FileExistsError:
                continue
        raise ValueError(f"{settings.name} had more than {MOST_STARTS} processes")

    def settle(self, state: Any, committed: bool) -> None:
        """Write the outcome of the open transaction of a producer, if it has one; ``state`` holds it."""
        transaction = getattr(state, "transaction", None)
        if transaction is None or self.is_off:
            return
        try:
            sends = self.sends()
            if sends is not None:
                sends.settle(transaction, committed)
        except Exception as error:
            self.give_up(error)
        state.transaction = None

    # ---- notes

    def note(self, event: str, **details: Any) -> None:
        """Write a line of notes: what the run must know besides messages."""
        settings = self.settings
        who = {"component": settings.name, "host": settings.host, "instance": settings.instance}
        line = json.dumps({"event": event, "at_ns": now_ns(), **who, **details}) + "\n"
        with self._lock:
            if self._notes < 0:
                name = f"program.{settings.name}.{settings.instance}.{os.getpid()}-{now_ns()}.jsonl"
                flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
                self._notes = os.open(os.path.join(settings.raw, name), flags, 0o644)
            os.write(self._notes, line.encode())

    def note_unrecorded(self, what: str, why: str, remedy: str = "") -> None:
        """Say once, in the notes and on standard error, what is not on record."""
        said = f"{what}: {why}"
        if said in self._said:
            return
        self._said.add(said)
        with suppress(OSError):
            self.note("unrecorded", what=what, why=why, remedy=remedy)
        with suppress(OSError, ValueError, AttributeError):
            sys.stderr.write(f"stream2gym: not recorded: {said}{f'; {remedy}' if remedy else ''}\n")

    def give_up(self, error: BaseException) -> None:
        """Record nothing more: an error of ours must not become one of the program's."""
        self.is_off = True
        self.note_unrecorded(
            "everything from now on",
            f"the recorder failed: {type(error).__name__}: {error}",
            "free the disk" if type(error).__name__ == "RecordFull" else "",
        )


def error_text(error: Any) -> str:
    """The words of an error of a library that is written in Python."""
    return f"{type(error).__name__}: {error}"


def take_header(headers: Any) -> tuple[tuple[str, int] | None, bool]:
    """What the header ``s2g`` among others says, and whether there is one."""
    for name, content in headers:
        if name == HEADER:
            return parse_header(content), True
    return None, False


def without_header(headers: Iterable[Any]) -> list[Any]:
    """The headers but for ours."""
    return [header for header in headers if header[0] != HEADER]


def status_of_acks(acks: Any) -> int:
    """How a delivered message counts: without acks nobody confirms that Kafka has it."""
    return UNCONFIRMED if str(acks) == "0" else ACKED
