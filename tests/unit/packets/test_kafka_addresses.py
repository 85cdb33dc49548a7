"""Addresses of brokers in what Kafka answers are replaced, and nothing else is."""

from __future__ import annotations

import struct

import pytest

from stream2gym.packets.fields import Fields, Undecodable
from stream2gym.packets.kafka_addresses import (
    API_VERSIONS,
    FIND_COORDINATOR,
    METADATA,
    NEWEST,
    WITHHELD,
    AddressChange,
    Frames,
    change_versions,
    replace_from,
)  # fmt: skip

TABLE = {("10.0.0.2", 9092): ("127.0.0.1", 19092), ("10.0.0.3", 9092): ("127.0.0.1", 19093)}


def text(value: str | None) -> bytes:
    return b"\xff\xff" if value is None else struct.pack("!h", len(value)) + value.encode()


def frame(body: bytes) -> bytes:
    return struct.pack("!i", len(body)) + body


def request(kind: int, version: int, correlation: int) -> bytes:
    return frame(struct.pack("!hhi", kind, version, correlation) + text("client") + b"whatever")


def answered(kind: int, version: int, body: bytes) -> bytes:
    """What the client gets for this answer of the broker."""
    change = AddressChange(replace_from(TABLE))
    asked = request(kind, version, 7)
    assert change.requests(asked) == asked
    found = change.answers(frame(struct.pack("!i", 7) + body))
    assert struct.unpack_from("!ii", found) == (len(found) - 4, 7)
    return found[8:]


@pytest.mark.parametrize("version", range(NEWEST[METADATA] + 1))
def test_metadata_tells_the_new_addresses(version: int) -> None:
    begin = struct.pack("!i", 5) if version >= 3 else b""
    rest = b"cluster, controller and topics"

    def brokers(*places: tuple[str, int]) -> bytes:
        rows = [
            struct.pack("!i", node) + text(host) + struct.pack("!i", port) + (text(None) if version >= 1 else b"")
            for node, (host, port) in enumerate(places, 2)
        ]
        return struct.pack("!i", len(rows)) + b"".join(rows)

    body = begin + brokers(("10.0.0.2", 9092), ("10.0.0.3", 9092), ("10.0.0.9", 1)) + rest
    expected = begin + brokers(("127.0.0.1", 19092), ("127.0.0.1", 19093), ("10.0.0.9", 1)) + rest
    assert answered(METADATA, version, body) == expected


@pytest.mark.parametrize("version", range(NEWEST[FIND_COORDINATOR] + 1))
@pytest.mark.parametrize("place", [("10.0.0.3", 9092), ("", -1)])
def test_the_coordinator_has_its_new_address(version: int, place: tuple[str, int]) -> None:
    begin = struct.pack("!i", 0) if version >= 1 else b""
    begin += struct.pack("!h", 0) + (text("words") if version >= 1 else b"") + struct.pack("!i", 3)
    host, port = TABLE.get(place, place)
    expected = begin + text(host) + struct.pack("!i", port)
    assert answered(FIND_COORDINATOR, version, begin + text(place[0]) + struct.pack("!i", place[1])) == expected


@pytest.mark.parametrize("version", [0, 2, 3, 4])
def test_only_versions_that_can_be_changed_are_offered(version: int) -> None:
    is_flexible = version >= 3
    ranges = [
        (0, 3, 13),
        (METADATA, 0, 13),
        (API_VERSIONS, 0, 4),
        (60, 0, 2),
        (36, 0, 2),
        *((n, 0, 1) for n in range(100, 250)),
    ]
    rows = b"".join(struct.pack("!3h", *one) + (b"\0" if is_flexible else b"") for one in ranges)
    length = (
        bytes((len(ranges) + 1 & 0x7F | 0x80, len(ranges) + 1 >> 7))
        if is_flexible
        else struct.pack("!i", len(ranges))
    )
    rest = struct.pack("!i", 0) * (version >= 1) + b"\0" * is_flexible
    found = answered(API_VERSIONS, version, b"\0\0" + length + rows + rest)
    fields = Fields(found, at=2, is_flexible=is_flexible)
    offered = {}
    for _ in range(fields.length()):
        kind, _oldest, newest = fields.int16(), fields.int16(), fields.int16()
        fields.tags()
        offered[kind] = newest
    assert found[fields.at :] == rest
    assert offered[0] == NEWEST[0]
    assert offered[METADATA] == NEWEST[METADATA]
    assert offered[36] == 2
    assert not WITHHELD & set(offered)
    assert len(offered) == len(ranges) - 1


def test_an_answer_that_refuses_the_version_is_of_the_first_version() -> None:
    body = struct.pack("!hi3h", 35, 1, API_VERSIONS, 0, 4)
    assert change_versions(body, 4) == body


def test_other_answers_pass_as_they_are_however_they_are_cut() -> None:
    change = AddressChange(replace_from(TABLE))
    change.requests(request(1, 12, 1))
    answer = frame(struct.pack("!i", 1) + b"10.0.0.2 is data here" * 1000)
    pieces = [change.answers(answer[at : at + 777]) for at in range(0, len(answer), 777)]
    assert b"".join(pieces) == answer


def test_requests_that_were_not_offered_and_other_protocols_are_refused() -> None:
    with pytest.raises(Undecodable, match="not offered"):
        AddressChange(replace_from(TABLE)).requests(request(METADATA, 13, 1))
    with pytest.raises(Undecodable, match="bytes"):
        Frames().take(b"GET / HTTP/1.1\r\n")
