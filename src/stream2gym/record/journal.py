"""Journals: rows of fixed size in a memory-mapped file that outlives the process that writes it.

A writer packs each row into a shared mapping. The row belongs to the kernel as soon as it is written, so that SIGKILL
of the writer loses none. The file is a header of 64 KiB (what the rows are, and whose) followed by chunks of rows. A
chunk is allocated on disk before it is mapped, so that a full disk raises an error and never SIGBUS. Only a few
chunks stay mapped, so that the memory of a client does not grow with its record.

The head of a row ends with a mark that is written last and is never zero. A reader stops at the first row without a
mark. The tail of a row holds what is known later (a delivery report). It is zero until then, and its last byte is
written last. So a row has no report or a whole one at any moment.

A row holds numbers in the place of texts (topics, names, errors). The side file ``NAME.strings`` holds the texts, one
JSON text in each line, in the order of their numbers from 1. Number 0 is no text. A text is written before a row that
names it.

Programs of the user write such files too, in whatever interpreter they run (``instrument/``). Therefore this module
and those that it imports run on Python 3.9, and they import each other by relative names, so that they can be loaded
under another name.
"""

from __future__ import annotations

import errno
import json
import mmap
import os
import struct
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import Defect

MAGIC = "s2g-journal"
VERSION = 1
HEADER_BYTES = 65536  # a multiple of every page size, as mmap wants it
SUFFIX = ".journal"
STRINGS_SUFFIX = ".strings"

LAST_TEXT = 0xFFFF
MANY_TEXTS = "(one of more texts than a record tells apart)"

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class RecordFull(Defect):
    """The disk that holds the record has no room for another chunk."""


@dataclass(frozen=True)
class Layout:
    """The columns of a row as (name, struct letter). ``head`` is written at once, ``tail`` later."""

    schema: str
    head: tuple[tuple[str, str], ...]
    tail: tuple[tuple[str, str], ...] = ()

    @property
    def columns(self) -> tuple[tuple[str, str], ...]:
        return self.head + self.tail

    @property
    def head_struct(self) -> struct.Struct:
        return struct.Struct("<" + "".join(letter for _, letter in self.head))

    @property
    def tail_struct(self) -> struct.Struct:
        return struct.Struct("<" + "".join(letter for _, letter in self.tail))

    @property
    def offsets(self) -> dict[str, tuple[int, struct.Struct]]:
        """Where each column stands in a row, and how it is packed."""
        found, at = {}, 0
        for name, letter in self.columns:
            found[name] = (at, struct.Struct("<" + letter))
            at += found[name][1].size
        return found

    @property
    def row_bytes(self) -> int:
        return self.head_struct.size + self.tail_struct.size


SENT = Layout(
    schema="sent",
    head=(
        ("due_ns", "q"), ("sent_ns", "q"), ("key_hash", "q"), ("value_hash", "q"), ("size", "i"),
        ("topic", "H"), ("mark", "B"),
    ),
    tail=(("partition", "i"), ("offset", "q"), ("done_ns", "q"), ("error", "H"), ("status", "B")),
)  # fmt: skip
RECEIVED = Layout(
    schema="received",
    head=(
        ("at_ns", "q"), ("offset", "q"), ("seq", "q"), ("key_hash", "q"), ("value_hash", "q"), ("broker_ms", "q"),
        ("size", "i"), ("partition", "i"), ("topic", "H"), ("producer", "H"), ("mark", "B"),
    ),
)  # fmt: skip
SAMPLES = Layout(
    schema="samples",
    head=(("at_ns", "q"), ("value", "d"), ("source", "H"), ("object", "H"), ("metric", "H"), ("mark", "B")),
)
TRUTH = Layout(
    schema="truth",
    head=(
        ("event", "q"),
        ("seq", "q"),
        ("event_ns", "q"),
        ("value_hash", "q"),
        ("flaws", "B"),
        ("mark", "B"),
    ),
)
LAYOUTS = {layout.schema: layout for layout in (SENT, RECEIVED, SAMPLES, TRUTH)}

QUEUED, ACKED, UNCONFIRMED, FAILED, DELIVERED = range(5)  # status; the last: acked, its transaction still open
LATE, DISORDERED, DUPLICATED, MISSING, NOISY = (1 << bit for bit in range(5))  # bits of the truth's flaws
WITH_KEY = 2  # bit of the mark of sent and received rows: the message has a key
UNPACED = 4  # bit of the mark of sent rows: nobody planned when the message was due, so that is when it was sent
MARK = 1


