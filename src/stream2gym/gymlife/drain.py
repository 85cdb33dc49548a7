"""Whether consumers have read everything: their positions against Kafka's end offsets."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from stream2gym.components.consumer import ConsumerComponent
from stream2gym.components.observer import Observer
from stream2gym.errors import StartFailed

Place = tuple[str, int]
EVERY_S = 0.25
TIMEOUT_S = 10.0


def messages_behind(
    offsets: Iterable[Sequence[Any]],
    groups: Mapping[str, Sequence[str]],
    positions: Mapping[str, Mapping[Place, int]],
) -> int:
    """How many messages all groups together have not read yet.

    ``offsets`` are rows of topic, partition, start, end; ``groups`` say which topics each group reads; a
    partition without a position has not been read at all.
    """
    behind = 0
    for topic, partition, start, end in offsets:
        for group, topics in groups.items():
            if topic in topics:
                at = positions.get(group, {}).get((topic, partition), start)
                behind += max(0, end - max(start, at))
    return behind


class Backlog:
    """Asks Kafka where partitions end, now and then, and consumers how far they are."""

    def __init__(self, observer: Observer, consumers: Sequence[ConsumerComponent]) -> None:
        self._observer = observer
        self._consumers = consumers
        self._groups: dict[str, set[str]] = {}
        for consumer in consumers:
            for group in consumer.groups:
                self._groups.setdefault(group, set()).update(consumer.topics)
        self._topics = sorted(set().union(*self._groups.values()))
        self._next = 0.0
        self.behind: int | None = None

    def look(self) -> int | None:
        """Messages behind; None while some partition's end is not known."""
        now = time.monotonic()
        if now < self._next:
            return self.behind
        self._next = now + EVERY_S
        try:
            found = self._observer.query("offsets", TIMEOUT_S, topics=self._topics)
        except StartFailed:
            found = {"offsets": [], "unknown": {"": ""}}
        known = messages_behind(
            found["offsets"], {g: sorted(t) for g, t in self._groups.items()}, self._positions()
        )
        self.behind = None if found["unknown"] else known
        return self.behind

    def _positions(self) -> dict[str, dict[Place, int]]:
        positions: dict[str, dict[Place, int]] = {}
        for consumer in self._consumers:
            for group, words in zip(consumer.groups, consumer.words, strict=True):
                at = positions.setdefault(group, {})
                for place, offset in words.positions().items():
                    at[place] = max(offset, at.get(place, 0))
        return positions
