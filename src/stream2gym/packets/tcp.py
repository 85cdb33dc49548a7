"""TCP streams from captured packets: the bytes of each direction of a connection, in order, each byte once.

A capture shows a packet when it leaves or reaches a host. So a segment may come twice, in another order, or may never
have reached the other side. Bytes of a direction whose receiver must have them count only when an acknowledgement of
the receiving side covers them. A byte that was acknowledged and never captured breaks the stream: nothing behind it
can be read, and ``Stream.broken`` says so.

Memory is bounded: a stream holds the bytes of one unfinished frame and what came ahead of a missing segment.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, Protocol

FIN, SYN, RST, ACK = 0x01, 0x02, 0x04, 0x10
# Kafka's own limit of a request is 100 MiB, its default for an answer to a fetch 50 MiB and one batch.
LONGEST_FRAME_BYTES = 128 << 20
_TCP = 6
_IPV4 = 4
_WRAP = 1 << 32
_HALF = 1 << 31
_PORTS_TO_FLAGS = struct.Struct("!HHIIBB")
_LENGTH = struct.Struct("!i")

End = tuple[bytes, int]  # IPv4 address (four bytes) and port


class Segment(NamedTuple):
    """A TCP segment. ``number`` is the sequence number of its first byte."""

    at_ns: int
    source: End
    target: End
    number: int
    acknowledges: int
    flags: int
    data: bytes


class Frame(NamedTuple):
    """One request or response: its bytes behind the length, and when its first and its last byte passed."""

    data: bytes
    first_ns: int
    last_ns: int


def parse_segment(packet: bytes | memoryview, at_ns: int, *, verify: bool = False) -> Segment | None:
    """The segment in an IPv4 packet; None for other packets, fragments, and with ``verify`` for a wrong checksum."""
    if len(packet) < 40 or packet[0] >> 4 != _IPV4 or packet[9] != _TCP:
        return None
    header = (packet[0] & 15) * 4
    total = (packet[2] << 8 | packet[3]) or len(packet)
    if total > len(packet) or (packet[6] & 0x3F) or packet[7]:
        return None
    source, target, number, acknowledges, offset, flags = _PORTS_TO_FLAGS.unpack_from(packet, header)
    if verify and not _is_intact(packet, header, total):
        return None
    data = bytes(packet[header + (offset >> 4) * 4 : total])
    ends = (bytes(packet[12:16]), source), (bytes(packet[16:20]), target)
    return Segment(at_ns, ends[0], ends[1], number, acknowledges, flags, data)


def _is_intact(packet: bytes | memoryview, header: int, total: int) -> bool:
    """Whether the TCP checksum is right: the ones' complement sum over pseudo header and segment is all ones."""
    length = total - header
    number = int.from_bytes(packet[header:total], "big") << (8 if length % 2 else 0)
    number += int.from_bytes(packet[12:20], "big") + _TCP + length
    return number % 0xFFFF == 0


def read_pcap(path: Path) -> Iterator[Segment]:
    """The TCP segments of a capture file of raw IPv4 packets with nanosecond times."""
    raw = path.read_bytes()
    at = 24
    while at + 16 <= len(raw):
        seconds, rest, length = struct.unpack_from("=III", raw, at)
        segment = parse_segment(raw[at + 16 : at + 16 + length], seconds * 1_000_000_000 + rest)
        at += 16 + length
        if segment is not None:
            yield segment


class Stream:
    """One direction of a connection, cut into frames with a length of four bytes in front.

    ``needs_acknowledgement`` is for a direction whose bytes count only when their receiver has acknowledged them.
    """

    def __init__(self, start: int, *, needs_acknowledgement: bool) -> None:
        self.broken = ""
        self._needs_acknowledgement = needs_acknowledgement
        # Bytes have places counted from 0. ``_wanted`` is the place of the next byte in order, ``_number`` its
        # sequence number.
        self._wanted = 0
        self._number = (start + 1) % _WRAP
        self._acknowledged = 0
        self._early: dict[int, tuple[bytes, int]] = {}
        self._early_bytes = 0
        self._buffer = bytearray()
        self._base = 0  # the place of the first byte of the buffer
        # Ends (places) of what was appended, with the time at which the stream was whole up to there.
        self._marks: list[tuple[int, int]] = []

    def add(self, number: int, data: bytes, at_ns: int) -> None:
        """Take the data of a segment."""
        ahead = (number - self._number) % _WRAP
        if ahead >= _HALF:
            ahead -= _WRAP
        if ahead > 0:
            self._keep_early(self._wanted + ahead, data, at_ns)
            return
        if ahead + len(data) > 0:
            self._append(data[-ahead:] if ahead else data, at_ns)
            if self._early:
                self._append_early(at_ns)

    def acknowledge(self, number: int) -> None:
        """Take the acknowledgement of the receiving side."""
        ahead = (number - self._number) % _WRAP
        if ahead >= _HALF:
            ahead -= _WRAP
        place = self._wanted + ahead
        # The byte behind the last one is the end of the stream (FIN), which carries no data.
        if ahead > 1 and not self.broken:
            self.broken = "bytes are missing in the capture"
        self._acknowledged = max(self._acknowledged, place)

    def frames(self) -> Iterator[Frame]:
        """The frames that are whole by now, each once."""
        while not self.broken:
            held = len(self._buffer)
            if held < 4:
                return
            length = _LENGTH.unpack_from(self._buffer)[0]
            if not 0 < length <= LONGEST_FRAME_BYTES:
                self.broken = "this is no Kafka traffic"
                return
            end = self._base + 4 + length
            if held < 4 + length or (self._needs_acknowledgement and self._acknowledged < end):
                return
            data = bytes(memoryview(self._buffer)[4 : 4 + length])
            del self._buffer[: 4 + length]
            first_ns = self._marks[0][1]
            while self._marks[0][0] < end:
                del self._marks[0]
            last_ns = self._marks[0][1]
            if self._marks[0][0] == end:
                del self._marks[0]
            self._base = end
            yield Frame(data, first_ns, last_ns)

    def _append(self, data: bytes, at_ns: int) -> None:
        if self.broken:
            return
        self._buffer += data
        self._wanted += len(data)
        self._number = (self._number + len(data)) % _WRAP
        self._marks.append((self._wanted, at_ns))

    def _keep_early(self, place: int, data: bytes, at_ns: int) -> None:
        known = self._early.get(place)
        if self.broken or (known is not None and len(known[0]) >= len(data)):
            return
        self._early_bytes += len(data) - (len(known[0]) if known else 0)
        self._early[place] = (data, at_ns)
        if self._early_bytes > LONGEST_FRAME_BYTES:
            self.broken = "too much came ahead of a missing segment"
            self._early.clear()

    def _append_early(self, at_ns: int) -> None:
        """Append what came before its turn and is due now."""
        for place in sorted(self._early):
            if place > self._wanted:
                return
            data = self._early.pop(place)[0]
            self._early_bytes -= len(data)
            if place + len(data) > self._wanted:
                self._append(data[self._wanted - place :], at_ns)