@dataclass(frozen=True)
class Identity:
    """Whose journal it is. ``incarnation`` counts the starts of the instance: each start has its own file."""

    name: str
    instance: int = 1
    incarnation: int = 1
    extra: dict[str, Any] = field(default_factory=dict)

    def file_name(self, schema: str) -> str:
        return f"{schema}.{self.name}.{self.instance}.{self.incarnation}{SUFFIX}"


class Journal:
    """Writes a journal. ``append`` returns the number of a row, ``amend`` writes the tail of an earlier row.

    With ``exclusive``, FileExistsError is raised where a journal of this name is there already or is being made.
    """

    def __init__(
        self,
        path: Path,
        layout: Layout,
        identity: Identity,
        *,
        rows_per_chunk: int = 8192,
        kept: int = 4,
        exclusive: bool = False,
    ) -> None:
        rows_per_chunk += -rows_per_chunk % mmap.ALLOCATIONGRANULARITY  # so that a chunk is whole pages
        self.path = path
        self.rows = 0
        self._row_bytes = layout.row_bytes
        self._per_chunk = rows_per_chunk
        self._chunk_bytes = rows_per_chunk * layout.row_bytes
        self._kept = kept
        self._pack_head = layout.head_struct.pack_into
        self._pack_tail = layout.tail_struct.pack_into
        self._head_bytes = layout.head_struct.size
        self._offsets = layout.offsets
        self._maps: dict[int, mmap.mmap] = {}
        self._numbers: dict[str, int] = {"": 0}
        self._fd, self._strings_fd = _create(path, layout, identity, rows_per_chunk, exclusive)
        self._newest, self._next = -1, 0
        self._open_chunk()

    def append(self, *values: Any) -> int:
        """Write the next row's head; the last value is its mark."""
        at = self._next
        if at == self._chunk_bytes:
            self._open_chunk()
            at = 0
        self._pack_head(self._current, at, *values)
        self._next = at + self._row_bytes
        row = self.rows
        self.rows = row + 1
        return row

    def amend(self, row: int, *values: Any) -> None:
        """Write the tail of a row; its last value must not be zero."""
        mapping = self._maps.get(row // self._per_chunk) or self._map(row // self._per_chunk)
        self._pack_tail(mapping, row % self._per_chunk * self._row_bytes + self._head_bytes, *values)

    def patch(self, row: int, column: str, value: Any) -> None:
        """Write one column of an earlier row again."""
        chunk, at = divmod(row, self._per_chunk)
        at, pack = at * self._row_bytes + self._offsets[column][0], self._offsets[column][1].pack_into
        pack(self._maps.get(chunk) or self._map(chunk), at, value)

    def number(self, text: str) -> int:
        """The number of a text. The text is written to the side file if it is new."""
        number = self._numbers.get(text)
        if number is None:
            number = len(self._numbers)
            if number == LAST_TEXT:
                text = MANY_TEXTS
            if number > LAST_TEXT:
                return LAST_TEXT
            self._write(self._strings_fd, (json.dumps(text) + "\n").encode())
            self._numbers[text] = number
        return number

    def close(self) -> None:
        """Free the unused part of the last chunk. The rows are safe without this."""
        for mapping in self._maps.values():
            mapping.close()
        self._maps.clear()
        if self._fd >= 0:
            os.ftruncate(self._fd, HEADER_BYTES + self.rows * self._row_bytes)
            os.close(self._fd)
            os.close(self._strings_fd)
            self._fd = -1

    def _open_chunk(self) -> None:
        chunk = self._newest + 1
        try:
            os.posix_fallocate(self._fd, HEADER_BYTES + chunk * self._chunk_bytes, self._chunk_bytes)
        except OSError as error:
            raise self._full(error) from error
        self._newest = chunk
        self._current = self._map(chunk)
        self._next = 0

    def _map(self, chunk: int) -> mmap.mmap:
        """Map a chunk in place of the one that was mapped longest ago. The newest chunk always stays mapped."""
        if len(self._maps) >= self._kept:
            oldest = next(number for number in self._maps if number != self._newest)
            self._maps.pop(oldest).close()
        start = HEADER_BYTES + chunk * self._chunk_bytes
        mapping = mmap.mmap(self._fd, self._chunk_bytes, flags=mmap.MAP_SHARED, offset=start)
        self._maps[chunk] = mapping
        return mapping

    def _write(self, fd: int, data: bytes) -> None:
        try:
            written = os.write(fd, data)
        except OSError as error:
            raise self._full(error) from error
        if written != len(data):
            raise RecordFull(f"no room left for the record {self.path.name}")

    def _full(self, error: OSError) -> Exception:
        if error.errno not in _FULL:
            return error
        return RecordFull(f"no room left for the record {self.path.name}: {error.strerror}")


def _create(path: Path, layout: Layout, identity: Identity, rows_per_chunk: int, exclusive: bool) -> tuple[int, int]:
    """Make both files. A journal gets its name when its header is whole."""
    header = {
        "magic": MAGIC, "version": VERSION, "schema": layout.schema, "columns": layout.columns,
        "row_bytes": layout.row_bytes, "rows_per_chunk": rows_per_chunk,
        "name": identity.name, "instance": identity.instance, "incarnation": identity.incarnation,
        "extra": identity.extra,
    }  # fmt: skip
    text = json.dumps(header).encode() + b"\n"
    if len(text) > HEADER_BYTES:
        raise ValueError(f"the header of {path.name} is longer than {HEADER_BYTES} bytes")
    unfinished = path.with_name(path.name + ".new")
    flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
    # The side file is made first: of several processes that want the name, one gets it.
    only_new = os.O_EXCL if exclusive else 0
    fd = -1
    strings = os.open(path.with_suffix(STRINGS_SUFFIX), flags | os.O_APPEND | only_new, 0o644)
    try:
        fd = os.open(unfinished, flags, 0o644)
        os.posix_fallocate(fd, 0, HEADER_BYTES)
        os.pwrite(fd, text, 0)
        os.rename(unfinished, path)
    except OSError as error:
        for handle in (fd, strings):
            if handle >= 0:
                os.close(handle)
        with suppress(OSError):
            os.unlink(unfinished)
        if error.errno in _FULL:
            raise RecordFull(f"no room left for the record {path.name}: {error.strerror}") from error
        raise
    return fd, strings


class Reader:
    """Reads a journal, even while it is being written, and even if its writer was killed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with path.open("rb") as file:
            head = file.read(HEADER_BYTES)
        try:
            header = json.loads(head.split(b"\n", 1)[0])
            known = header["magic"] == MAGIC and header["version"] == VERSION
            self.layout = LAYOUTS[header["schema"]]
        except (ValueError, KeyError, TypeError) as error:
            raise Defect(f"{path.name} is not a journal of this version") from error
        if not known or [tuple(column) for column in header["columns"]] != list(self.layout.columns):
            raise Defect(f"{path.name} is not a journal of this version")
        self.identity = Identity(header["name"], header["instance"], header["incarnation"], header["extra"])

    def strings(self) -> list[str]:
        """The texts, by their numbers. Number 0 is the empty text."""
        try:
            data = self.path.with_suffix(STRINGS_SUFFIX).read_bytes()
        except FileNotFoundError:
            data = b""
        whole = data[: data.rfind(b"\n") + 1]
        return ["", *(json.loads(line) for line in whole.splitlines())]

    def blocks(self, rows: int = 1 << 18) -> Iterator[bytes]:
        """The complete rows, some at a time, as bytes."""
        size = self.layout.row_bytes
        mark = self.layout.head_struct.size - 1
        with self.path.open("rb") as file:
            file.seek(HEADER_BYTES)
            while block := file.read(rows * size):
                block = block[: len(block) // size * size]
                whole = _leading_marks(block[mark::size])
                if whole:
                    yield block[: whole * size]
                if whole < rows:
                    return

    def rows(self) -> Iterator[dict[str, Any]]:
        """The complete rows as dictionaries: for tests and small records."""
        unpack = struct.Struct("<" + "".join(letter for _, letter in self.layout.columns))
        names = [name for name, _ in self.layout.columns]
        for block in self.blocks():
            for values in unpack.iter_unpack(block):
                yield dict(zip(names, values, strict=True))


def _leading_marks(marks: bytes) -> int:
    """How many rows have a mark, up to the first row without one."""
    end = marks.find(0)
    return len(marks) if end < 0 else end
