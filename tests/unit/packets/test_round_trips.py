"""Round trips are found in captured packets, and only those that must follow each other are counted as a chain."""

from __future__ import annotations

import struct

from stream2gym.packets.round_trips import RoundTrip, find_round_trips, find_sequential
from stream2gym.packets.tcp import ACK, FIN, SYN, Segment

CLIENT, BROKER = (b"\x0a\x00\x00\x01", 40000), (b"\x0a\x00\x00\x02", 9092)
MS = 1_000_000
LATENCY_MS = 10


class Talk:
    """The packets of one connection at the client's end of a link; those of the broker enter it at the other end."""

    def __init__(self, port: int = 40000) -> None:
        self.client = (CLIENT[0], port)
        self.segments: list[Segment] = []
        self.sent, self.received = 1, 1

    def open(self, at_ms: float, answered_ms: float) -> None:
        self.segments.append(Segment(round(at_ms * MS), self.client, BROKER, 0, 0, SYN, b""))
        self.segments.append(Segment(round(answered_ms * MS), BROKER, self.client, 0, 1, SYN | ACK, b""))

    def ask(self, at_ms: float, kind: int, correlation: int, client: str = "me") -> None:
        body = struct.pack("!hhih", kind, 0, correlation, len(client)) + client.encode()
        data = struct.pack("!i", len(body)) + body
        self.segments.append(Segment(round(at_ms * MS), self.client, BROKER, self.sent, self.received, ACK, data))
        self.sent += len(data)

    def answer(self, at_ms: float, correlation: int) -> None:
        data = struct.pack("!ii", 8, correlation) + b"body"
        self.segments.append(Segment(round(at_ms * MS), BROKER, self.client, self.received, self.sent, ACK, data))
        self.received += len(data)

    def close(self, at_ms: float) -> None:
        self.segments.append(
            Segment(round(at_ms * MS), self.client, BROKER, self.sent, self.received, ACK | FIN, b"")
        )


def find(*talks: Talk) -> list[RoundTrip]:
    segments = sorted((segment for talk in talks for segment in talk.segments), key=lambda one: one.at_ns)
    return find_round_trips(segments, LATENCY_MS * MS)


def test_a_connection_that_opens_and_each_request_are_round_trips() -> None:
    talk = Talk()
    talk.open(0, 10)
    talk.ask(20, 18, 1)
    talk.answer(30, 1)
    talk.ask(40, 3, 2, "admin")
    talk.answer(50, 2)
    talk.close(60)
    assert find(talk) == [
        RoundTrip("connect", "", 0, 20 * MS),
        RoundTrip("api versions", "me", 20 * MS, 40 * MS),
        RoundTrip("metadata", "admin", 40 * MS, 60 * MS),
    ]


def test_a_request_without_an_answer_is_no_round_trip() -> None:
    talk = Talk()
    talk.open(0, 10)
    talk.ask(20, 1, 1)
    talk.close(60)
    assert [trip.kind for trip in find(talk)] == ["connect"]


def test_requests_that_overlap_cost_one_round_trip_and_those_that_wait_cost_each() -> None:
    pipelined, beside = Talk(), Talk(40001)
    pipelined.open(0, 10)
    beside.open(1, 11)
    pipelined.ask(30, 1, 1)
    pipelined.ask(31, 1, 2)
    beside.ask(32, 3, 1)
    pipelined.answer(40, 1)
    pipelined.answer(41, 2)
    beside.answer(42, 1)
    pipelined.ask(60, 0, 3)
    pipelined.answer(70, 3)
    pipelined.close(90)
    beside.close(90)
    trips = find(pipelined, beside)
    assert len(trips) == 6
    assert [trip.kind for trip in find_sequential(trips)] == ["connect", "fetch", "produce"]


def test_nothing_is_found_in_nothing() -> None:
    assert find() == []
    assert find_sequential([]) == []
