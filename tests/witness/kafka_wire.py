"""Kafka's produce and fetch traffic of one host, decoded from its captured packets with kafka-python's classes.

Of ours only the TCP streams are used: neither the record, nor our decoder of Kafka, nor librdkafka. A message counts
as acknowledged when the broker's answer without an error has reached the producer, and as fetched when the answer
that carries it has reached the consumer.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from kafka.protocol.consumer.fetch import FetchRequest, FetchResponse
from kafka.protocol.metadata import MetadataRequest, MetadataResponse
from kafka.protocol.producer.produce import ProduceRequest, ProduceResponse
from kafka.record.memory_records import MemoryRecords

from stream2gym.packets.tcp import Connections, End, Frame, read_pcap

_HEADER = "s2g"
_DECODED = {
    0: (ProduceRequest, ProduceResponse),
    1: (FetchRequest, FetchResponse),
    3: (MetadataRequest, MetadataResponse),
}


class Message(NamedTuple):
    """A message at its place in the log; the name and number are those of its header."""

    name: str  # "PRODUCER:NUMBER"
    topic: str
    partition: int
    offset: int


@dataclass
class Wire:
    """What one host's packets say."""

    produced: set[str] = field(default_factory=set)  # names of messages that a broker was sent and has received
    acknowledged: set[Message] = field(default_factory=set)
    fetched: set[Message] = field(default_factory=set)
    topics: dict[Any, str] = field(default_factory=dict)  # names by id, as metadata tells them


class Exchanges:
    """The requests of one connection of the kinds that matter, each with its answer or None."""

    def __init__(self) -> None:
        self._asked: list[tuple[Any, int, int]] = []
        self._answers: dict[int, bytes] = {}

    def hear_request(self, frame: Frame) -> None:
        key, version, correlation = struct.unpack_from("!hhi", frame.data)
        if key in _DECODED:
            request = _DECODED[key][0].decode(frame.data, version=version, header=True)
            self._asked.append((request, version, correlation))

    def hear_response(self, frame: Frame) -> None:
        self._answers[struct.unpack_from("!i", frame.data)[0]] = frame.data

    def hear_end(self, broken: str) -> None:
        assert not broken, broken

    def pairs(self) -> Iterator[tuple[Any, Any]]:
        for request, version, correlation in self._asked:
            answer = self._answers.get(correlation)
            decoder = _DECODED[request.API_KEY][1]
            yield request, None if answer is None else decoder.decode(answer, version=version, header=True)


def read_wire(capture: Path, port: int) -> Wire:
    """Decode every connection to a broker's port in a capture file."""
    wire = Wire()
    heard: list[Exchanges] = []

    def accept(_client: End) -> Exchanges:
        heard.append(Exchanges())
        return heard[-1]

    connections = Connections(port, accept)
    for segment in read_pcap(capture):
        connections.add(segment)
    connections.end()
    assert connections.headless == 0
    exchanges = [pair for connection in heard for pair in connection.pairs()]
    for _, response in exchanges:
        if isinstance(response, MetadataResponse):
            wire.topics |= {topic.topic_id: topic.name for topic in response.topics}
    for request, response in exchanges:
        if isinstance(request, ProduceRequest):
            _hear_produce(wire, request, response)
        elif isinstance(request, FetchRequest) and response is not None:
            _hear_fetch(wire, request, response)
    return wire


def _records(data: Any) -> Iterator[Any]:
    for batch in MemoryRecords(bytes(data or b"")):
        if not batch.is_control_batch:
            yield from batch


def _name(record: Any) -> str:
    return next((bytes(value).decode() for key, value in record.headers if key == _HEADER), "")


def _topic(wire: Wire, part: Any) -> str:
    name = getattr(part, "name", None) or getattr(part, "topic", None)
    return name or wire.topics[part.topic_id]


def _hear_produce(wire: Wire, request: Any, response: Any) -> None:
    answers = {}
    for topic in response.responses if response is not None else ():
        for part in topic.partition_responses:
            answers[_topic(wire, topic), part.index] = part
    for topic in request.topic_data:
        name = _topic(wire, topic)
        for part in topic.partition_data:
            answer = answers.get((name, part.index))
            for number, record in enumerate(_records(part.records)):
                wire.produced.add(_name(record))
                if answer is not None and answer.error_code == 0:
                    offset = answer.base_offset + number
                    wire.acknowledged.add(Message(_name(record), name, part.index, offset))


def _hear_fetch(wire: Wire, request: Any, response: Any) -> None:
    wanted = {
        (_topic(wire, topic), part.partition): part.fetch_offset
        for topic in request.topics
        for part in topic.partitions
    }
    for topic in response.responses:
        name = _topic(wire, topic)
        for part in topic.partitions:
            # A batch may begin before the offset that was asked for; a client drops those records.
            first = wanted.get((name, part.partition_index), 0)
            for record in _records(part.records):
                if record.offset >= first:
                    message = Message(_name(record), name, part.partition_index, record.offset)
                    wire.fetched.add(message)
