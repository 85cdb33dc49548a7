"""Requests on a plain socket: what is sent, and what is read from an answer."""

from __future__ import annotations

import socket
import struct
import threading

import pytest

from stream2gym.clients.kafka_protocol import (
    Connection,
    Partition,
    Refused,
    Topic,
    array,
    ask_controller,
    ask_topics,
    compact,
)

NO_TAGS = b"\x00"


def numbers(*values: int) -> bytes:
    return struct.pack(f"!{len(values)}i", *values)


def partition(number: int, leader: int, epoch: int, replicas: list[int], in_sync: list[int]) -> bytes:
    lists = b"".join(array([numbers(node) for node in nodes]) for nodes in (replicas, in_sync, []))
    return struct.pack("!h", 0) + numbers(number, leader, epoch) + lists + NO_TAGS


def topic(name: str, code: int, *partitions: bytes) -> bytes:
    head = struct.pack("!h", code) + compact(name) + bytes(range(16)) + b"\x00"
    return head + array(list(partitions)) + numbers(0) + NO_TAGS


def metadata(*known: bytes) -> bytes:
    broker = numbers(1) + compact("h1") + numbers(9092) + b"\x00" + NO_TAGS
    return numbers(0) + array([broker]) + compact("cluster") + numbers(1) + array(list(known)) + NO_TAGS


class Broker:
    """Gives one answer to every request, over as many connections as come."""

    def __init__(self, answer: bytes, closes_after: int = 1000) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self.connections = 0
        self.requests: list[bytes] = []
        self._answer, self._closes_after = answer, closes_after
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            sock, _ = self._listener.accept()
            self.connections += 1
            for _ in range(self._closes_after):
                head = sock.recv(4, socket.MSG_WAITALL)
                if not head:
                    break
                self.requests.append(sock.recv(struct.unpack("!i", head)[0], socket.MSG_WAITALL))
                body = numbers(1) + NO_TAGS + self._answer
                sock.sendall(struct.pack("!i", len(body)) + body)
            sock.close()


def test_what_a_broker_knows_about_topics_is_read_with_the_epochs() -> None:
    broker = Broker(
        metadata(
            topic("in", 0, partition(0, 2, 7, [2, 1], [2, 1]), partition(1, -1, 9, [1], [])),
            topic("gone", 3),
        )
    )
    asked = Connection(broker.address, 5.0)
    try:
        found = ask_topics(asked, ["in", "gone"])
        assert ask_topics(asked, ["in", "gone"]) == found
    finally:
        asked.close()
    partitions = {0: Partition(7, 2, (2, 1), (1, 2)), 1: Partition(9, -1, (1,), ())}
    assert found == {"in": Topic(bytes(range(16)).hex(), partitions)}
    assert b"in" in broker.requests[0]
    assert broker.connections == 1


def test_a_connection_that_broke_is_opened_anew_for_the_next_question() -> None:
    broker = Broker(metadata(), closes_after=1)
    asked = Connection(broker.address, 5.0)
    try:
        assert ask_topics(asked, []) == {}
        with pytest.raises(ConnectionError):
            ask_topics(asked, [])
        assert ask_topics(asked, []) == {}
    finally:
        asked.close()
    assert broker.connections == 2


def quorum(leader: int, epoch: int) -> bytes:
    partition = numbers(0) + struct.pack("!h", 0) + numbers(leader, epoch)
    return struct.pack("!h", 0) + array([compact("__cluster_metadata") + array([partition])])


def ask_for_controller(answer: bytes) -> tuple[int, int]:
    asked = Connection(Broker(answer).address, 5.0)
    try:
        return ask_controller(asked)
    finally:
        asked.close()


def test_the_controller_is_read_with_its_epoch() -> None:
    assert ask_for_controller(quorum(leader=3, epoch=12)) == (12, 3)


def test_that_no_controller_leads_is_told() -> None:
    with pytest.raises(Refused, match="no controller"):
        ask_for_controller(quorum(leader=-1, epoch=13))
