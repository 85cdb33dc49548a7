"""A producer that starts again and again: its messages stay recognisable, from sending to the sealed tables."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from stream2gym.clients.config import ConsumerConfig, ProducerConfig
from stream2gym.clients.consumer import RecordingConsumer
from stream2gym.clients.load_schedule import Event
from stream2gym.clients.sender import Sender
from stream2gym.record.folder import RunFolder
from stream2gym.record.journal import Identity
from stream2gym.record.journal_writers import SentLog
from stream2gym.record.schemas import read_table
from stream2gym.record.seal import seal

STARTS = (1, 2, 128, 129, 130, 257, 1000)


class KafkaException(Exception):
    pass


class FakeMessage:
    def __init__(self, offset: int, headers: list[tuple[str, bytes | None]] | None) -> None:
        self._offset = offset
        self._headers = headers

    def headers(self) -> list[tuple[str, bytes | None]] | None:
        return self._headers

    def offset(self) -> int:
        return self._offset

    def error(self) -> None:
        return None

    def topic(self) -> str:
        return "in"

    def partition(self) -> int:
        return 0

    def key(self) -> None:
        return None

    def value(self) -> bytes:
        return b"payload"

    def timestamp(self) -> tuple[int, int]:
        return 1, 5


class FakeKafka:
    """Keeps what was produced and gives it to the consumer."""

    KafkaException = KafkaException

    def __init__(self) -> None:
        self.messages: list[FakeMessage] = []

    def produce(self, _topic: str, _value: bytes, _key: Any, *, on_delivery: Any, headers: Any) -> None:
        message = FakeMessage(len(self.messages), headers)
        self.messages.append(message)
        on_delivery(None, message)

    def Consumer(self, _properties: Any) -> Any:
        return SimpleNamespace(store_offsets=lambda offsets: None, close=lambda: None)

    def TopicPartition(self, *place: Any) -> Any:
        return place


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return RunFolder.create("a", seed=1, base=tmp_path)


def send_one(folder: RunFolder, kafka: FakeKafka, start: int) -> None:
    config = ProducerConfig("b:1", "gen", {"in": 1.0}, incarnation=start)
    identity = Identity("gen", 1, start)
    journal = SentLog(folder.raw / identity.file_name("sent"), identity)
    sender = Sender(config, kafka, kafka, journal, lambda: False)
    sender.send(Event(0, "in", None, b"payload", 0))
    journal.close()


def consume_all(folder: RunFolder, kafka: FakeKafka) -> RecordingConsumer:
    path, identity = folder.new_journal("received", "see")
    config = ConsumerConfig("b:1", "see", "g", topics=("in",), journal=str(path), instance=identity.instance)
    status: Any = SimpleNamespace(say=lambda *_, **__: True)
    consumer = RecordingConsumer(config, kafka, status, SimpleNamespace(asked=False))  # type: ignore[arg-type]
    consumer._handle(list(kafka.messages))
    consumer.close(leave_group=False)
    return consumer


def test_messages_of_the_1000th_start_are_found_in_both_tables(folder: RunFolder) -> None:
    kafka = FakeKafka()
    for start in STARTS:
        send_one(folder, kafka, start)
    consume_all(folder, kafka)
    seal(folder)
    sent = read_table(folder.data, "sent").to_pylist()
    received = read_table(folder.data, "received").to_pylist()
    assert {row["status"] for row in sent} == {"acked"}
    assert len({row["seq"] for row in received}) == len(STARTS)
    assert {(row["producer"], row["seq"]) for row in sent} == {(row["producer"], row["seq"]) for row in received}


def test_a_header_that_a_consumer_cannot_read_is_a_foreign_message(folder: RunFolder) -> None:
    kafka = FakeKafka()
    send_one(folder, kafka, 1)
    contents = (b"gen:%d" % (1 << 63), b"gen:" + b"7" * 5000, b"\xff\xfe:3", b"gen", b":3", None)
    kafka.messages += [FakeMessage(n, [("s2g", content)]) for n, content in enumerate(contents, 1)]
    assert consume_all(folder, kafka).received == 1 + len(contents)
    seal(folder)
    received = read_table(folder.data, "received").to_pylist()
    assert [row["producer"] for row in received] == ["gen"] + [None] * len(contents)
    assert [row["seq"] for row in received] == [0] + [None] * len(contents)
