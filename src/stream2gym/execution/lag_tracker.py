"""How far the readers of topics are behind: their positions against the end offsets that Kafka tells."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

from stream2gym.components.consumer import ConsumerComponent
from stream2gym.components.observer import Observer, Question
from stream2gym.components.topics import TopicPartition
from stream2gym.errors import StartFailed
from stream2gym.execution.lag import KEPT_SNAPSHOTS, OffsetSnapshot, Position, lag
from stream2gym.execution.run_components import RunComponents
from stream2gym.record.program_record import READ_UNCOMMITTED, GroupReading

EVERY_S = 0.25
TIMEOUT_S = 10.0
# A question that has no answer after this long gets none any more.
GIVE_UP_S = 3 * TIMEOUT_S
# Without offsets for this long, nobody knows the lag.
SILENT_S = 2.0
# Time between two questions for the next messages of programs.
LOOK_EVERY_S = 1.0

# By group and partition: the next offset of a program, and the isolation level that it reads with.
Standing = dict[tuple[str, TopicPartition], tuple[int, str]]


@dataclass(frozen=True)
class ReadToEnd:
    """From this offset on, a reader finds no message before this end."""

    offset: int
    end: int

    def covers(self, offset: int, end: int | None) -> bool:
        """Whether a reader at an offset has nothing to read up to an end."""
        return end is not None and offset == self.offset and end <= self.end


def messages_behind(
    offsets: Iterable[Sequence[Any]],
    groups: Mapping[str, Collection[str]],
    positions: Mapping[str, Mapping[TopicPartition, int]],
) -> int:
    """How many messages all groups together have not read yet.

    ``offsets`` are rows of topic, partition, start, end. ``groups`` names the topics that each group reads. A
    partition without a position has not been read at all.
    """
    behind = 0
    for topic, partition, start, end in offsets:
        for group, topics in groups.items():
            if topic in topics:
                at = positions.get(group, {}).get((topic, partition), start)
                behind += max(0, end - max(start, at))
    return behind


class TopicReader(Protocol):
    """An engine or a sink: it reads topics, like a consumer, and it is known how far it is."""

    def reading(self) -> dict[str, dict[TopicPartition, int]]:
        """The next offset of every partition, by the name of who reads."""

    def settled(self) -> bool:
        """Whether it has processed everything that it has read."""

    def committing_groups(self) -> list[str]:
        """The groups in which it commits what it has processed: Kafka knows its next offsets better."""


class ObservedProgram(Protocol):
    """A program of the user's that reads in groups, as consumers do."""

    def groups(self) -> dict[str, GroupReading]:
        """How far it has read, by group."""


