"""Captured packets on their way from the kernel to the decoder: files that one process writes and another removes.

Each host has files ``HOST.NUMBER.spool``, of about ``FILE_BYTES`` each. A file is a row of entries: a block of
packets as the kernel filled it, the owner of a connection that is about to begin, packets that were lost, the end.
The decoder removes a file when it has read it, so that the disk holds only what is not decoded yet. Where that
exceeds ``MOST_BYTES`` over all hosts, or the disk is full, packets are dropped and counted as lost.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

FILE_BYTES = 32 << 20
MOST_BYTES = 4 << 30
BLOCK, OWNER, LOST, END = 1, 2, 3, 4
# Kind, bytes that follow, packets in a block, when it was copied: on the monotonic clock and on the wall clock.
_ENTRY = struct.Struct("<BxxxIIqq")


class Entry(NamedTuple):
    """``copied_ns`` and ``wall_ns`` are the same moment on the monotonic clock and on the wall clock."""

    kind: int
    packets: int
    copied_ns: int
    wall_ns: int
    data: bytes

    def said(self) -> dict[str, Any]:
        """The content of an entry that is no block."""
        content: dict[str, Any] = json.loads(self.data)
        return content


class SpoolWriter:
    """The files of one host."""

    def __init__(self, folder: Path, host: str) -> None:
        self._folder = folder
        self._host = host
        self._number = 0
        self._fd = -1
        self._left = 0
        self._lost = 0

    def add_block(self, packets: int, block: memoryview, copied_ns: int, wall_ns: int) -> None:
        if not self._write(BLOCK, block, packets, copied_ns, wall_ns):
            self._lost += packets

    def add_owner(self, address: bytes, port: int, owner: tuple[str, int] | None) -> None:
        """Whose the connection is that begins at this end; None where nobody was found."""
        self._tell(OWNER, {"end": [address.hex(), port], "owner": owner})

    def note_lost(self, packets: int) -> None:
        self._lost += packets

    def close(self) -> None:
        """Say what was lost, then that this is the end."""
        if self._lost:
            self._tell(LOST, {"packets": self._lost})
        self._tell(END, {})
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _tell(self, kind: int, content: dict[str, Any]) -> None:
        self._write(kind, memoryview(json.dumps(content).encode()))

    def _write(self, kind: int, data: memoryview, packets: int = 0, copied_ns: int = 0, wall_ns: int = 0) -> bool:
        if self._left <= 0 and not self._open_next(is_needed=kind != BLOCK):
            return False
        entry = _ENTRY.pack(kind, len(data), packets, copied_ns, wall_ns)
        at = os.lseek(self._fd, 0, os.SEEK_CUR)
        try:
            written = os.writev(self._fd, [entry, data])
        except OSError:
            written = 0
        if written < len(entry) + len(data):  # the disk is full
            os.ftruncate(self._fd, at)
            os.lseek(self._fd, at, os.SEEK_SET)
            return False
        self._left -= written
        return True

    def _open_next(self, *, is_needed: bool) -> bool:
        """Begin another file; the decoder knows by it that the one before is whole."""
        if not is_needed and spooled_bytes(self._folder) > MOST_BYTES:
            return False
        path = self._folder / f"{self._host}.{self._number + 1}.spool"
        try:
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except OSError:
            return False
        if self._fd >= 0:
            os.close(self._fd)
        self._fd, self._number, self._left = fd, self._number + 1, FILE_BYTES
        return True


def spooled_bytes(folder: Path) -> int:
    """What waits for the decoder, of all hosts."""
    total = 0
    for entry in os.scandir(folder):
        try:
            total += entry.stat().st_size
        except OSError:
            continue
    return total


class SpoolReader:
    """Reads the files of one host while they are written, and removes those that are read."""

    def __init__(self, folder: Path, host: str) -> None:
        self._folder = folder
        self._host = host
        self._number = 1
        self._file: BinaryIO | None = None
        self.is_over = False

    def entries(self) -> Iterator[Entry]:
        """What is there by now, each entry once."""
        while not self.is_over:
            # Whether there is a next file is asked before the last look into this one.
            is_whole = self._path(self._number + 1).exists()
            if self._file is None:
                try:
                    self._file = self._path(self._number).open("rb")
                except OSError:
                    return
            while (entry := self._read(self._file)) is not None:
                if entry.kind == END:
                    self.is_over = True
                    self._remove()
                    return
                yield entry
            if not is_whole:
                return
            self._remove()
            self._number += 1

    def _read(self, file: BinaryIO) -> Entry | None:
        """The next entry; None, and nothing is read, while it is not whole."""
        at = file.tell()
        head = file.read(_ENTRY.size)
        if len(head) == _ENTRY.size:
            kind, length, packets, copied_ns, wall_ns = _ENTRY.unpack(head)
            data = file.read(length)
            if len(data) == length:
                return Entry(kind, packets, copied_ns, wall_ns, data)
        file.seek(at)
        return None

    def _remove(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
        self._path(self._number).unlink(missing_ok=True)

    def _path(self, number: int) -> Path:
        return self._folder / f"{self._host}.{number}.spool"