class Conversation(Protocol):
    """Whoever hears the frames of a connection."""

    def hear_request(self, frame: Frame) -> None: ...

    def hear_response(self, frame: Frame) -> None: ...

    def hear_end(self, broken: str) -> None:
        """The client closed the connection or it was reset; ``broken`` says why frames may have been missed."""


class Connection:
    """Both directions of a connection. ``start`` is the client's first sequence number."""

    def __init__(self, start: int, conversation: Conversation) -> None:
        self.start = start
        self._conversation = conversation
        # A request counts when it has left the client; a response when the client's TCP has acknowledged it.
        self._requests = Stream(start, needs_acknowledgement=False)
        self._responses: Stream | None = None
        self._is_over = False

    def hear_client(self, segment: Segment) -> None:
        if self._is_over:
            return
        if segment.data:
            self._requests.add(segment.number, segment.data, segment.at_ns)
            for frame in self._requests.frames():
                self._conversation.hear_request(frame)
        if self._responses is not None and segment.flags & ACK:
            self._responses.acknowledge(segment.acknowledges)
            for frame in self._responses.frames():
                self._conversation.hear_response(frame)
        if segment.flags & (FIN | RST):
            self.end()

    def hear_server(self, segment: Segment) -> None:
        if self._is_over:
            return
        if segment.flags & SYN:
            if self._responses is None:
                self._responses = Stream(segment.number, needs_acknowledgement=True)
            return
        if self._responses is not None and segment.data:
            self._responses.add(segment.number, segment.data, segment.at_ns)
        if segment.flags & ACK:
            self._requests.acknowledge(segment.acknowledges)
        if segment.flags & RST:
            self.end()

    def end(self) -> None:
        """Hear no more of it."""
        if not self._is_over:
            self._is_over = True
            responses = self._responses
            broken = self._requests.broken or ("" if responses is None else responses.broken)
            self._conversation.hear_end(broken)


class Connections:
    """All connections of one host to the brokers' port.

    ``accept`` is asked at the beginning of each connection, with the client's end, who hears it; None ignores it.
    ``headless`` counts connections whose beginning was not captured. They cannot be read, because nobody knows where
    a frame begins.
    """

    def __init__(self, port: int, accept: Callable[[End], Conversation | None]) -> None:
        self._port = port
        self._accept = accept
        self._known: dict[tuple[End, End], Connection | None] = {}
        self.headless = 0

    def add(self, segment: Segment) -> None:
        if segment.target[1] == self._port:
            key = (segment.source, segment.target)
            if segment.flags & SYN and not segment.flags & ACK:
                self._begin(key, segment)
            elif key not in self._known:
                self._note_headless(key, segment)
            else:
                connection = self._known[key]
                if connection is not None:
                    connection.hear_client(segment)
        else:
            key = (segment.target, segment.source)
            connection = self._known.get(key)
            if connection is not None:
                connection.hear_server(segment)

    def end(self) -> None:
        """The capture has ended."""
        for connection in self._known.values():
            if connection is not None:
                connection.end()
        self._known.clear()

    def _begin(self, key: tuple[End, End], segment: Segment) -> None:
        known = self._known.get(key)
        if known is not None:
            if known.start == segment.number:
                return
            known.end()
        conversation = self._accept(segment.source)
        self._known[key] = None if conversation is None else Connection(segment.number, conversation)

    def _note_headless(self, key: tuple[End, End], segment: Segment) -> None:
        # A reset or an end of something forgotten is no loss.
        if not segment.flags & (FIN | RST) and segment.data:
            self._known[key] = None
            self.headless += 1
