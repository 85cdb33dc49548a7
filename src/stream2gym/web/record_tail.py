"""Reads what a run has written since the last look: events, samples and messages.

While a run goes on, this follows its journals. Their files stay open, so that what was written last can be read even
when the run seals its record meanwhile. Of a sealed run, the tables are read instead, as one look. Times are readings
of the clock (absolute nanoseconds) in both cases. One look reads a bounded number of rows; ``has_more`` tells that
the next one need not wait.
"""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from stream2gym.errors import Defect
from stream2gym.record.folder import RunFolder
from stream2gym.record.journal import HEADER_BYTES, STRINGS_SUFFIX, SUFFIX, Reader
from stream2gym.record.latest_values import SEALED
from stream2gym.record.latest_values import SUFFIX as VALUES_SUFFIX
from stream2gym.record.seal import shape_rows
from stream2gym.record.unmarked import has_header

ROWS_A_LOOK = 1 << 16
# Rows of a producer that are looked at again because they have no report yet.
OPEN_ROWS = 1 << 16
LINE_BYTES_A_LOOK = 4 << 20
_TIMES = {"sent": ("due_ns", "sent_ns", "done_ns"), "received": ("at_ns",), "samples": ("at_ns",)}


@dataclass
class Increment:
    """What one look found. Messages are tables of the record: sent just now, reported just now, received just now."""

    events: list[dict[str, Any]] = field(default_factory=list)
    # The latest values of messages, as their consumers wrote them down, and the latest rows of stores.
    values: list[dict[str, Any]] = field(default_factory=list)
    samples: list[pa.RecordBatch] = field(default_factory=list)
    sent: list[pa.RecordBatch] = field(default_factory=list)
    # Sent just now without our header: their receipts are recognised only when the run is sealed.
    sent_unmarked: list[pa.RecordBatch] = field(default_factory=list)
    reported: list[pa.RecordBatch] = field(default_factory=list)
    received: list[pa.RecordBatch] = field(default_factory=list)
    has_more: bool = False


class LineTail:
    """Reads whole lines of a file of JSON objects that have a time, such as ``events.jsonl``."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._at = 0

    def read(self) -> tuple[list[dict[str, Any]], bool]:
        """The objects that were added since the last call, and whether there are more."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._at)
                data = file.read(LINE_BYTES_A_LOOK)
        except OSError:
            return [], False
        whole = data[: data.rfind(b"\n") + 1]
        if not whole and len(data) == LINE_BYTES_A_LOOK:
            # A line that is longer than a look is passed over: no event of ours is so long.
            whole = data
        self._at += len(whole)
        found = []
        for line in whole.splitlines():
            with contextlib.suppress(ValueError):
                event = json.loads(line)
                if isinstance(event, dict) and isinstance(event.get("at_ns"), int):
                    found.append(event)
        return found, len(data) == LINE_BYTES_A_LOOK