class LagTracker:
    """Asks Kafka a few times a second where partitions end, and compares that with the positions of the readers.

    What a program read last does not tell that nothing is left to read: markers of transactions and aborted messages
    have offsets, too. With ``looks_behind`` Kafka is asked for the next message of a program that stands still before
    the end of a partition; where there is none, the program has read to the end.

    Any thread may call it.
    """

    def __init__(
        self,
        observer: Observer,
        consumers: Sequence[ConsumerComponent],
        readers: Sequence[TopicReader] = (),
        programs: Sequence[ObservedProgram] = (),
        *,
        looks_behind: bool = False,
        made_topics: Collection[str] = (),
    ) -> None:
        self._observer = observer
        self._consumers = consumers
        self._readers = readers
        self._programs = programs
        self._looks_behind = looks_behind
        # The topics that the run has made: one that Kafka does not know was deleted, so that nothing of it is left.
        self._made_topics = frozenset(made_topics)
        self._own_groups: dict[str, set[str]] = {}
        for consumer in consumers:
            for group in consumer.groups:
                self._own_groups.setdefault(group, set()).update(consumer.topics)
        # What leaders were asked before does not count: the drain has a tracker of its own for that.
        self._since_ns = time.monotonic_ns()
        self._next_question_s = 0.0
        # The open question, and whether all readers had settled when it was asked.
        self._asked: tuple[Question, bool] | None = None
        self._settled = True
        self._snapshots: deque[OffsetSnapshot] = deque(maxlen=KEPT_SNAPSHOTS)
        self._lock = threading.Lock()
        # The open question for the next messages of programs, with what was asked; and when to ask again.
        self._next_asked: tuple[Question, Standing] | None = None
        self._next_look_s = 0.0
        # Where programs stood at the last answer, and where they are known to have read to the end.
        self._stood: Standing = {}
        self._read_to_end: dict[tuple[str, TopicPartition], ReadToEnd] = {}
        # Places from which there is a message to read: topic, partition, offset and isolation level.
        self._unread: set[tuple[Any, ...]] = set()
        self._asked_topics: set[str] = set()
        # What the groups of readers have committed, by the last answer.
        self._committed: dict[str, dict[TopicPartition, int]] = {}
        # Messages that nobody has read yet; None while the end of some partition is unknown.
        self.behind: int | None = None
        self.ends: dict[TopicPartition, int] = {}
        # The lag of each group of consumers and programs at the time ``lag_ns``, which is 0 until the lag is known.
        self.lag: dict[str, int] = {}
        self.lag_ns = 0
        self._readers_lag: int | None = 0

    @classmethod
    def of(cls, components: RunComponents, *, looks_behind: bool = False) -> Self | None:
        """The tracker of a run; None in a run where nothing reads topics."""
        # Nobody waits for what was stopped by hand. A group that others of ours share is still theirs to read.
        consumers = [consumer for consumer in components.consumers if not consumer.is_retired]
        readers, programs = components.topic_readers(), components.observed_programs()
        if components.observer is None or not (consumers or readers or programs):
            return None
        made = [topic.name for topic in components.context.experiment.topics]
        return cls(components.observer, consumers, readers, programs, looks_behind=looks_behind, made_topics=made)

    def poll(self) -> int | None:
        """Take the answer that has come and ask the next question. Never waits.

        Returns how many messages are behind, by the last answer; None while the end of some partition is unknown, or
        while nothing is behind but a reader still had work when Kafka was asked.
        """
        with self._lock:
            if self._next_asked is not None and self._next_asked[0].done:
                self._take_next_messages(*self._next_asked)
                self._next_asked = None
            if self._asked is not None and self._asked[0].done:
                (question, self._settled), self._asked = self._asked, None
                self.behind = self._take_answer(question)
            now = time.monotonic()
            patience_s = 0.0 if self._asked is None else GIVE_UP_S
            if now >= self._next_question_s + patience_s:
                self._next_question_s = now + EVERY_S
                settled = all(reader.settled() for reader in self._readers)
                topics, groups = self._topics(), self._committing_groups()
                question = self._observer.ask(
                    "offsets_now", topics=topics, groups=groups, timeout_s=TIMEOUT_S, since_ns=self._since_ns
                )
                self._asked_topics = set(topics)
                self._asked = (question, settled)
            return self.behind if self._settled or self.behind else None

    @property
    def total_lag(self) -> int | None:
        """The lag of all groups, engines and sinks together; None while it is not known."""
        is_old = time.monotonic_ns() - self.lag_ns > SILENT_S * 1e9
        if not self.lag_ns or is_old or self._readers_lag is None:
            return None
        return sum(self.lag.values()) + self._readers_lag

    def read_to_end(self) -> dict[str, list[tuple[str, int, int]]]:
        """The groups of programs that found nothing more up to the ends of partitions: topic, partition, end."""
        found: dict[str, list[tuple[str, int, int]]] = {}
        with self._lock:
            told = self._program_groups()
            for (group, place), known in self._read_to_end.items():
                position = told.get(group, GroupReading()).positions.get(place)
                if position is not None and known.covers(position[1], self.ends.get(place)):
                    found.setdefault(group, []).append((*place, self.ends[place]))
        return found

    def _take_answer(self, question: Question) -> int | None:
        """Compare the offsets of the answer with the positions. Returns how many messages are behind, or None."""
        try:
            found = question.result()
        except StartFailed:
            return None
        self._committed = {
            group: {(topic, int(number)): int(offset) for topic, number, offset in rows}
            for group, rows in found.get("committed", {}).items()
        }
        told = self._program_groups()
        ends = {(topic, partition): end for topic, partition, _start, end in found["offsets"]}
        positions = self._positions()
        self._add_programs(positions, told, ends)
        groups = self._groups(told)
        self._note_lag(found, groups, positions)
        readers_behind = self._count_readers_behind(found["offsets"])
        if found["unknown"] or readers_behind is None:
            return None
        self.ends = ends
        offsets = {
            group: {partition: position.offset for partition, position in partitions.items()}
            for group, partitions in positions.items()
        }
        behind = messages_behind(found["offsets"], groups, offsets)
        if self._looks_behind and behind:
            self._ask_for_next_messages(told, positions, ends)
        return behind + readers_behind

    def _count_readers_behind(self, offsets: Iterable[Sequence[Any]]) -> int | None:
        """How many messages engines and sinks have not read; None where Kafka has not told the ends of a topic of
        theirs. Those of a topic that they were only now found to read are asked for next time."""
        reading = self._reading()
        read = {name: {topic for topic, _ in partitions} for name, partitions in reading.items()}
        topics = set().union(*read.values())
        rows = list(offsets)
        is_told = topics <= self._asked_topics and topics <= self._made_topics | {row[0] for row in rows}
        return messages_behind(rows, read, reading) if is_told else None

    def _note_lag(
        self,
        found: Mapping[str, Any],
        groups: Mapping[str, Collection[str]],
        positions: Mapping[str, Mapping[TopicPartition, Position]],
    ) -> None:
        """Compute the lag. A partition without a leader keeps its last known end: nothing is written to it."""
        before = self._snapshots[-1].offsets if self._snapshots else {}
        now = {(topic, number): (start, end) for topic, number, start, end in found["offsets"]}
        self._snapshots.append(OffsetSnapshot(int(found["at_ns"]), {**before, **now}))
        snapshots = list(self._snapshots)
        self.lag = {group: lag(snapshots, topics, positions.get(group, {})) for group, topics in groups.items()}
        self.lag_ns = snapshots[-1].at_ns
        known = [(*partition, start, end) for partition, (start, end) in snapshots[-1].offsets.items()]
        # An engine or a sink has no group to name.
        self._readers_lag = self._count_readers_behind(known)

    def _reading(self) -> dict[str, dict[TopicPartition, int]]:
        found: dict[str, dict[TopicPartition, int]] = {}
        for reader in self._readers:
            for name, partitions in reader.reading().items():
                found.setdefault(name, {}).update(partitions)
        for group, committed in self._committed.items():
            found.setdefault(group, {}).update(committed)
        return found

    def _committing_groups(self) -> list[str]:
        return sorted({group for reader in self._readers for group in reader.committing_groups()})

    def _program_groups(self) -> dict[str, GroupReading]:
        """How far all programs together have read, by group."""
        found: dict[str, GroupReading] = {}
        for program in self._programs:
            for name, told in program.groups().items():
                found.setdefault(name, GroupReading()).join(told)
        return found

    def _groups(self, told: Mapping[str, GroupReading]) -> dict[str, set[str]]:
        """The topics that each group reads."""
        groups = {group: set(topics) for group, topics in self._own_groups.items()}
        for group, reading in told.items():
            groups.setdefault(group, set()).update(reading.topics)
        return groups

    def _topics(self) -> list[str]:
        topics = set().union(*self._groups(self._program_groups()).values())
        return sorted(topics | {topic for partitions in self._reading().values() for topic, _ in partitions})

    def _add_programs(
        self,
        positions: dict[str, dict[TopicPartition, Position]],
        told: Mapping[str, GroupReading],
        ends: Mapping[TopicPartition, int],
    ) -> None:
        """Add the positions of programs, except of partitions that a consumer of ours in the same group holds.

        Where our consumers hold a partition no longer, what they report of it is old.
        """
        held = self._held()
        for group, reading in told.items():
            own = positions.setdefault(group, {})
            for place, (at_ns, offset) in reading.positions.items():
                if (group, place) not in held:
                    known = self._read_to_end.get((group, place))
                    is_done = known is not None and known.covers(offset, ends.get(place))
                    own[place] = Position(at_ns, ends[place] if is_done else offset)

    def _held(self) -> set[tuple[str, TopicPartition]]:
        """The partitions that consumers of ours hold, with their groups."""
        return {
            (group, place)
            for consumer in self._consumers
            for group, status in zip(consumer.groups, consumer.statuses, strict=True)
            for place in status.assigned()
        }

    def _ask_for_next_messages(
        self,
        told: Mapping[str, GroupReading],
        positions: Mapping[str, Mapping[TopicPartition, Position]],
        ends: Mapping[TopicPartition, int],
    ) -> None:
        """Ask for the next messages of programs that stand before an end, where they stood at the last answer."""
        standing = {
            (group, place): (offset, reading.isolation or READ_UNCOMMITTED)
            for group, reading in told.items()
            for place, (_, offset) in reading.positions.items()
            if place in ends and positions[group][place].offset < ends[place]
        }
        before, self._stood = self._stood, standing
        asked = {
            key: stands
            for key, stands in standing.items()
            if before.get(key) == stands and (*key[1], *stands) not in self._unread
        }
        if not asked or self._next_asked is not None or time.monotonic() < self._next_look_s:
            return
        self._next_look_s = time.monotonic() + LOOK_EVERY_S
        places = [[*place, *stands] for (_, place), stands in asked.items()]
        self._next_asked = (self._observer.ask("next_messages", places=places, timeout_s=TIMEOUT_S), asked)

    def _take_next_messages(self, question: Question, asked: Standing) -> None:
        """Learn from the answer which programs have read to the end."""
        try:
            found = question.result()
        except StartFailed:
            return
        self._unread |= {tuple(row) for row in found["unread"]}
        ends = {tuple(row[:-1]): int(row[-1]) for row in found["ends"]}
        for (group, place), stands in asked.items():
            end = ends.get((*place, *stands))
            if end is not None:
                self._read_to_end[group, place] = ReadToEnd(stands[0], end)

    def _positions(self) -> dict[str, dict[TopicPartition, Position]]:
        """Where each group is: the position of the member that holds a partition, else the furthest of any member.

        A member that held the partition before may have been further: what it did not commit is read again, and
        offsets that a truncation took back are written again.
        """
        positions: dict[str, dict[TopicPartition, Position]] = {}
        held: set[tuple[str, TopicPartition]] = set()
        for consumer in self._consumers:
            for group, status in zip(consumer.groups, consumer.statuses, strict=True):
                at = positions.setdefault(group, {})
                reported_ns, offsets = status.timed_positions()
                assigned = status.assigned()
                for partition, offset in offsets.items():
                    first_holder = partition in assigned and (group, partition) not in held
                    same_rank = (partition in assigned) == ((group, partition) in held)
                    is_further = partition not in at or (same_rank and offset >= at[partition].offset)
                    if first_holder or is_further:
                        at[partition] = Position(reported_ns, offset)
                    if partition in assigned:
                        held.add((group, partition))
        return positions


