"""Replaces the addresses of brokers in what Kafka answers, so that its clients come back by another way.

Kafka tells its clients where its brokers are: in the answers about metadata and about coordinators. ``AddressChange``
reads the requests and the answers of one connection and replaces the addresses in them. Addresses in other answers,
and answers that it cannot take apart, do not occur: it takes them out of the list of versions that the brokers offer,
and clients use what is offered.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping

from stream2gym.packets.fields import Fields, Undecodable

Address = tuple[str, int]

METADATA, FIND_COORDINATOR, API_VERSIONS = 3, 10, 18
# The newest versions that are offered, by kind of request: produce, fetch, metadata, commit and fetch of offsets,
# coordinator. Newer answers to produce and fetch tell the addresses of new leaders. Many newer versions name topics
# by ids, which the offered metadata lacks. Those whose answers are changed here are the last that are not flexible.
NEWEST = {0: 9, 1: 12, METADATA: 8, 8: 9, 9: 9, FIND_COORDINATOR: 2}
# Requests that are not offered, because their answers have addresses or because they need the ids of topics:
# description of the quorum and of the cluster, groups of the consumer protocol, groups that share, groups of streams.
WITHHELD = frozenset((55, 60, 68, 76, 77, 78, 79, 88))
_UNSUPPORTED_VERSION = 35
_HEAD = struct.Struct("!hhi")  # kind, version, correlation id
_CORRELATION = struct.Struct("!i")
_RANGE = struct.Struct("!3h")  # kind, oldest, newest version
_LONGEST_FRAME = 256 << 20


class Frames:
    """Cuts a stream into frames: each has its length in front."""

    def __init__(self) -> None:
        self._waiting = bytearray()

    def take(self, data: bytes) -> list[bytes]:
        """The frames, without their lengths, that are complete with these bytes."""
        self._waiting += data
        found = []
        while len(self._waiting) >= 4:
            length = int.from_bytes(self._waiting[:4], "big")
            if length > _LONGEST_FRAME:
                raise Undecodable(f"a message of {length} bytes")
            if len(self._waiting) < 4 + length:
                break
            found.append(bytes(self._waiting[4 : 4 + length]))
            del self._waiting[: 4 + length]
        return found


class AddressChange:
    """Changes what passes through one connection of a client to a broker. ``replace`` gives the new address of a
    broker."""

    def __init__(self, replace: Callable[[Address], Address]) -> None:
        self._replace = replace
        self._requests = Frames()
        self._answers = Frames()
        # Requests whose answers will be changed: kind and version by correlation id.
        self._asked: dict[int, tuple[int, int]] = {}

    def requests(self, data: bytes) -> bytes:
        """What goes to the broker: as it is. Undecodable for a version that was not offered."""
        for frame in self._requests.take(data):
            if len(frame) < _HEAD.size:
                raise Undecodable("a request without a head")
            kind, version, correlation = _HEAD.unpack_from(frame)
            if version > NEWEST.get(kind, version):
                raise Undecodable(f"version {version} of request {kind}, which was not offered")
            if kind in (METADATA, FIND_COORDINATOR, API_VERSIONS):
                self._asked[correlation] = (kind, version)
        return data

    def answers(self, data: bytes) -> bytes:
        """What goes to the client for these bytes of the broker."""
        return b"".join(self._change(frame) for frame in self._answers.take(data))

    def _change(self, frame: bytes) -> bytes:
        kind, version = self._asked.pop(_CORRELATION.unpack_from(frame)[0], (-1, 0))
        head, body = frame[: _CORRELATION.size], frame[_CORRELATION.size :]
        if kind == METADATA:
            body = change_metadata(body, version, self._replace)
        elif kind == FIND_COORDINATOR:
            body = change_coordinator(body, version, self._replace)
        elif kind == API_VERSIONS:
            body = change_versions(body, version)
        changed = head + body
        return len(changed).to_bytes(4, "big") + changed


def change_metadata(body: bytes, version: int, replace: Callable[[Address], Address]) -> bytes:
    """An answer about metadata with other addresses of brokers. They stand in its beginning."""
    fields = Fields(body)
    begin = 0
    if version >= 3:
        fields.int32()  # how long the broker held the client up
        begin = 4
    brokers = []
    for _ in range(fields.length()):
        node, host, port = fields.int32(), fields.text() or "", fields.int32()
        rack = fields.text() if version >= 1 else None
        host, port = replace((host, port))
        brokers.append(node.to_bytes(4, "big", signed=True) + _text(host) + port.to_bytes(4, "big", signed=True))
        brokers.append(_text(rack) if version >= 1 else b"")
    count = len(brokers) // 2
    return body[:begin] + count.to_bytes(4, "big") + b"".join(brokers) + body[fields.at :]


def change_coordinator(body: bytes, version: int, replace: Callable[[Address], Address]) -> bytes:
    """An answer about a coordinator with another address."""
    fields = Fields(body)
    if version >= 1:
        fields.int32()
    fields.int16()  # what went wrong
    if version >= 1:
        fields.text()
    fields.int32()  # the broker
    begin = fields.at
    host, port = replace((fields.text() or "", fields.int32()))
    return body[:begin] + _text(host) + port.to_bytes(4, "big", signed=True) + body[fields.at :]


def change_versions(body: bytes, version: int) -> bytes:
    """The list of versions without those whose answers we could not change."""
    if int.from_bytes(body[:2], "big", signed=True) == _UNSUPPORTED_VERSION:
        version = 0  # such an answer is of the first version, whatever was asked
    is_flexible = version >= 3
    fields = Fields(body, at=2, is_flexible=is_flexible)
    offered = []
    for _ in range(fields.length()):
        kind, oldest, newest = fields.int16(), fields.int16(), fields.int16()
        fields.tags()
        newest = min(newest, NEWEST.get(kind, newest))
        if kind not in WITHHELD and oldest <= newest:
            offered.append(_RANGE.pack(kind, oldest, newest) + (b"\0" if is_flexible else b""))
    length = _varint(len(offered) + 1) if is_flexible else len(offered).to_bytes(4, "big")
    return body[:2] + length + b"".join(offered) + body[fields.at :]


def replace_from(table: Mapping[Address, Address]) -> Callable[[Address], Address]:
    """A function that looks addresses up; others, such as that of no broker, stay as they are."""
    return lambda address: table.get(address, address)


def _text(text: str | None) -> bytes:
    if text is None:
        return b"\xff\xff"
    data = text.encode()
    return len(data).to_bytes(2, "big") + data


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)
