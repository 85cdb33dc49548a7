"""What one broker holds: requests as Kafka reads them, and answers as Kafka writes them."""

from __future__ import annotations

import struct

import pytest

from stream2gym.clients.kafka_protocol import Connection, Refused, array, compact
from stream2gym.clients.kafka_state import ask_committed, ask_groups, ask_offsets
from tests.unit.clients.test_kafka_protocol import NO_TAGS, Broker, numbers

NOT_LEADER = 6


def end(number: int, offset: int, code: int = 0) -> bytes:
    return struct.pack("!ihqqi", number, code, -1, offset, 4) + NO_TAGS


def committed(number: int, offset: int, code: int = 0) -> bytes:
    return struct.pack("!iqi", number, offset, 2) + compact("") + struct.pack("!h", code) + NO_TAGS


def group(name: str, *partitions: bytes, code: int = 0) -> bytes:
    topics = array([compact("t") + array(list(partitions)) + NO_TAGS])
    return compact(name) + topics + struct.pack("!h", code) + NO_TAGS


def connect(answer: bytes) -> tuple[Connection, Broker]:
    broker = Broker(answer)
    return Connection(broker.address, 5.0), broker


def test_the_ends_of_many_partitions_take_one_request_and_those_led_elsewhere_are_left_out() -> None:
    topics = [compact("t") + array([end(0, 42), end(1, -1, NOT_LEADER)]) + NO_TAGS, compact("u") + array([end(0, 7)])]
    connection, broker = connect(numbers(0) + array([topics[0], topics[1] + NO_TAGS]) + NO_TAGS)
    assert ask_offsets(connection, [("t", 0), ("t", 1), ("u", 0)]) == {("t", 0): 42, ("u", 0): 7}
    [request] = broker.requests
    assert struct.unpack("!hh", request[:4]) == (2, 7)
    assert request.count(struct.pack("!iq", -1, -1)) == 3, "any epoch, and the latest offset"


def test_a_broker_that_leads_nothing_is_not_asked() -> None:
    connection, broker = connect(b"")
    assert ask_offsets(connection, []) == {}
    assert ask_committed(connection, []) == {}
    assert broker.connections == 0


def test_groups_have_their_states() -> None:
    told = [compact("g") + compact("consumer") + compact("Stable") + NO_TAGS]
    connection, broker = connect(numbers(0) + struct.pack("!h", 0) + array(told) + NO_TAGS)
    assert ask_groups(connection) == {"g": "Stable"}
    assert struct.unpack("!hh", broker.requests[0][:4]) == (16, 4)


def test_a_coordinator_that_is_loading_is_a_refusal() -> None:
    connection, _ = connect(numbers(0) + struct.pack("!h", 14) + array([]) + NO_TAGS)
    with pytest.raises(Refused, match="loading"):
        ask_groups(connection)


def test_what_groups_have_committed_takes_one_request_and_leaves_out_what_they_have_not() -> None:
    told = [group("g", committed(0, 5), committed(1, -1)), group("new", code=15)]
    connection, broker = connect(numbers(0) + array(told) + NO_TAGS)
    assert ask_committed(connection, ["g", "new"]) == {"g": {("t", 0): 5}}
    assert len(broker.requests) == 1