class LagSource(Protocol):
    """What tells the lag of groups."""

    lag: dict[str, int]
    lag_ns: int

    def poll(self) -> int | None:
        """Take the answer that has come and ask the next question. Never waits."""


class LagMonitor:
    """Samples the lag of every group whenever the brokers have told something new."""

    def __init__(self, lag_tracker: Callable[[], LagSource | None], sample: Callable[..., None]) -> None:
        self._lag_tracker = lag_tracker
        self._sample = sample
        self._last_ns = 0
        # When there was first something to ask.
        self._since_ns: int | None = None

    def look(self) -> None:
        """Poll the tracker and write the lag down if it is new. Raises StartFailed when Kafka tells nothing any more,
        so that the time without samples is known."""
        lag_tracker = self._lag_tracker()
        if lag_tracker is None:
            return
        if self._since_ns is None:
            self._since_ns = time.monotonic_ns()
        lag_tracker.poll()
        at_ns, behind = lag_tracker.lag_ns, lag_tracker.lag
        if at_ns > self._last_ns:
            self._last_ns = at_ns
            for group, messages in behind.items():
                self._sample("client", group, "lag", messages, at_ns=at_ns)
        silent_s = (time.monotonic_ns() - max(self._last_ns, self._since_ns)) / 1e9
        if silent_s > SILENT_S:
            raise StartFailed(f"the brokers told no lag for {silent_s:.1f} s")
