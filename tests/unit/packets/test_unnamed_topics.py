"""Produce requests that name topics by ids which are told over another connection, possibly a little later."""

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
