"""The lag of a group: how many messages its positions are behind the ends of its partitions. Pure.

Ends and positions are never known for the same moment, and at a high rate the half second between two snapshots of
the ends would be most of the lag. Therefore a position is compared with the end at the moment of the position, which
is interpolated between the snapshots around it. The last position of a consumer that has been silent for a second is
compared with the newest end, because messages that nobody reads accumulate.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from stream2gym.components.topics import TopicPartition

KEPT_SNAPSHOTS = 5
# A consumer reports every half second: one that has been silent for this long does not read.
SILENT_NS = 1_000_000_000


@dataclass(frozen=True)
class OffsetSnapshot:
    """The first and the next offset of every partition at one moment, as Kafka told them."""

    at_ns: int
    offsets: Mapping[TopicPartition, tuple[int, int]]


@dataclass(frozen=True)
class Position:
    """The next offset that a group will read of a partition, and when that was reported."""

    at_ns: int
    offset: int


def lag(
    snapshots: Sequence[OffsetSnapshot], topics: Collection[str], positions: Mapping[TopicPartition, Position]
) -> int:
    """How many messages of these topics, as of the last snapshot, a group has not read."""
    behind = 0
    for partition, (start, end) in snapshots[-1].offsets.items():
        if partition[0] in topics:
            position = positions.get(partition)
            if position is None:
                behind += max(0, end - start)
            else:
                behind += max(0, end_at(snapshots, partition, position.at_ns) - max(start, position.offset))
    return behind


def end_at(snapshots: Sequence[OffsetSnapshot], partition: TopicPartition, at_ns: int) -> int:
    """Where a partition ended at a moment, interpolated between the snapshots around it where there are any."""
    newest = snapshots[-1].offsets[partition][1]
    if snapshots[-1].at_ns - at_ns > SILENT_NS:
        return newest
    number = bisect_right([snapshot.at_ns for snapshot in snapshots], at_ns)
    if number in (0, len(snapshots)):
        return newest
    before, after = snapshots[number - 1], snapshots[number]
    if partition not in before.offsets or partition not in after.offsets:
        return newest
    first, last = before.offsets[partition][1], after.offsets[partition][1]
    return first + (last - first) * (at_ns - before.at_ns) // (after.at_ns - before.at_ns)
