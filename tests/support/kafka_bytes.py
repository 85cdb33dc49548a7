"""Kafka messages and TCP segments made by hand, for tests of what the decoder makes of them."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

from stream2gym.packets.tcp import ACK, FIN, RST, SYN, End, Segment

PORT = 9092
CLIENT: End = (bytes([10, 0, 0, 1]), 40000)
BROKER: End = (bytes([10, 0, 0, 2]), PORT)
Message = tuple[bytes | None, bytes | None]  # key and value


def varint(number: int) -> bytes:
    """A signed number in zigzag form."""
    rest = (number << 1) ^ (number >> 63)
    out = bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


def record(
    delta: int, message: Message, headers: Sequence[tuple[bytes, bytes | None]] = (), later_ms: int = 0
) -> bytes:
    def part(data: bytes | None) -> bytes:
        return varint(-1) if data is None else varint(len(data)) + data

    told = b"".join(varint(len(name)) + name + part(value) for name, value in headers)
    body = (
        b"\0" + varint(later_ms) + varint(delta) + part(message[0]) + part(message[1]) + varint(len(headers)) + told
    )
    return varint(len(body)) + body


def batch(
    messages: Sequence[Message],
    *,
    base_offset: int = 0,
    timestamp_ms: int = 1_700_000_000_000,
    attributes: int = 0,
    producer: tuple[int, int, int] = (-1, -1, -1),
    payload: bytes | None = None,
) -> bytes:
    """A record batch; ``payload`` stands for the records where they are compressed already."""
    records = b"".join(record(number, message) for number, message in enumerate(messages))
    behind = struct.pack(
        "!hiqqqhii", attributes, len(messages) - 1, timestamp_ms, timestamp_ms, *producer, len(messages)
    ) + (records if payload is None else payload)
    return struct.pack("!qiibI", base_offset, len(behind) + 9, 0, 2, 0) + behind


def text(value: str) -> bytes:
    return struct.pack("!h", len(value)) + value.encode()


def frame(body: bytes) -> bytes:
    return struct.pack("!i", len(body)) + body


def request(kind: int, version: int, correlation: int, body: bytes, client: str = "me") -> bytes:
    return frame(struct.pack("!hhi", kind, version, correlation) + text(client) + body)


def produce_request(correlation: int, topic: str, partition: int, records: bytes, acks: int = 1) -> bytes:
    """Version 3."""
    part = struct.pack("!ii", partition, len(records)) + records
    body = struct.pack("!hhi", -1, acks, 1000) + struct.pack("!i", 1) + text(topic) + struct.pack("!i", 1) + part
    return request(0, 3, correlation, body)


def produce_response(correlation: int, topic: str, partition: int, offset: int, error: int = 0) -> bytes:
    part = struct.pack("!ihqq", partition, error, offset, -1)
    body = struct.pack("!i", 1) + text(topic) + struct.pack("!i", 1) + part + struct.pack("!i", 0)
    return frame(struct.pack("!i", correlation) + body)


def fetch_request(correlation: int, topic: str, partition: int, offset: int, isolation: int = 0) -> bytes:
    """Version 4."""
    part = struct.pack("!iqi", partition, offset, 1 << 20)
    head = struct.pack("!iiiib", -1, 500, 1, 1 << 20, isolation)
    return request(1, 4, correlation, head + struct.pack("!i", 1) + text(topic) + struct.pack("!i", 1) + part)


def fetch_response(
    correlation: int, topic: str, partition: int, records: bytes, aborted: Sequence[tuple[int, int]] = ()
) -> bytes:
    told = struct.pack("!i", len(aborted)) + b"".join(struct.pack("!qq", *one) for one in aborted)
    part = struct.pack("!ihqq", partition, 0, 0, 0) + told + struct.pack("!i", len(records)) + records
    body = struct.pack("!ii", 0, 1) + text(topic) + struct.pack("!i", 1) + part
    return frame(struct.pack("!i", correlation) + body)


@dataclass
class Dialogue:
    """A connection, told step by step; each method adds its segments, a microsecond after the last."""

    client: End = CLIENT
    server: End = BROKER
    start: int = 100
    segments: list[Segment] = field(default_factory=list)
    at_ns: int = 0

    def __post_init__(self) -> None:
        self._to_server = self.start
        self._to_client = self.start + 5000
        self.add(True, SYN)
        self._to_server += 1
        self.add(False, SYN | ACK)
        self._to_client += 1
        self.add(True, ACK)

    def ask(self, data: bytes) -> Dialogue:
        """The client sends, and the server's TCP acknowledges."""
        self.add(True, ACK, data)
        self._to_server += len(data)
        self.add(False, ACK)
        return self

    def answer(self, data: bytes, *, is_acknowledged: bool = True) -> Dialogue:
        self.add(False, ACK, data)
        self._to_client += len(data)
        if is_acknowledged:
            self.add(True, ACK)
        return self

    def close(self) -> Dialogue:
        self.add(True, FIN | ACK)
        return self

    def reset(self, *, by_client: bool = False) -> Dialogue:
        self.add(by_client, RST | ACK)
        return self

    def add(self, from_client: bool, flags: int, data: bytes = b"") -> None:
        self.at_ns += 1000
        ends = (self.client, self.server) if from_client else (self.server, self.client)
        number, other = self._to_server, self._to_client
        if not from_client:
            number, other = other, number
        self.segments.append(Segment(self.at_ns, *ends, number % (1 << 32), other % (1 << 32), flags, data))
