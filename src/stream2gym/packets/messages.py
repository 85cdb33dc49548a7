"""The requests and responses that tell what a client produced and fetched, and in which group it is.

Only the fields that matter here are kept. Versions are those that brokers of Kafka 4 speak: Produce 3 to 13, Fetch 4
to 18. Everything else on a connection is passed over.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from stream2gym.packets.fields import Fields, Undecodable

PRODUCE, FETCH, METADATA, OFFSET_COMMIT, FIND_COORDINATOR, JOIN_GROUP, SYNC_GROUP, END_TRANSACTION = (
    0, 1, 3, 8, 10, 11, 14, 26,
)  # fmt: skip
CONSUMER_GROUP_HEARTBEAT, SHARE_FETCH, STREAMS_GROUP_HEARTBEAT = 68, 78, 88
# From which version on a request is flexible, and the newest version that is known here.
_VERSIONS = {
    PRODUCE: (9, 13), FETCH: (12, 18), METADATA: (9, 13), OFFSET_COMMIT: (8, 10), FIND_COORDINATOR: (3, 6),
    JOIN_GROUP: (6, 9), SYNC_GROUP: (4, 5), END_TRANSACTION: (3, 5), CONSUMER_GROUP_HEARTBEAT: (0, 1),
    STREAMS_GROUP_HEARTBEAT: (0, 0),
}  # fmt: skip
_OLDEST = {PRODUCE: 3, FETCH: 4}
# Requests whose first field is the group.
_GROUP_FIRST = (OFFSET_COMMIT, JOIN_GROUP, SYNC_GROUP, CONSUMER_GROUP_HEARTBEAT, STREAMS_GROUP_HEARTBEAT)
_TOPIC_IDS = {PRODUCE: 13, FETCH: 13}
_REQUEST_HEADER = struct.Struct("!hhih")

Topic = str | bytes  # a name, or the id that stands for it
Place = tuple[Topic, int]


@dataclass(frozen=True)
class RequestHeader:
    """What every request says: its kind and version, its number on the connection, and the client's own id."""

    kind: int
    version: int
    correlation: int
    client: str
    body_at: int

    @property
    def is_flexible(self) -> bool:
        known = _VERSIONS.get(self.kind)
        return known is not None and self.version >= known[0]


@dataclass(frozen=True)
class ProduceRequest:
    acks: int
    records: dict[Place, memoryview]


@dataclass(frozen=True)
class PartitionResult:
    """What a broker says about one partition of a produce request."""

    error: int
    base_offset: int
    message: str = ""


@dataclass(frozen=True)
class FetchRequest:
    """``is_full`` lists all partitions; otherwise those not listed are fetched from where they were before."""

    is_full: bool
    reads_committed: bool
    offsets: dict[Place, int]
    forgotten: tuple[Place, ...] = ()


@dataclass(frozen=True)
class FetchedPartition:
    """``aborted`` are transactions as (producer id, first offset)."""

    error: int
    records: memoryview
    aborted: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class EndTransaction:
    producer_id: int
    is_committed: bool


def read_header(data: bytes) -> RequestHeader:
    """The header of a request; the client's id is never of the flexible form."""
    try:
        kind, version, correlation, length = _REQUEST_HEADER.unpack_from(data)
    except struct.error as error:
        raise Undecodable("a request is shorter than its header") from error
    at = _REQUEST_HEADER.size + max(0, length)
    client = data[_REQUEST_HEADER.size : at].decode("utf-8", "replace")
    return RequestHeader(kind, version, correlation, client, at)


def is_known(header: RequestHeader) -> bool:
    """Whether messages of this kind and version can be read here."""
    known = _VERSIONS.get(header.kind)
    return known is not None and _OLDEST.get(header.kind, 0) <= header.version <= known[1]


def _request(data: bytes, header: RequestHeader) -> Fields:
    fields = Fields(data, at=header.body_at, is_flexible=header.is_flexible)
    fields.tags()
    return fields


def _response(data: bytes, header: RequestHeader) -> Fields:
    fields = Fields(data, at=4, is_flexible=header.is_flexible)
    fields.tags()
    return fields


def _topic(fields: Fields, header: RequestHeader) -> Topic:
    return fields.uuid() if header.version >= _TOPIC_IDS[header.kind] else fields.text() or ""


def read_produce_request(data: bytes, header: RequestHeader) -> ProduceRequest:
    fields = _request(data, header)
    fields.text()
    acks = fields.int16()
    fields.int32()
    records: dict[Place, memoryview] = {}

    def read_topic() -> None:
        topic = _topic(fields, header)
        for number, batch in fields.items(lambda: (fields.int32(), fields.data())):
            records[topic, number] = batch

    for _ in fields.items(read_topic):
        pass
    return ProduceRequest(acks, records)


