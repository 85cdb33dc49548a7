"""The journals of clients, with their columns spelled out: at a message every 20 microseconds, passing a row on
as ``*values`` would cost as much as writing it."""

from __future__ import annotations

from pathlib import Path

from stream2gym.record.journal import MARK, RECEIVED, SENT, TRUTH, WITH_KEY, Identity, Journal


class SentLog(Journal):
    """What a producer meant to send, and what became of it."""

    def __init__(self, path: Path, identity: Identity) -> None:
        super().__init__(path, SENT, identity)

    def add(  # noqa: PLR0917 - keywords would cost a tenth of a microsecond
        self, due_ns: int, sent_ns: int, key_hash: int | None, value_hash: int, size: int, topic: int
    ) -> int:
        """The row of a message that is about to be sent, or (``sent_ns`` 0) that never will be."""
        at = self._next
        if at == self._chunk_bytes:
            self._open_chunk()
            at = 0
        if key_hash is None:
            self._pack_head(self._current, at, due_ns, sent_ns, 0, value_hash, size, topic, MARK)
        else:
            mark = MARK | WITH_KEY
            self._pack_head(self._current, at, due_ns, sent_ns, key_hash, value_hash, size, topic, mark)
        self._next = at + self._row_bytes
        row = self.rows
        self.rows = row + 1
        return row

    def report(
        self, row: int, status: int, done_ns: int, partition: int = -1, offset: int = -1, *, error: int = 0
    ) -> None:
        """What became of the message of a row."""
        chunk = row // self._per_chunk
        at = (row - chunk * self._per_chunk) * self._row_bytes + self._head_bytes
        self._pack_tail(
            self._maps.get(chunk) or self._map(chunk), at, partition, offset, done_ns, error, status
        )


class ReceivedLog(Journal):
    """What a consumer was given."""

    def __init__(self, path: Path, identity: Identity) -> None:
        super().__init__(path, RECEIVED, identity, kept=1)

    def add(
        self,
        *,
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
        """``producer`` 0 is a message of nobody we know."""
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
