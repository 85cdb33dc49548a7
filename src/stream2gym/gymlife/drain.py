"""Whether consumers have read everything: their positions against Kafka's end offsets."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from stream2gym.components.consumer import ConsumerComponent
from stream2gym.components.observer import Observer, Question
from stream2gym.errors import StartFailed

Place = tuple[str, int]
EVERY_S = 0.25
TIMEOUT_S = 10.0


def messages_behind(
    offsets: Iterable[Sequence[Any]],
    groups: Mapping[str, Collection[str]],
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
        self._asked: Question | None = None
        self.behind: int | None = None

    def look(self) -> int | None:
        """Messages behind as last heard; None while some partition's end is not known. Never waits."""
        now = time.monotonic()
        if self._asked is None:
            if now >= self._next:
                self._next = now + EVERY_S
                self._asked = self._observer.ask("offsets", topics=self._topics, timeout_s=TIMEOUT_S)
        elif self._asked.done:
            question, self._asked = self._asked, None
            self.behind = self._behind(question)
        return self.behind

    def _behind(self, question: Question) -> int | None:
        try:
            found = question.result()
        except StartFailed:
            return None
        return (
            None if found["unknown"] else messages_behind(found["offsets"], self._groups, self._positions())
        )

    def _positions(self) -> dict[str, dict[Place, int]]:
        positions: dict[str, dict[Place, int]] = {}
        for consumer in self._consumers:
            for group, words in zip(consumer.groups, consumer.words, strict=True):
                at = positions.setdefault(group, {})
                for place, offset in words.positions().items():
                    at[place] = max(offset, at.get(place, 0))
        return positions