class JournalTail:
    """Reads the rows of one journal, which may still be written to or already be removed."""

    def __init__(self, path: Path) -> None:
        self.reader = Reader(path)
        self.schema = self.reader.layout.schema
        self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self._strings_fd = -1
        with contextlib.suppress(OSError):
            self._strings_fd = os.open(path.with_suffix(STRINGS_SUFFIX), os.O_RDONLY | os.O_CLOEXEC)
        self._texts: list[str] = [""]
        self._text_bytes = 0

    def close(self) -> None:
        for fd in (self._fd, self._strings_fd):
            if fd >= 0:
                os.close(fd)

    def rows_from(self, first: int, most: int = ROWS_A_LOOK) -> pa.RecordBatch | None:
        """The whole rows from this number on; None if there are none."""
        layout = self.reader.layout
        size, mark = layout.row_bytes, layout.head_struct.size - 1
        block = os.pread(self._fd, most * size, HEADER_BYTES + first * size)
        block = block[: len(block) // size * size]
        unmarked = block[mark::size].find(0)
        if unmarked >= 0:
            block = block[: unmarked * size]
        if not block:
            return None
        self._read_texts()
        return shape_rows(self.reader, block, pa.array(self._texts), first, 0)

    def _read_texts(self) -> None:
        while self._strings_fd >= 0 and (data := os.pread(self._strings_fd, 1 << 20, self._text_bytes)):
            whole = data[: data.rfind(b"\n") + 1]
            if not whole:
                return
            self._text_bytes += len(whole)
            self._texts += [str(json.loads(line)) for line in whole.splitlines()]


class RowTail:
    """The rows of a journal that nobody writes to again: samples and receipts."""

    def __init__(self, journal: JournalTail) -> None:
        self.journal = journal
        self._next = 0

    def read(self) -> pa.RecordBatch | None:
        batch = self.journal.rows_from(self._next)
        self._next += 0 if batch is None else batch.num_rows
        return batch


class SentTail:
    """The rows of a producer. Their reports come later, so rows without one are read again."""

    def __init__(self, journal: JournalTail) -> None:
        self.journal = journal
        self.is_marked = has_header(journal.reader)
        # Rows before this one have their report.
        self._open = 0
        # Whether the rows from there on had their report at the last look.
        self._reported = pa.array([], pa.bool_())

    def read(self) -> tuple[pa.RecordBatch, pa.RecordBatch] | None:
        """The messages that are new, and those whose report is new; None if there is no open row."""
        known = len(self._reported)
        batch = self.journal.rows_from(self._open, known + ROWS_A_LOOK)
        if batch is None or batch.num_rows < known:
            return None
        now = pc.fill_null(pc.not_equal(batch.column("status").cast(pa.string()), "queued"), False)
        before = pa.concat_arrays([self._reported, pa.repeat(False, batch.num_rows - known)])
        new = batch.slice(known)
        reported = batch.filter(pc.and_not(now, before))
        waiting = pc.index(now, False).as_py()
        closed = batch.num_rows if waiting < 0 else waiting
        closed = max(closed, batch.num_rows - OPEN_ROWS)
        self._open += closed
        self._reported = now.slice(closed)
        return new, reported


class RecordTail:
    """Follows the record of a run. ``look`` returns what is new."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        self._events = LineTail(folder.path / "events.jsonl")
        self._values: dict[str, LineTail] = {}
        self._rows: dict[str, RowTail] = {}
        self._sent: dict[str, SentTail] = {}
        self._unreadable: set[str] = set()
        self._from_tables = bool(folder.info["sealed"])
        self._tables_read = False

    def look(self) -> Increment:
        """Everything that was written since the last look, or the first part of it."""
        found = Increment()
        found.events, found.has_more = self._events.read()
        if self._from_tables:
            if not self._tables_read:
                self._tables_read = True
                self._read_tables(found)
            return found
        self._find_journals()
        for values_tail in self._values.values():
            found.values += values_tail.read()[0]
        # Receipts come first: whatever was received was written down as sent before.
        for tail in self._rows.values():
            batch = tail.read()
            if batch is not None:
                (found.received if tail.journal.schema == "received" else found.samples).append(batch)
                found.has_more |= batch.num_rows == ROWS_A_LOOK
        for sent_tail in self._sent.values():
            parts = sent_tail.read()
            if parts is not None:
                (found.sent if sent_tail.is_marked else found.sent_unmarked).append(parts[0])
                found.reported.append(parts[1])
                found.has_more |= parts[0].num_rows >= ROWS_A_LOOK
        return found

    def close(self) -> None:
        for journal in [tail.journal for tail in self._rows.values()] + [
            tail.journal for tail in self._sent.values()
        ]:
            journal.close()
        self._rows.clear()
        self._sent.clear()

    def _find_journals(self) -> None:
        known = self._rows.keys() | self._sent.keys() | self._unreadable
        try:
            every = sorted(entry.name for entry in os.scandir(self._folder.raw))
        except OSError:
            return
        names = [name for name in every if name.endswith(SUFFIX)]
        for name in every:
            if name.endswith(VALUES_SUFFIX) and name not in self._values:
                self._values[name] = LineTail(self._folder.raw / name)
        for name in names:
            if name in known:
                continue
            try:
                journal = JournalTail(self._folder.raw / name)
            except (OSError, Defect, ValueError):
                # It may be half made: it is tried again while the run goes on.
                if not self._folder.is_running():
                    self._unreadable.add(name)
                continue
            if journal.schema == "sent":
                self._sent[name] = SentTail(journal)
            elif journal.schema in ("received", "samples"):
                self._rows[name] = RowTail(journal)
            else:
                journal.close()
                self._unreadable.add(name)

    def _read_tables(self, found: Increment) -> None:
        t0_ns = self._folder.t0_ns
        for batch in _read_batches(self._folder.data / "sent.parquet", "sent", t0_ns):
            found.sent.append(batch)
            reported = pc.fill_null(pc.not_equal(batch.column("status").cast(pa.string()), "queued"), False)
            found.reported.append(batch.filter(reported))
        values, has_more = LineTail(self._folder.data / SEALED), True
        while has_more:
            rows, has_more = values.read()
            found.values += rows
        # The file holds those of one client after those of another.
        found.values.sort(key=lambda row: int(row["at_ns"]))
        found.received += _read_batches(self._folder.data / "received.parquet", "received", t0_ns)
        found.samples += _read_batches(self._folder.data / "samples.parquet", "samples", t0_ns)


def _read_batches(path: Path, table: str, t0_ns: int) -> list[pa.RecordBatch]:
    """The rows of a table with absolute times; none if the table cannot be read."""
    try:
        rows = pq.read_table(path)
    except (OSError, pa.ArrowInvalid):
        return []
    for name in _TIMES[table]:
        at = rows.schema.get_field_index(name)
        rows = rows.set_column(at, name, pc.add(rows.column(name), t0_ns))
    return list(rows.to_batches(max_chunksize=ROWS_A_LOOK))