def read_produce_response(data: bytes, header: RequestHeader) -> dict[Place, PartitionResult]:
    fields = _response(data, header)
    results: dict[Place, PartitionResult] = {}

    def read_partition() -> tuple[int, PartitionResult]:
        number, error, offset = fields.int32(), fields.int16(), fields.int64()
        fields.int64()
        if header.version >= 5:
            fields.int64()
        message = ""
        if header.version >= 8:
            for _ in fields.items(lambda: (fields.int32(), fields.text())):
                pass
            message = fields.text() or ""
        return number, PartitionResult(error, offset, message)

    def read_topic() -> None:
        topic = _topic(fields, header)
        for number, result in fields.items(read_partition):
            results[topic, number] = result

    for _ in fields.items(read_topic):
        pass
    return results


def read_fetch_request(data: bytes, header: RequestHeader) -> FetchRequest:
    fields = _request(data, header)
    version = header.version
    if version < 15:
        fields.int32()
    for _ in range(3):
        fields.int32()
    reads_committed = fields.int8() == 1
    epoch = 0
    if version >= 7:
        fields.int32()
        epoch = fields.int32()
    offsets: dict[Place, int] = {}
    forgotten: list[Place] = []

    def read_partition() -> tuple[int, int]:
        number = fields.int32()
        if version >= 9:
            fields.int32()
        offset = fields.int64()
        if version >= 12:
            fields.int32()
        if version >= 5:
            fields.int64()
        fields.int32()
        return number, offset

    def read_topic() -> None:
        topic = _topic(fields, header)
        for number, offset in fields.items(read_partition):
            offsets[topic, number] = offset

    def read_forgotten() -> None:
        topic = _topic(fields, header)
        forgotten.extend((topic, number) for number in fields.numbers())

    for _ in fields.items(read_topic):
        pass
    if version >= 7:
        for _ in fields.items(read_forgotten):
            pass
    return FetchRequest(epoch <= 0, reads_committed, offsets, tuple(forgotten))


def read_fetch_response(data: bytes, header: RequestHeader) -> dict[Place, FetchedPartition]:
    fields = _response(data, header)
    version = header.version
    fields.int32()
    if version >= 7:
        fields.int16()
        fields.int32()
    found: dict[Place, FetchedPartition] = {}

    def read_partition() -> tuple[int, FetchedPartition]:
        number, error = fields.int32(), fields.int16()
        fields.int64()
        fields.int64()
        if version >= 5:
            fields.int64()
        aborted = tuple(fields.items(lambda: (fields.int64(), fields.int64())))
        if version >= 11:
            fields.int32()
        return number, FetchedPartition(error, fields.data(), aborted)

    def read_topic() -> None:
        topic = _topic(fields, header)
        for number, partition in fields.items(read_partition):
            found[topic, number] = partition

    for _ in fields.items(read_topic):
        pass
    return found


def read_topic_ids(data: bytes, header: RequestHeader) -> dict[bytes, str]:
    """The names of topics by their ids, as a metadata response of version 10 or later tells them."""
    if header.version < 10:
        return {}
    fields = _response(data, header)
    fields.int32()
    for _ in fields.items(lambda: (fields.int32(), fields.text(), fields.int32(), fields.text())):
        pass
    fields.text()
    fields.int32()
    found: dict[bytes, str] = {}

    def read_partition() -> None:
        fields.int16()
        for _ in range(3):
            fields.int32()
        for _ in range(3):
            fields.numbers()

    def read_topic() -> None:
        fields.int16()
        name, number = fields.text(), fields.uuid()
        fields.int8()
        for _ in fields.items(read_partition):
            pass
        fields.int32()
        if name:
            found[number] = name

    for _ in fields.items(read_topic):
        pass
    return found


def read_group(data: bytes, header: RequestHeader) -> str | None:
    """The consumer group that a request names; None where it names none."""
    if header.kind in _GROUP_FIRST:
        return _request(data, header).text()
    if header.kind != FIND_COORDINATOR:
        return None
    fields = _request(data, header)
    if header.version >= 4:
        kind = fields.int8()
        keys = [fields.text() for _ in range(fields.length())]
        return keys[0] if kind == 0 and keys else None
    key = fields.text()
    return key if header.version == 0 or fields.int8() == 0 else None


def read_end_transaction(data: bytes, header: RequestHeader) -> EndTransaction:
    fields = _request(data, header)
    fields.text()
    producer = fields.int64()
    fields.int16()
    return EndTransaction(producer, fields.int8() == 1)


def read_end_error(data: bytes, header: RequestHeader) -> int:
    """The error of the response to the end of a transaction; 0 is none."""
    fields = _response(data, header)
    fields.int32()
    return fields.int16()
