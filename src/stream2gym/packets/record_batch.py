"""Kafka's record batches (format 2, the only one that brokers of version 4 take), also compressed ones.

Decompression is that of PyArrow and zlib. Snappy comes in the framing of Java's library, or without any framing from
librdkafka.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa

from stream2gym.packets.fields import Undecodable

_HEADER = struct.Struct("!qiibIhiqqqhii")
_FORMAT = 2
_BEHIND_LENGTH = 12  # the offset and the length itself come before what the length counts
_COMPRESSION, _APPEND_TIME, _TRANSACTIONAL, _CONTROL = 0x07, 0x08, 0x10, 0x20
_XERIAL = b"\x82SNAPPY\x00"
_XERIAL_HEADER_BYTES = 16


class Record(NamedTuple):
    """One message. ``headers`` are the encoded headers, with their count in front."""

    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: bytes


@dataclass(frozen=True)
class Batch:
    """A batch whose records are not decoded yet."""

    base_offset: int
    last_offset: int
    has_append_time: bool
    is_transactional: bool
    is_control: bool
    producer_id: int
    producer_epoch: int
    compression: int
    base_timestamp_ms: int
    max_timestamp_ms: int
    count: int
    payload: memoryview

    def records(self) -> list[Record]:
        """Decode the records."""
        data = self.payload if self.compression == 0 else decompress(self.compression, self.payload)
        try:
            return _records(bytes(data), self)
        except (IndexError, struct.error) as error:
            raise Undecodable("a record batch is shorter than it says") from error

    def is_abort_marker(self) -> bool:
        """For a control batch: whether it marks the end of an aborted transaction."""
        for record in self.records():
            if record.key is not None and len(record.key) >= 4:
                return int.from_bytes(record.key[2:4], "big") == 0
        return False


def batches(data: bytes | memoryview) -> Iterator[Batch]:
    """The whole batches of a records field; a broker may cut off the last one."""
    view, at = memoryview(data), 0
    while at + _HEADER.size <= len(view):
        (
            base_offset, length, _, magic, _, attributes, last_delta, base_ms, max_ms, producer, epoch, _, count,
        ) = _HEADER.unpack_from(view, at)  # fmt: skip
        end = at + _BEHIND_LENGTH + length
        if magic != _FORMAT:
            raise Undecodable(f"a record batch of format {magic}")
        if length < _HEADER.size - _BEHIND_LENGTH:
            raise Undecodable("a record batch without a whole header")
        if end > len(view):
            return
        yield Batch(
            base_offset=base_offset,
            last_offset=base_offset + last_delta,
            has_append_time=bool(attributes & _APPEND_TIME),
            is_transactional=bool(attributes & _TRANSACTIONAL),
            is_control=bool(attributes & _CONTROL),
            producer_id=producer,
            producer_epoch=epoch,
            compression=attributes & _COMPRESSION,
            base_timestamp_ms=base_ms,
            max_timestamp_ms=max_ms,
            count=count,
            payload=view[at + _HEADER.size : end],
        )
        at = end


def decompress(compression: int, data: memoryview) -> bytes:
    """The bytes of a compressed batch; the number is Kafka's."""
    try:
        match compression:
            case 1:
                return zlib.decompress(data, 31)
            case 2:
                return _unsnap(bytes(data))
            case 3:
                return _stream(data, "lz4")
            case 4:
                return _stream(data, "zstd")
    except (OSError, zlib.error, IndexError, struct.error, pa.ArrowException) as error:
        raise Undecodable(f"a batch that cannot be decompressed: {error}") from error
    raise Undecodable(f"a compression of the unknown kind {compression}")


def _stream(data: memoryview, codec: str) -> bytes:
    with pa.CompressedInputStream(pa.py_buffer(data), codec) as stream:
        return bytes(stream.read())


def _unsnap(data: bytes) -> bytes:
    if not data.startswith(_XERIAL):
        return _unsnap_block(data)
    whole, at = bytearray(), _XERIAL_HEADER_BYTES
    while at < len(data):
        length = struct.unpack_from("!i", data, at)[0]
        whole += _unsnap_block(data[at + 4 : at + 4 + length])
        at += 4 + length
    return bytes(whole)


def _unsnap_block(block: bytes) -> bytes:
    """A block of Snappy, which begins with its decompressed length, seven bits a byte."""
    size = shift = 0
    for byte in block:
        size |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    return bytes(pa.decompress(block, decompressed_size=size, codec="snappy", asbytes=True))


def header_value(headers: bytes, name: bytes) -> bytes | None:
    """The last header of this name; None where there is none."""
    if headers == b"\x00" or name not in headers:
        return None
    found = None
    count, at = _varint(headers, 0)
    for _ in range(count):
        length, at = _varint(headers, at)
        key = headers[at : at + length]
        at += length
        length, at = _varint(headers, at)
        if key == name:
            found = headers[at : at + length] if length >= 0 else None
        at += max(0, length)
    return found


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A signed number in zigzag form and where it ends."""
    byte = data[at]
    at += 1
    if byte < 0x80:
        return (byte >> 1) ^ -(byte & 1), at
    number, shift = byte & 0x7F, 7
    while byte >= 0x80:
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        shift += 7
    return (number >> 1) ^ -(number & 1), at


def _records(data: bytes, batch: Batch) -> list[Record]:
    found = []
    at = 0
    base_offset, base_ms = batch.base_offset, batch.base_timestamp_ms
    for _ in range(batch.count):
        length, at = _varint(data, at)
        end = at + length
        if end > len(data):
            raise Undecodable("a record batch is shorter than it says")
        later_ms, at = _varint(data, at + 1)
        offset, at = _varint(data, at)
        size, at = _varint(data, at)
        key = None
        if size >= 0:
            key = data[at : at + size]
            at += size
        size, at = _varint(data, at)
        value = None
        if size >= 0:
            value = data[at : at + size]
            at += size
        timestamp = batch.max_timestamp_ms if batch.has_append_time else base_ms + later_ms
        found.append(Record(base_offset + offset, timestamp, key, value, data[at:end]))
        at = end
    return found
