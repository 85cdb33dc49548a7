"""Requests that name topics by ids which are told over another connection, possibly a little later."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from stream2gym.packets.conversation import ClientConversation, Produced
from stream2gym.packets.tcp import Frame
from tests.support.kafka_bytes import batch, text

TOPIC = bytes(range(16))
NONE = b"\x00"


class Client:
    """Notes what it hears."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, int, int]] = []
        self.answers: list[tuple[Any, ...]] = []
        self.problems: list[str] = []
        self.fetched: list[tuple[Any, ...]] = []

    def begin_partition(self, client: str, topic: str, partition: int, offset: int) -> None:
        self.fetched.append(("begun", topic, partition, offset))

    def fetch(self, client: str, topic: str, partition: int, records: Sequence[object], at_ns: int) -> None:
        self.fetched.append((topic, partition, len(records), at_ns))

    def produce(self, parts: Sequence[Produced], acks: int, at_ns: int, connection: object) -> Client:
        self.sent += [(part.topic, len(part.records), at_ns) for part in parts]
        return self

    def answer(self, *told: Any) -> None:
        self.answers.append(told)

    def tell_problem(self, what: str) -> None:
        self.problems.append(what)

    def __getattr__(self, _name: str) -> Any:
        return lambda *_: None


def compact(data: bytes) -> bytes:
    return bytes([len(data) + 1]) + data


def produce(correlation: int, acks: int = 1) -> bytes:
    """Version 13: one message for partition 0 of a topic that is named by its id."""
    records = batch([(b"k", b"v")])
    assert len(records) < 120
    part = struct.pack("!i", 0) + compact(records) + NONE
    topics = b"\x02" + TOPIC + b"\x02" + part + NONE
    head = struct.pack("!hhi", 0, 13, correlation) + text("me") + NONE
    return head + NONE + struct.pack("!hi", acks, 1000) + topics + NONE


def acknowledged(correlation: int, offset: int) -> bytes:
    part = struct.pack("!ihqqq", 0, 0, offset, -1, 0) + b"\x01" + NONE + NONE
    body = b"\x02" + TOPIC + b"\x02" + part + NONE + struct.pack("!i", 0) + NONE
    return struct.pack("!i", correlation) + NONE + body


def frame(data: bytes, at_ns: int) -> Frame:
    return Frame(data, at_ns, at_ns)


def test_a_topic_that_is_named_before_the_answer_comes_is_known() -> None:
    client, topics = Client(), dict[bytes, str]()
    talk = ClientConversation(client, topics)
    talk.hear_request(frame(produce(1), 10))
    assert (client.sent, client.problems) == ([], [])
    topics[TOPIC] = "out"
    talk.hear_response(frame(acknowledged(1, 7), 20))
    assert client.sent == [("out", 1, 10)]
    assert client.answers == [("out", 0, 0, 7, 20)]
    assert client.problems == []


def test_a_topic_that_nobody_names_is_told_once() -> None:
    client = Client()
    talk = ClientConversation(client, {})
    talk.hear_request(frame(produce(1), 10))
    talk.hear_response(frame(acknowledged(1, 7), 20))
    assert client.sent == []
    assert client.problems == ["messages of a topic whose id no metadata named"]


def test_without_an_answer_to_wait_for_it_is_told_at_once() -> None:
    client = Client()
    ClientConversation(client, {}).hear_request(frame(produce(1, acks=0), 10))
    assert client.problems == ["messages of a topic whose id no metadata named"]


def fetch(correlation: int, offset: int) -> bytes:
    """Version 13: partition 0 of a topic that is named by its id."""
    part = struct.pack("!iiqiqi", 0, 0, offset, -1, -1, 1000) + NONE
    topics = b"\x02" + TOPIC + b"\x02" + part + NONE
    head = struct.pack("!hhi", 1, 13, correlation) + text("me") + NONE
    return head + struct.pack("!iiiibii", -1, 500, 1, 1000, 0, 0, 0) + topics + b"\x01" + b"\x01" + NONE


def fetched(correlation: int, records: bytes) -> bytes:
    part = struct.pack("!ihqqq", 0, 0, 9, 9, 0) + b"\x01" + struct.pack("!i", -1) + compact(records) + NONE
    body = struct.pack("!ihi", 0, 0, 0) + b"\x02" + TOPIC + b"\x02" + part + NONE + NONE
    return struct.pack("!i", correlation) + NONE + body


def test_what_is_fetched_of_a_topic_that_is_named_before_the_answer_comes_is_known() -> None:
    client, topics = Client(), dict[bytes, str]()
    talk = ClientConversation(client, topics)
    talk.hear_request(frame(fetch(1, 0), 10))
    assert (client.fetched, client.problems) == ([], [])
    topics[TOPIC] = "in"
    talk.hear_response(frame(fetched(1, batch([(b"k", b"v")])), 20))
    assert client.fetched == [("begun", "in", 0, 0), ("in", 0, 1, 20)]
    talk.hear_request(frame(fetch(2, 1), 30))
    assert client.fetched[2:] == []
    assert client.problems == []


def test_what_is_fetched_of_a_topic_that_nobody_names_is_told() -> None:
    client = Client()
    talk = ClientConversation(client, {})
    talk.hear_request(frame(fetch(1, 0), 10))
    talk.hear_response(frame(fetched(1, batch([(b"k", b"v")])), 20))
    assert client.fetched == []
    assert client.problems == ["messages of a topic whose id no metadata named"]


def test_a_fetch_that_found_nothing_leaves_nothing_unobserved() -> None:
    client = Client()
    talk = ClientConversation(client, {})
    talk.hear_request(frame(fetch(1, 0), 10))
    talk.hear_response(frame(fetched(1, b""), 20))
    assert (client.fetched, client.problems) == ([], [])
