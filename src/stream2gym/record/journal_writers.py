"""The writers of the journals: what producers sent, what consumers received, what sources did, what monitors saw.

The columns of messages are spelled out, because a message may come every 20 microseconds, and passing a row on as
``*values`` would cost as much as writing it.
"""

from __future__ import annotations

import time
from pathlib import Path

from .journal import MARK, RECEIVED, SAMPLES, SENT, TRUTH, UNPACED, WITH_KEY, Identity, Journal


class SentLog(Journal):
    """The messages of a producer, and what became of them. ``paced``: the messages have due times of their own."""

    def __init__(self, path: Path, identity: Identity, *, paced: bool = True, exclusive: bool = False) -> None:
        super().__init__(path, SENT, identity, exclusive=exclusive)
        self._mark = MARK if paced else MARK | UNPACED

    def add(  # noqa: PLR0917 - keywords would cost a tenth of a microsecond
        self, due_ns: int, sent_ns: int, key_hash: int | None, value_hash: int, size: int, topic: int
    ) -> int:
        """Add a message that is about to be sent or, with ``sent_ns`` 0, that will never be sent."""
        at = self._next
        if at == self._chunk_bytes:
            self._open_chunk()
            at = 0
        if key_hash is None:
            self._pack_head(self._current, at, due_ns, sent_ns, 0, value_hash, size, topic, self._mark)
        else:
            mark = self._mark | WITH_KEY
            self._pack_head(self._current, at, due_ns, sent_ns, key_hash, value_hash, size, topic, mark)
        self._next = at + self._row_bytes
        row = self.rows
        self.rows = row + 1
        return row

    def report(
        self, row: int, status: int, done_ns: int, partition: int = -1, offset: int = -1, *, error: int = 0
    ) -> None:
        """Write what became of the message of a row."""
        chunk = row // self._per_chunk
        at = (row - chunk * self._per_chunk) * self._row_bytes + self._head_bytes
        self._pack_tail(self._maps.get(chunk) or self._map(chunk), at, partition, offset, done_ns, error, status)

    def status_of(self, row: int) -> int:
        """The status that the row of a message has now."""
        chunk, at = divmod(row, self._per_chunk)
        return (self._maps.get(chunk) or self._map(chunk))[(at + 1) * self._row_bytes - 1]


class ReceivedLog(Journal):
    """The messages that a consumer received."""

    def __init__(self, path: Path, identity: Identity, *, exclusive: bool = False) -> None:
        super().__init__(path, RECEIVED, identity, kept=1, exclusive=exclusive)

    def add(  # noqa: PLR0917 - keywords would cost half a microsecond
        self,
        at_ns: int,
        topic: int,
        partition: int,
        offset: int,
        producer: int,
        seq: int,
        key_hash: int | None,
        value_hash: int,
        size: int,
        broker_ms: int,
    ) -> None:
        """Add a receipt. ``producer`` 0: no recorded producer sent the message."""
        at = self._next
        if at == self._chunk_bytes:
            self._open_chunk()
            at = 0
        mark = MARK if key_hash is None else MARK | WITH_KEY
        self._pack_head(
            self._current, at, at_ns, offset, seq, key_hash or 0, value_hash, broker_ms, size, partition,
            topic, producer, mark,
        )  # fmt: skip
        self._next = at + self._row_bytes
        self.rows += 1


class TruthLog(Journal):
    """What an imperfect source did about each event."""

    def __init__(self, path: Path, identity: Identity) -> None:
        super().__init__(path, TRUTH, identity, kept=1)

    def add(self, *, event: int, seq: int | None, event_ns: int, value_hash: int, flaws: int) -> None:
        self.append(event, -1 if seq is None else seq, event_ns, value_hash, flaws, MARK)


class SampleLog:
    """The numbers that a monitor sampled. Each monitor process has a journal of its own, named after it."""

    def __init__(self, raw: Path, name: str, *, incarnation: int = 1) -> None:
        identity = Identity(name, incarnation=incarnation)
        self._journal = Journal(raw / identity.file_name(SAMPLES.schema), SAMPLES, identity, kept=1)

    def add(self, source: str, obj: str, metric: str, value: float, *, at_ns: int | None = None) -> None:
        """Add a sample. ``source`` is what measured it (fabric, process, kafka ...), ``obj`` what was measured."""
        number = self._journal.number
        at_ns = time.monotonic_ns() if at_ns is None else at_ns
        self._journal.append(at_ns, float(value), number(source), number(obj), number(metric), MARK)

    def close(self) -> None:
        self._journal.close()
