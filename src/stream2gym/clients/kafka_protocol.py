"""Requests in Kafka's own protocol, sent over a plain socket: those that the Kafka client library lacks.

    DescribeQuorum               which node is the active controller
    FindCoordinator              which node coordinates a group
    AlterPartitionReassignments  new replicas for partitions
    Metadata                     what one certain broker knows about partitions, with the epochs

The library finds coordinators, too, but aborts when a busy cluster delays the answer. It sends Metadata to a broker
of its own choice and does not pass on the epochs.
"""

from __future__ import annotations

import contextlib
import socket
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")
# Key and version of each request.
METADATA = (3, 12)
FIND_COORDINATOR = (10, 4)
ALTER_REASSIGNMENTS = (45, 0)
DESCRIBE_QUORUM = (55, 0)
NO_TAGS = b"\x00"
_ERRORS = {
    3: "unknown topic or partition", 7: "the request timed out", 14: "the coordinator is loading",
    15: "no coordinator is there yet", 16: "not the coordinator", 29: "not allowed", 38: "not enough brokers",
    39: "invalid replica assignment", 41: "not the controller", 60: "a reassignment is under way",
    85: "no reassignment is under way",
}  # fmt: skip


class Refused(Exception):
    """A broker answered with an error."""


def find_controller(servers: Sequence[str], timeout_s: float) -> int:
    """The node id of the active controller, from the first broker that knows it."""
    return _ask_any(servers, timeout_s, DESCRIBE_QUORUM, _quorum_request(), _read_controller)[1]


def ask_controller(broker: Connection) -> tuple[int, int]:
    """The epoch and the node id of the active controller, as this broker hears from it; Refused if none is active."""
    return _read_controller(broker.ask(DESCRIBE_QUORUM, _quorum_request()))


def _quorum_request() -> bytes:
    partition = struct.pack("!i", 0) + NO_TAGS
    return array([compact("__cluster_metadata") + array([partition]) + NO_TAGS]) + NO_TAGS


def _read_controller(answer: Reader) -> tuple[int, int]:
    refuse(answer.int16())
    for _topic in range(answer.length()):
        answer.text()
        for _partition in range(answer.length()):
            answer.int32()
            refuse(answer.int16())
            leader, epoch = answer.int32(), answer.int32()
            if leader < 0:
                raise Refused("no controller leads at the moment")
            return epoch, leader
    raise Refused("the answer names no controller")


def find_coordinator(servers: Sequence[str], group: str, timeout_s: float) -> int:
    """The node id of a group's coordinator. The first such request makes Kafka create its own topic for groups."""
    body = struct.pack("!b", 0) + array([compact(group)]) + NO_TAGS
    return _ask_any(servers, timeout_s, FIND_COORDINATOR, body, _read_coordinator)


def _read_coordinator(answer: Reader) -> int:
    answer.int32()
    for _group in range(answer.length()):
        answer.text()
        node = answer.int32()
        answer.text()
        answer.int32()
        refuse(answer.int16())
        return node
    raise Refused("the answer names no coordinator")


@dataclass(frozen=True)
class Partition:
    """A partition as one broker knows it. Every change of the leader raises the epoch."""

    epoch: int
    leader: int  # -1: none
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]


@dataclass(frozen=True)
class Topic:
    id: str  # another one after the topic was deleted and made again
    partitions: dict[int, Partition]


def ask_topics(broker: Connection, names: Sequence[str]) -> dict[str, Topic]:
    """What the broker knows about these topics; one that it does not know is left out."""
    wanted = array([bytes(16) + compact(name) + NO_TAGS for name in names])
    return _read_topics(broker.ask(METADATA, wanted + struct.pack("!??", False, False) + NO_TAGS))


def _read_topics(answer: Reader) -> dict[str, Topic]:
    answer.int32()
    for _broker in range(answer.length()):
        _node, _host, _port, _rack = answer.int32(), answer.text(), answer.int32(), answer.text()
        answer.tags()
    answer.text()
    answer.int32()
    found = {}
    for _topic in range(answer.length()):
        code, name, id_ = answer.int16(), answer.text(), answer.data(16).hex()
        answer.data(1)
        partitions = dict(_read_partition(answer) for _number in range(answer.length()))
        answer.int32()
        answer.tags()
        if not code:
            found[name] = Topic(id_, partitions)
    return found


