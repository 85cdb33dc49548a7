"""Whether consumers have read everything: their positions against Kafka's end offsets."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Protocol

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


class Reader(Protocol):
    """Whatever else reads topics: an engine, a sink. It says how far it is, and whether it has work in hand."""

    def reading(self) -> dict[str, dict[Place, int]]: ...

    def settled(self) -> bool: ...


class Backlog:
    """Asks Kafka where partitions end, now and then, and consumers how far they are."""

    def __init__(
        self, observer: Observer, consumers: Sequence[ConsumerComponent], readers: Sequence[Reader] = ()
    ) -> None:
        self._observer = observer
        self._consumers = consumers
        self._readers = readers
        self._groups: dict[str, set[str]] = {}
        for consumer in consumers:
            for group in consumer.groups:
                self._groups.setdefault(group, set()).update(consumer.topics)
        self._next = 0.0
        self._asked: Question | None = None
        self._settled = True  # before the question was asked, so that what comes out of it is counted
        self.behind: int | None = None

    def look(self) -> int | None:
        """Messages behind as last heard; None while some partition's end is not known. Never waits."""
        now = time.monotonic()
        if self._asked is None:
            if now >= self._next:
                self._next = now + EVERY_S
                self._settled = all(reader.settled() for reader in self._readers)
                self._asked = self._observer.ask("offsets", topics=self._topics(), timeout_s=TIMEOUT_S)
        elif self._asked.done:
            question, self._asked = self._asked, None
            self.behind = self._behind(question)
        return self.behind if self._settled or self.behind else None

    def _behind(self, question: Question) -> int | None:
        try:
            found = question.result()
        except StartFailed:
            return None
        if found["unknown"]:
            return None
        groups, positions = dict(self._groups), self._positions()
        for name, places in self._reading().items():
            groups[name] = {topic for topic, _ in places}
            positions[name] = places
        return messages_behind(found["offsets"], groups, positions)

    def _reading(self) -> dict[str, dict[Place, int]]:
        return {name: places for reader in self._readers for name, places in reader.reading().items()}

    def _topics(self) -> list[str]:
        own = set().union(*self._groups.values())
        return sorted(own | {topic for places in self._reading().values() for topic, _ in places})

    def _positions(self) -> dict[str, dict[Place, int]]:
        positions: dict[str, dict[Place, int]] = {}
        for consumer in self._consumers:
            for group, words in zip(consumer.groups, consumer.words, strict=True):
                at = positions.setdefault(group, {})
                for place, offset in words.positions().items():
                    at[place] = max(offset, at.get(place, 0))
        return positions
