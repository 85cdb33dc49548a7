"""Requests in Kafka's own protocol about what one broker holds: the ends of partitions, groups and their offsets.

    ListOffsets   where the partitions begin or end that the broker leads
    ListGroups    the groups that the broker coordinates, with their states
    OffsetFetch   what these groups have committed; one request for all of them

A broker knows only its own groups, so that nobody need be asked who coordinates a group.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence

from stream2gym.clients.kafka_protocol import NO_TAGS, Connection, Reader, array, compact, refuse
from stream2gym.clients.partition_view import Place

# Key and version of each request.
LIST_OFFSETS = (2, 7)
OFFSET_FETCH = (9, 8)
LIST_GROUPS = (16, 4)
_NO_REPLICA = -1
_ANY_EPOCH = -1
LATEST, EARLIEST = -1, -2
_READ_UNCOMMITTED = 0
_ALL_TOPICS = b"\x00"


def ask_offsets(broker: Connection, places: Iterable[Place], which: int = LATEST) -> dict[Place, int]:
    """Where each of these partitions ends, which is the offset of its next message, or begins. Those that the broker
    does not lead are left out."""
    topics: dict[str, list[bytes]] = {}
    for topic, number in places:
        partition = struct.pack("!iiq", number, _ANY_EPOCH, which) + NO_TAGS
        topics.setdefault(topic, []).append(partition)
    if not topics:
        return {}
    wanted = array([compact(topic) + array(partitions) + NO_TAGS for topic, partitions in topics.items()])
    return _read_offsets(
        broker.ask(LIST_OFFSETS, struct.pack("!ib", _NO_REPLICA, _READ_UNCOMMITTED) + wanted + NO_TAGS)
    )


def _read_offsets(answer: Reader) -> dict[Place, int]:
    answer.int32()
    found = {}
    for _topic in range(answer.length()):
        topic = answer.text()
        for _partition in range(answer.length()):
            number, code, _time, offset = answer.int32(), answer.int16(), answer.int64(), answer.int64()
            answer.int32()
            answer.tags()
            if not code:
                found[topic, number] = offset
        answer.tags()
    return found


def ask_groups(broker: Connection) -> dict[str, str]:
    """The state of every group that the broker coordinates, in Kafka's words."""
    return _read_groups(broker.ask(LIST_GROUPS, array([]) + NO_TAGS))


def _read_groups(answer: Reader) -> dict[str, str]:
    answer.int32()
    refuse(answer.int16())
    found = {}
    for _group in range(answer.length()):
        name, _kind, state = answer.text(), answer.text(), answer.text()
        answer.tags()
        found[name] = state
    return found


def ask_committed(broker: Connection, groups: Sequence[str]) -> dict[str, dict[Place, int]]:
    """What each of these groups has committed. A group that the broker refuses to tell about is left out."""
    if not groups:
        return {}
    wanted = array([compact(group) + _ALL_TOPICS + NO_TAGS for group in groups])
    return _read_committed(broker.ask(OFFSET_FETCH, wanted + struct.pack("!?", False) + NO_TAGS))


def _read_committed(answer: Reader) -> dict[str, dict[Place, int]]:
    answer.int32()
    found = {}
    for _group in range(answer.length()):
        group = answer.text()
        committed: dict[Place, int] = {}
        for _topic in range(answer.length()):
            topic = answer.text()
            for _partition in range(answer.length()):
                number, offset = answer.int32(), answer.int64()
                answer.int32()
                answer.text()
                code = answer.int16()
                answer.tags()
                if not code and offset >= 0:
                    committed[topic, number] = offset
            answer.tags()
        if not answer.int16():
            found[group] = committed
        answer.tags()
    return found
