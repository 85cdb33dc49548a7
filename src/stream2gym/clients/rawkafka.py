"""The two requests that the Kafka client library lacks, spoken on a plain socket: who is the active controller
(DescribeQuorum), and new replicas for partitions (AlterPartitionReassignments). Any broker passes both on.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")
DESCRIBE_QUORUM, ALTER_REASSIGNMENTS = 55, 45
_NO_TAGS = b"\x00"
_ERRORS = {
    3: "unknown topic or partition", 7: "the request timed out", 29: "not allowed", 38: "not enough brokers",
    39: "invalid replica assignment", 41: "not the controller", 60: "a reassignment is under way",
    85: "no reassignment is under way",
}  # fmt: skip


class Refused(Exception):
    """A broker said no, in words."""


def active_controller(servers: Sequence[str], timeout_s: float) -> int:
    """The node id of the leader of the metadata quorum, from the first broker that knows."""
    topic = compact("__cluster_metadata") + array([struct.pack("!i", 0) + _NO_TAGS]) + _NO_TAGS
    return _first(servers, timeout_s, DESCRIBE_QUORUM, array([topic]) + _NO_TAGS, _leader)


def _leader(answer: Reader) -> int:
    _check(answer.int16())
    for _topic in range(answer.length()):
        answer.text()
        for _partition in range(answer.length()):
            answer.int32()
            _check(answer.int16())
            leader = answer.int32()
            if leader < 0:
                raise Refused("no controller leads at the moment")
            return leader
    raise Refused("the answer names no controller")


def reassign(
    servers: Sequence[str], replicas: Mapping[str, Mapping[str, Sequence[int]]], timeout_s: float
) -> dict[str, str]:
    """Give partitions these replicas; what was refused, by ``topic/partition``."""
    topics = [
        compact(topic)
        + array(
            [
                struct.pack("!i", int(number)) + array([struct.pack("!i", n) for n in nodes]) + _NO_TAGS
                for number, nodes in partitions.items()
            ]
        )
        + _NO_TAGS
        for topic, partitions in replicas.items()
    ]
    body = struct.pack("!i", int(timeout_s * 1000)) + array(topics) + _NO_TAGS
    return _first(servers, timeout_s, ALTER_REASSIGNMENTS, body, _refused)


def _refused(answer: Reader) -> dict[str, str]:
    answer.int32()
    _check(answer.int16())
    answer.text()
    failed = {}
    for _topic in range(answer.length()):
        topic = answer.text()
        for _partition in range(answer.length()):
            number, code, why = answer.int32(), answer.int16(), answer.text()
            answer.tags()
            if code:
                failed[f"{topic}/{number}"] = why or _ERRORS.get(code, f"error {code}")
        answer.tags()
    return failed


def _check(code: int) -> None:
    if code:
        raise Refused(_ERRORS.get(code, f"error {code}"))


def _first(servers: Sequence[str], timeout_s: float, key: int, body: bytes, read: Callable[[Reader], T]) -> T:
    """The answer of the first broker that gives one."""
    problem: Exception = Refused("there is no broker to ask")
    for server in servers:
        try:
            return read(_ask(server, timeout_s, key, body))
        except (OSError, Refused, struct.error) as error:
            problem = error
    raise Refused(str(problem))


def _ask(server: str, timeout_s: float, key: int, body: bytes) -> Reader:
    host, _, port = server.rpartition(":")
    client = b"s2g-observer"
    header = struct.pack("!hhih", key, 0, 1, len(client)) + client + _NO_TAGS
    with socket.create_connection((host, int(port)), timeout=timeout_s) as sock:
        sock.sendall(struct.pack("!i", len(header) + len(body)) + header + body)
        size = struct.unpack("!i", _exactly(sock, 4))[0]
        answer = Reader(_exactly(sock, size))
    answer.int32()
    answer.tags()
    return answer


def _exactly(sock: socket.socket, count: int) -> bytes:
    data = bytearray()
    while len(data) < count:
        part = sock.recv(count - len(data))
        if not part:
            raise ConnectionResetError("the broker closed the connection")
        data += part
    return bytes(data)


def varint(number: int) -> bytes:
    """An unsigned number, seven bits a byte, lowest first."""
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def compact(text: str) -> bytes:
    data = text.encode()
    return varint(len(data) + 1) + data


def array(items: Sequence[bytes]) -> bytes:
    return varint(len(items) + 1) + b"".join(items)


class Reader:
    """Takes an answer apart, from its beginning."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def int16(self) -> int:
        return self._number("!h", 2)

    def int32(self) -> int:
        return self._number("!i", 4)

    def length(self) -> int:
        """The number of items of an array, or of bytes of a text; a missing one has none."""
        return max(0, self._varint() - 1)

    def text(self) -> str:
        size = self.length()
        self._at += size
        return self._data[self._at - size : self._at].decode()

    def tags(self) -> None:
        for _tag in range(self._varint()):
            self._varint()
            self._at += self._varint()

    def _varint(self) -> int:
        number = shift = 0
        while True:
            byte = self._number("!B", 1)
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return number

    def _number(self, form: str, size: int) -> int:
        self._at += size
        return int(struct.unpack_from(form, self._data, self._at - size)[0])
