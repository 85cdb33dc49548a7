"""Round trips between a client and its brokers, from the captured packets of the client's link.

A round trip is a connection that is opened, or a request with its response. It ends when the response reaches the
client. A capture shows a packet when it enters the link, so that the latency of the link is added for what comes
from the broker. ``count_sequential`` says how many round trips must have followed each other: that is what a longer
link costs.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from stream2gym.packets.fields import Undecodable
from stream2gym.packets.messages import read_header
from stream2gym.packets.tcp import ACK, SYN, Connections, End, Frame, Segment, read_pcap

CONNECT = -1
PORT = 9092
# The requests that the clients of engines make; others are shown by their number.
KINDS = {
    CONNECT: "connect", 0: "produce", 1: "fetch", 2: "list offsets", 3: "metadata", 8: "commit offsets",
    9: "fetch offsets", 10: "find coordinator", 11: "join group", 12: "heartbeat", 13: "leave group",
    14: "sync group", 18: "api versions", 22: "init producer id", 32: "describe configs", 60: "describe cluster",
    75: "describe topic partitions",
}  # fmt: skip


@dataclass(frozen=True)
class RoundTrip:
    """One round trip. ``kind`` is a word of ``KINDS``, ``client`` the id that the client gives itself."""

    kind: str
    client: str
    begin_ns: int
    end_ns: int


class _Listener:
    """Hears one connection and notes its round trips."""

    def __init__(self, found: list[RoundTrip], latency_ns: int) -> None:
        self._found = found
        self._latency_ns = latency_ns
        self._waiting: dict[int, tuple[str, str, int]] = {}

    def hear_request(self, frame: Frame) -> None:
        try:
            header = read_header(frame.data)
        except (Undecodable, struct.error, IndexError):
            return
        kind = KINDS.get(header.kind, f"request {header.kind}")
        self._waiting[header.correlation] = kind, header.client, frame.first_ns

    def hear_response(self, frame: Frame) -> None:
        correlation = int.from_bytes(frame.data[:4], "big", signed=True)
        asked = self._waiting.pop(correlation, None)
        if asked is not None:
            self._found.append(RoundTrip(*asked, frame.last_ns + self._latency_ns))

    def hear_end(self, broken: str) -> None:
        """A round trip without an end is none."""


def read_round_trips(path: Path, latency_s: float, port: int = PORT) -> list[RoundTrip]:
    """The round trips in a capture of a client's link with this latency, in the order in which they began."""
    return find_round_trips(read_pcap(path), round(latency_s * 1e9), port)


def find_round_trips(segments: Iterable[Segment], latency_ns: int, port: int = PORT) -> list[RoundTrip]:
    found: list[RoundTrip] = []
    connections = Connections(port, lambda _end: _Listener(found, latency_ns))
    opening: dict[tuple[End, End], int] = {}
    for segment in segments:
        if segment.flags & SYN:
            if not segment.flags & ACK:
                opening.setdefault((segment.source, segment.target), segment.at_ns)
            else:
                began = opening.pop((segment.target, segment.source), None)
                if began is not None and segment.source[1] == port:
                    found.append(RoundTrip(KINDS[CONNECT], "", began, segment.at_ns + latency_ns))
        connections.add(segment)
    connections.end()
    return sorted(found, key=lambda trip: (trip.begin_ns, trip.end_ns))


def find_sequential(trips: Sequence[RoundTrip]) -> list[RoundTrip]:
    """The longest chain of round trips of which each begins when the one before it has ended."""
    chain: list[RoundTrip] = []
    for trip in sorted(trips, key=lambda one: one.end_ns):
        if not chain or trip.begin_ns >= chain[-1].end_ns:
            chain.append(trip)
    return chain
