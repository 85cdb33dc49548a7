"""Whether consumers have read everything, and how far behind they are: positions against Kafka's end offsets."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Protocol

from stream2gym.components.consumer import ConsumerComponent
from stream2gym.components.observer import Observer, Question
from stream2gym.components.words import Place
from stream2gym.errors import StartFailed
from stream2gym.gymlife.lag import KEPT, Look, Position, lag

EVERY_S = 0.25
TIMEOUT_S = 10.0
STILL_S = 3.0  # longer than a follower pauses after a failure


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


class Writer(Protocol):
    """A producer: what it writes to, and how many messages were acknowledged to it."""

    @property
    def topics(self) -> list[str]: ...

    @property
    def acknowledged(self) -> int: ...


def all_readable(ends: Mapping[str, int], writers: Iterable[Writer]) -> bool:
    """Whether topics hold at least what was acknowledged to those who write to them.

    ``ends`` are the sums of the end offsets of each topic; who writes elsewhere too does not count.
    """
    known = [writer for writer in writers if ends.keys() >= set(writer.topics)]
    topics = {topic for writer in known for topic in writer.topics}
    return sum(ends[topic] for topic in topics) >= sum(writer.acknowledged for writer in known)


class Reader(Protocol):
    """Whatever else reads topics: an engine, a sink. It says how far it is, and whether it has work in hand."""

    def reading(self) -> dict[str, dict[Place, int]]: ...

    def settled(self) -> bool: ...


class Backlog:
    """Asks Kafka where partitions end, now and then, and consumers how far they are. Any thread may look."""

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
        self._asked: tuple[Question, bool] | None = None  # and whether readers had settled when it was asked
        self._settled = True
        self._looks: deque[Look] = deque(maxlen=KEPT)
        self._lock = threading.Lock()
        self.behind: int | None = None
        self.ends: dict[str, int] = {}  # of each topic, all partitions together
        self.lag: dict[str, int] = {}  # of each group of consumers, as of ``lag_ns``
        self.lag_ns = 0

    def look(self) -> int | None:
        """Messages behind as last heard; None while some partition's end is not known. Never waits."""
        with self._lock:
            if self._asked is not None and self._asked[0].done:
                (question, self._settled), self._asked = self._asked, None
                self.behind = self._behind(question)
            now = time.monotonic()
            if self._asked is None and now >= self._next:
                self._next = now + EVERY_S
                settled = all(reader.settled() for reader in self._readers)
                question = self._observer.ask("offsets", topics=self._topics(), timeout_s=TIMEOUT_S)
                self._asked = (question, settled)
            return self.behind if self._settled or self.behind else None

    @property
    def total_lag(self) -> int | None:
        """Of all groups together; None until somebody knows."""
        return sum(self.lag.values()) if self.lag_ns else None

    def _behind(self, question: Question) -> int | None:
        try:
            found = question.result()
        except StartFailed:
            return None
        told = self._positions()
        self._note_lag(found, told)
        if found["unknown"]:
            return None
        self.ends = {}
        for topic, _partition, _start, end in found["offsets"]:
            self.ends[topic] = self.ends.get(topic, 0) + end
        groups: dict[str, set[str]] = dict(self._groups)
        positions = {
            name: {place: at.offset for place, at in places.items()} for name, places in told.items()
        }
        for name, read in self._reading().items():
            groups[name] = {topic for topic, _ in read}
            positions[name] = read
        return messages_behind(found["offsets"], groups, positions)

    def _note_lag(self, found: Mapping[str, Any], told: Mapping[str, Mapping[Place, Position]]) -> None:
        """Of a partition that nobody leads the last known end counts: nothing is written there."""
        before = self._looks[-1].offsets if self._looks else {}
        now = {(topic, number): (start, end) for topic, number, start, end in found["offsets"]}
        self._looks.append(Look(int(found["at_ns"]), {**before, **now}))
        looks = list(self._looks)
        self.lag = {group: lag(looks, topics, told.get(group, {})) for group, topics in self._groups.items()}
        self.lag_ns = looks[-1].at_ns

    def _reading(self) -> dict[str, dict[Place, int]]:
        return {name: places for reader in self._readers for name, places in reader.reading().items()}

    def _topics(self) -> list[str]:
        own = set().union(*self._groups.values())
        return sorted(own | {topic for places in self._reading().values() for topic, _ in places})

    def _positions(self) -> dict[str, dict[Place, Position]]:
        """The furthest that any member of a group has been."""
        positions: dict[str, dict[Place, Position]] = {}
        for consumer in self._consumers:
            for group, words in zip(consumer.groups, consumer.words, strict=True):
                at = positions.setdefault(group, {})
                said_ns, places = words.told_positions()
                for place, offset in places.items():
                    if place not in at or offset >= at[place].offset:
                        at[place] = Position(said_ns, offset)
        return positions


class Drain:
    """Whether the drain is over: everything has been read, and no more will become readable.

    What one broker has acknowledged alone (acks=1) can be read when its followers have it too, up to seconds later.
    What never can be read was lost: then the ends of the topics do not move for a while.
    """

    def __init__(
        self, backlog: Backlog, writers: Sequence[Writer], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._backlog, self._writers, self._clock = backlog, writers, clock
        self._ends: dict[str, int] = {}
        self._since_s = clock()

    def over(self) -> bool:
        behind, ends = self._backlog.look(), self._backlog.ends
        if ends != self._ends:
            self._ends, self._since_s = ends, self._clock()
        if behind != 0:
            return False
        return all_readable(ends, self._writers) or self._clock() - self._since_s >= STILL_S


class LagMonitor:
    """Writes down how far every group is behind, whenever Kafka has been asked anew."""

    def __init__(self, backlog: Callable[[], Backlog | None], sample: Callable[..., None]) -> None:
        self._backlog = backlog
        self._sample = sample
        self._last_ns = 0

    def look(self) -> None:
        backlog = self._backlog()
        if backlog is None:
            return
        backlog.look()
        at_ns, behind = backlog.lag_ns, backlog.lag
        if at_ns > self._last_ns:
            self._last_ns = at_ns
            for group, messages in behind.items():
                self._sample("client", group, "lag", messages, at_ns=at_ns)
