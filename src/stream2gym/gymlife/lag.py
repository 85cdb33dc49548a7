"""How far each group is behind the end of its partitions, from looks at Kafka's offsets and words of consumers.

Where partitions end and where consumers are is never seen at the same moment, and at a high rate the half second
between two looks would be most of the lag. So a position is held against the end as it was when the position was
told, interpolated between the looks around that moment. Of a consumer that has been silent for longer the last
position counts against the newest end: what nobody reads piles up. Pure.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from stream2gym.components.words import Place

KEPT = 5  # looks; positions older than all of them belong to a consumer that has fallen silent


@dataclass(frozen=True)
class Look:
    """Kafka's word at one moment: first and next offset of every partition."""

    at_ns: int
    offsets: Mapping[Place, tuple[int, int]]


@dataclass(frozen=True)
class Position:
    """The next offset that a group will read of a partition, and when that was said."""

    at_ns: int
    offset: int


def lag(looks: Sequence[Look], topics: Collection[str], positions: Mapping[Place, Position]) -> int:
    """Messages of these topics, as of the last look, that a group has not read."""
    behind = 0
    for place, (start, end) in looks[-1].offsets.items():
        if place[0] in topics:
            told = positions.get(place)
            at = start if told is None else max(start, told.offset)
            then = end if told is None else end_at(looks, place, told.at_ns)
            behind += max(0, then - at)
    return behind


def end_at(looks: Sequence[Look], place: Place, at_ns: int) -> int:
    """Where a partition ended at a moment, as far as the looks around it tell."""
    newest = looks[-1].offsets[place][1]
    number = bisect_right([look.at_ns for look in looks], at_ns)
    if number in (0, len(looks)):
        return newest
    before, after = looks[number - 1], looks[number]
    if place not in before.offsets or place not in after.offsets:
        return newest
    first, last = before.offsets[place][1], after.offsets[place][1]
    return first + (last - first) * (at_ns - before.at_ns) // (after.at_ns - before.at_ns)
