"""Messages without a header of ours are recognised by their places when the record is sealed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stream2gym.record.folder import RunFolder
from stream2gym.record.journal import ACKED, FAILED, UNCONFIRMED, Identity
from stream2gym.record.journal_writers import ReceivedLog, SentLog
from stream2gym.record.schemas import read_table
from stream2gym.record.seal import seal
from stream2gym.record.unmarked import FORWARDED_SUFFIX, HEADER_KEY, TIMES_SUFFIX

TIME_MS = 1_700_000_000_000
Row = dict[str, Any]


class Scene:
    """A producer without headers, and a consumer."""

    def __init__(self, base: Path, *, header: bool = False) -> None:
        self.folder = RunFolder.create("a", seed=1, base=base)
        self.folder.set_t0(0)
        identity = Identity("gen", 1, 1, {HEADER_KEY: header})
        self.sent = SentLog(self.folder.raw / identity.file_name("sent"), identity, paced=False)
        self.times: list[int] = []
        self.forwarded: list[int] = []
        identity = Identity("see", 1, 1, {"group": "g"})
        self.received = ReceivedLog(self.folder.raw / identity.file_name("received"), identity)

    def send(
        self,
        value: int,
        status: int,
        offset: int = -1,
        *,
        ms: int = TIME_MS,
        resent: bool = False,
        partition: int = 0,
        forwards: bool = False,
    ) -> None:
        row = self.sent.add(1, 1, None, value, 1, self.sent.number("t"))
        if forwards:
            self.forwarded.append(row)
        if status:
            self.sent.report(row, status, 2, partition, offset)
        self.times.append(~ms if resent else ms)

    def receive(
        self,
        value: int,
        offset: int,
        *,
        ms: int = TIME_MS,
        topic: str = "t",
        key: int | None = None,
        ours: int | None = None,
    ) -> None:
        journal = self.received
        producer, seq = (0, 0) if ours is None else (journal.number("other"), ours)
        journal.add(
            at_ns=3, topic=journal.number(topic), partition=0, offset=offset, producer=producer, seq=seq,
            key_hash=key, value_hash=value, size=1, broker_ms=ms,
        )  # fmt: skip

    def seal(self) -> list[tuple[str | None, int | None]]:
        """Producer and number of every receipt."""
        self.sent.path.with_suffix(TIMES_SUFFIX).write_bytes(
            b"".join(time.to_bytes(8, "little", signed=True) for time in self.times)
        )
        self.sent.path.with_suffix(FORWARDED_SUFFIX).write_bytes(
            b"".join(row.to_bytes(8, "little") for row in self.forwarded)
        )
        self.sent.close()
        self.received.close()
        seal(self.folder)
        return [(row["producer"], row["seq"]) for row in read_table(self.folder.data, "received").to_pylist()]


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def test_a_receipt_at_the_place_of_an_acknowledged_message_is_that_message(scene: Scene) -> None:
    scene.send(11, ACKED, 0)
    scene.send(12, ACKED, 1)
    scene.receive(12, 1)
    scene.receive(11, 0)
    assert scene.seal() == [("gen", 1), ("gen", 0)]


def test_messages_of_others_and_messages_with_a_header_stay_what_they_are(scene: Scene) -> None:
    scene.send(11, ACKED, 0)
    scene.receive(11, 5, ms=7)
    scene.receive(11, 0, topic="u")
    scene.receive(11, 0, ours=44)
    scene.receive(11, 0)
    assert scene.seal() == [(None, None), (None, None), ("other", 44), ("gen", 0)]


def test_a_message_that_forwards_a_header_is_the_one_that_its_own_sender_sent(scene: Scene) -> None:
    scene.send(11, ACKED, 0)
    scene.send(12, ACKED, 1, forwards=True)
    scene.receive(12, 1, ours=44)
    # The place of a message without header that was lost; somebody else's with the same content stands there.
    scene.receive(11, 0, ours=45)
    # Not the content that was sent.
    scene.receive(13, 1, ours=46)
    assert scene.seal() == [("gen", 1), ("other", 45), ("other", 46)]


def test_other_content_at_the_place_is_another_message_because_a_broker_may_lose_one_and_reuse_its_place(
    scene: Scene,
) -> None:
    scene.send(11, ACKED, 0)
    scene.send(12, ACKED, 0)
    scene.receive(12, 0)
    assert scene.seal() == [("gen", 1)]


def test_of_two_messages_with_the_same_content_at_one_place_the_last_one_took_it(scene: Scene) -> None:
    scene.send(11, ACKED, 0)
    scene.send(11, ACKED, 0)
    scene.receive(11, 0)
    assert scene.seal() == [("gen", 1)]


def test_a_message_with_a_key_is_not_one_without(scene: Scene) -> None:
    scene.send(11, ACKED, 0)
    scene.receive(11, 0, key=0)
    assert scene.seal() == [(None, None)]


@pytest.mark.parametrize("status", [0, FAILED, UNCONFIRMED])
def test_a_message_without_a_place_is_recognised_by_its_time_and_content(scene: Scene, status: int) -> None:
    scene.send(11, status)
    scene.send(12, status, ms=TIME_MS + 1)
    scene.receive(12, 8, ms=TIME_MS + 1)
    scene.receive(11, 9, ms=TIME_MS + 1)
    scene.receive(11, 7)
    assert scene.seal() == [("gen", 1), (None, None), ("gen", 0)]


def test_a_copy_of_a_message_that_was_sent_again_is_that_message_once_more(scene: Scene) -> None:
    scene.send(11, ACKED, 5, resent=True)
    scene.send(12, ACKED, 6)
    scene.receive(11, 4)
    scene.receive(11, 5)
    scene.receive(12, 6)
    scene.receive(12, 7)
    assert scene.seal() == [("gen", 0), ("gen", 0), ("gen", 1), (None, None)]


def test_messages_that_are_all_the_same_are_told_apart_by_their_order_in_the_log(scene: Scene) -> None:
    for _ in range(3):
        scene.send(11, UNCONFIRMED)
    for offset in (2, 0, 1, 2):
        scene.receive(11, offset)
    assert scene.seal() == [("gen", 2), ("gen", 0), ("gen", 1), ("gen", 2)]


def test_more_in_the_log_than_was_sent_are_copies_of_the_last(scene: Scene) -> None:
    scene.send(11, UNCONFIRMED)
    scene.send(11, UNCONFIRMED)
    for offset in range(4):
        scene.receive(11, offset)
    assert scene.seal() == [("gen", 0), ("gen", 1), ("gen", 1), ("gen", 1)]


def test_without_the_file_of_times_places_still_count(scene: Scene) -> None:
    scene.send(11, ACKED, 0)
    scene.send(12, UNCONFIRMED)
    scene.receive(11, 0)
    scene.receive(12, 1)
    scene.times = []
    assert scene.seal() == [("gen", 0), (None, None)]


def test_producers_that_put_a_header_into_their_messages_are_not_looked_for(tmp_path: Path) -> None:
    scene = Scene(tmp_path, header=True)
    scene.send(11, ACKED, 0)
    scene.receive(11, 0)
    assert scene.seal() == [(None, None)]
