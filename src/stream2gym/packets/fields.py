"""The fields of Kafka's requests and responses, taken apart from their beginning.

The newer versions of a message are *flexible*: lengths are variable numbers plus one, and tagged fields follow.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import TypeVar

T = TypeVar("T")
_INT16, _INT32, _INT64 = struct.Struct("!h"), struct.Struct("!i"), struct.Struct("!q")


class Undecodable(Exception):
    """Bytes that are no Kafka message of a version known here."""


class Fields:
    """Reads one message. Every method moves on behind what it returns."""

    def __init__(self, data: bytes, *, at: int = 0, is_flexible: bool = False) -> None:
        self._data = data
        self._at = at
        self._is_flexible = is_flexible

    @property
    def at(self) -> int:
        """Where the next field begins."""
        return self._at

    def int8(self) -> int:
        self._at += 1
        byte = self._data[self._at - 1]
        return byte - 256 if byte > 127 else byte

    def int16(self) -> int:
        return self._unpack(_INT16)

    def int32(self) -> int:
        return self._unpack(_INT32)

    def int64(self) -> int:
        return self._unpack(_INT64)

    def uuid(self) -> bytes:
        return self._take(16)

    def text(self) -> str | None:
        length = self._varint() - 1 if self._is_flexible else self.int16()
        return None if length < 0 else self._take(length).decode("utf-8", "replace")

    def data(self) -> memoryview:
        """A field of bytes; one that is null is empty."""
        length = self.length()
        self._at += length
        if self._at > len(self._data):
            raise Undecodable("a message is shorter than it says")
        return memoryview(self._data)[self._at - length : self._at]

    def length(self) -> int:
        """The number of items of an array; one that is null has none."""
        return max(0, self._varint() - 1 if self._is_flexible else self.int32())

    def items(self, read: Callable[[], T]) -> Iterator[T]:
        """The items of an array, each read and followed by its tagged fields."""
        for _ in range(self.length()):
            item = read()
            self.tags()
            yield item

    def numbers(self) -> list[int]:
        """An array of 32-bit numbers."""
        return [self.int32() for _ in range(self.length())]

    def tags(self) -> None:
        """Skip tagged fields, where the message may have them."""
        if not self._is_flexible:
            return
        for _ in range(self._varint()):
            self._varint()
            self._at += self._varint()

    def _take(self, size: int) -> bytes:
        self._at += size
        if self._at > len(self._data):
            raise Undecodable("a message is shorter than it says")
        return self._data[self._at - size : self._at]

    def _unpack(self, form: struct.Struct) -> int:
        self._at += form.size
        return int(form.unpack_from(self._data, self._at - form.size)[0])

    def _varint(self) -> int:
        number = shift = 0
        while True:
            byte = self._data[self._at]
            self._at += 1
            number |= (byte & 0x7F) << shift
            if byte < 0x80:
                return number
            shift += 7