def _read_partition(answer: Reader) -> tuple[int, Partition]:
    answer.int16()
    number, leader, epoch = answer.int32(), answer.int32(), answer.int32()
    replicas, in_sync, _offline = (tuple(answer.int32() for _ in range(answer.length())) for _ in range(3))
    answer.tags()
    return number, Partition(epoch, leader, replicas, tuple(sorted(in_sync)))


def reassign(
    servers: Sequence[str], replicas: Mapping[str, Mapping[str, Sequence[int]]], timeout_s: float
) -> dict[str, str]:
    """Give partitions these replicas. Returns why it was refused, by ``topic/partition``."""
    topics = [
        compact(topic)
        + array(
            [
                struct.pack("!i", int(number)) + array([struct.pack("!i", n) for n in nodes]) + NO_TAGS
                for number, nodes in partitions.items()
            ]
        )
        + NO_TAGS
        for topic, partitions in replicas.items()
    ]
    body = struct.pack("!i", int(timeout_s * 1000)) + array(topics) + NO_TAGS
    return _ask_any(servers, timeout_s, ALTER_REASSIGNMENTS, body, _read_reassignment)


def _read_reassignment(answer: Reader) -> dict[str, str]:
    answer.int32()
    refuse(answer.int16())
    answer.text()
    failed = {}
    for _topic in range(answer.length()):
        topic = answer.text()
        for _partition in range(answer.length()):
            number, code, reason = answer.int32(), answer.int16(), answer.text()
            answer.tags()
            if code:
                failed[f"{topic}/{number}"] = reason or _ERRORS.get(code, f"error {code}")
        answer.tags()
    return failed


def refuse(code: int) -> None:
    """Raise Refused if an answer has an error code."""
    if code:
        raise Refused(_ERRORS.get(code, f"error {code}"))


def _ask_any(
    servers: Sequence[str], timeout_s: float, key: tuple[int, int], body: bytes, read: Callable[[Reader], T]
) -> T:
    """The answer of the first broker that gives one."""
    problem: Exception = Refused("there is no broker to ask")
    for server in servers:
        try:
            with contextlib.closing(Connection(server, timeout_s)) as broker:
                return read(broker.ask(key, body))
        except (OSError, Refused, struct.error) as error:
            problem = error
    raise Refused(str(problem))


class Connection:
    """A connection to one broker. After a failure the next request opens a new socket."""

    def __init__(self, server: str, timeout_s: float) -> None:
        host, _, port = server.rpartition(":")
        self._address = (host, int(port))
        self._timeout_s = timeout_s
        self._socket: socket.socket | None = None

    def ask(self, key: tuple[int, int], body: bytes) -> Reader:
        """The answer to one request; raises OSError when none comes in time."""
        client = b"s2g-observer"
        header = struct.pack("!hhih", *key, 1, len(client)) + client + NO_TAGS
        try:
            if self._socket is None:
                self._socket = socket.create_connection(self._address, self._timeout_s)
            self._socket.sendall(struct.pack("!i", len(header) + len(body)) + header + body)
            size = struct.unpack("!i", _exactly(self._socket, 4))[0]
            answer = Reader(_exactly(self._socket, size))
        except OSError:
            self.close()
            raise
        answer.int32()
        answer.tags()
        return answer

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None


def _exactly(sock: socket.socket, count: int) -> bytes:
    data = bytearray()
    while len(data) < count:
        part = sock.recv(count - len(data))
        if not part:
            raise ConnectionResetError("the broker closed the connection")
        data += part
    return bytes(data)


def varint(number: int) -> bytes:
    """An unsigned number in groups of seven bits, the lowest first."""
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
    """Reads the fields of an answer, one after the other."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def int16(self) -> int:
        return self._number("!h", 2)

    def int32(self) -> int:
        return self._number("!i", 4)

    def int64(self) -> int:
        return self._number("!q", 8)

    def length(self) -> int:
        """The number of items of an array or of bytes of a text; 0 for one that is null."""
        return max(0, self._varint() - 1)

    def text(self) -> str:
        return self.data(self.length()).decode()

    def data(self, size: int) -> bytes:
        self._at += size
        return self._data[self._at - size : self._at]

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
