"""What the recorder knows of one consumer of the program: its group, what it holds, and where it began to read.

Where a group began decides which messages it is owed. Therefore a member notes ``began`` for each partition that it
was given: the offset that it would read first, before the program got any message of it; -1 where that offset
cannot be known. ``chosen`` says that the program itself named the place. ``again`` says that the note replaces an
earlier one, because the program chose another place before it got a message.

The two libraries that are written in Python keep what a consumer reads in objects of the same shape: a
``SubscriptionState`` with a ``TopicPartitionState`` for each partition that is held. Both get an attribute ``_s2g``.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

from .recorder import Recorder

UNKNOWN = -1001  # an offset that nobody knows, as confluent-kafka has it

Place = tuple[str, int]  # topic, partition


class GroupMember:
    """One consumer of the program."""

    __slots__ = ("begun", "group", "held", "is_iterating", "recorder", "sought")

    def __init__(self, recorder: Recorder, group: str) -> None:
        self.recorder = recorder
        self.group = group
        self.held: set[Place] = set()
        # Partitions whose beginning is known or was noted as unknown, with whether the program got a message of it.
        self.begun: dict[Place, bool] = {}
        # Partitions for which the program has asked for another position that was not found yet.
        self.sought: set[Place] = set()
        # kafka-python polls ahead while the program iterates.
        self.is_iterating = False

    def hold(self, places: set[Place]) -> None:
        """Note what the consumer holds from now on."""
        gone = sorted(self.held - places)
        if gone:
            self.recorder.note("revoked", group=self.group, partitions=[(*place, UNKNOWN) for place in gone])
        new = sorted(places - self.held)
        self.recorder.note("assigned", group=self.group, partitions=[(*place, UNKNOWN) for place in new])
        self.forget([*gone, *new])
        self.held = places

    def forget(self, places: Iterable[Place]) -> None:
        """Begin anew in partitions that were given or taken."""
        for place in places:
            self.begun.pop(place, None)
            self.sought.discard(place)

    def begin(self, place: Place, offset: int) -> None:
        """Note the first position of a partition, and one that the program chose before it got a message."""
        chosen, handed = place in self.sought, self.begun.get(place)
        self.sought.discard(place)
        if handed is None or (chosen and not handed):
            again = handed is not None
            self.recorder.note("began", group=self.group, partitions=[(*place, offset)], chosen=chosen, again=again)
            self.begun[place] = False

    def hand_over(self, place: Place) -> None:
        """The program gets a message of a partition."""
        if place not in self.begun or place in self.sought:
            self.begin(place, -1)
        self.begun[place] = True


class UnpackedRecords:
    """Messages that a library has unpacked and not handed to the program yet, with their bytes and our header.

    They are known by the ids of their records. A record that was dropped leaves its entry behind, until another
    record has its id.
    """

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._known: dict[int, tuple[Any, Any, tuple[str, int] | None]] = {}

    def keep(self, record: Any, key: Any, value: Any, ours: tuple[str, int] | None) -> None:
        """Remember key and value as they were before the deserialisers, and what our header said."""
        self._known[id(record)] = (key, value, ours)

    def hand_over(self, member: GroupMember, records: Iterable[Any], at_ns: int) -> None:
        """Write the rows of messages that the program is about to get."""
        receipts = self._recorder.receipts(member.group)
        for one in records:
            key, value, ours = self._known.pop(id(one), (None, None, None))
            if receipts is not None:
                if not member.begun.get((one.topic, one.partition)):
                    member.hand_over((one.topic, one.partition))
                broker_ms = one.timestamp if one.timestamp is not None else -1
                receipts.add(at_ns, one.topic, one.partition, one.offset, broker_ms, key, value, ours)


def note_committed(recorder: Recorder, offsets: Any) -> None:
    """Kafka accepted the commit of these offsets, given by partition."""
    try:
        if not recorder.is_off:
            recorder.committed(
                (place.topic, place.partition, getattr(at, "offset", at)) for place, at in offsets.items()
            )
    except Exception as error:
        recorder.give_up(error)


def note_assignments(subscription_class: Any, recorder: Recorder) -> None:
    """Note which partitions a consumer is given, by its group or by itself."""
    for name in ("assign_from_subscribed", "assign_from_user"):
        if hasattr(subscription_class, name):
            setattr(subscription_class, name, _noting_assignment(getattr(subscription_class, name), recorder))


def _noting_assignment(theirs: Any, recorder: Recorder) -> Any:
    @functools.wraps(theirs)
    def assign(self: Any, partitions: Any, *args: Any, **kwargs: Any) -> Any:
        result = theirs(self, partitions, *args, **kwargs)
        member: GroupMember | None = getattr(self, "_s2g", None)
        if member is not None:
            try:
                member.hold({(place.topic, place.partition) for place in partitions})
                for place in partitions:
                    _state_of(self, place)._s2g = (member, (place.topic, place.partition))
            except Exception as error:
                recorder.give_up(error)
        return result

    return assign


def _state_of(subscription: Any, place: Any) -> Any:
    """The ``TopicPartitionState`` of a partition that a consumer holds."""
    if hasattr(subscription, "assignment"):  # kafka-python
        return subscription.assignment[place]
    return subscription.subscription.assignment.state_value(place)


def note_beginnings(state_class: Any, consumer_class: Any, recorder: Recorder) -> None:
    """Note where a consumer begins to read the partitions that it holds."""
    for name in ("reset_to", "seek"):
        if hasattr(state_class, name):
            setattr(state_class, name, _noting_position(getattr(state_class, name), recorder))
    for name in ("seek", "seek_to_beginning", "seek_to_end"):
        setattr(consumer_class, name, _noting_choice(getattr(consumer_class, name), recorder))


def _noting_position(theirs: Any, recorder: Recorder) -> Any:
    @functools.wraps(theirs)
    def set_position(self: Any, position: Any) -> Any:
        result = theirs(self, position)
        known: tuple[GroupMember, Place] | None = getattr(self, "_s2g", None)
        if known is not None:
            try:
                known[0].begin(known[1], getattr(position, "offset", position))
            except Exception as error:
                recorder.give_up(error)
        return result

    return set_position


def _noting_choice(theirs: Any, recorder: Recorder) -> Any:
    """A call with which the program chooses a position: of partitions that it names, or of all that it holds."""

    @functools.wraps(theirs)
    def choose(self: Any, *args: Any, **kwargs: Any) -> Any:
        member: GroupMember | None = getattr(self, "_s2g", None)
        if member is not None:
            try:
                named = [one for one in (*args, kwargs.get("partition")) if hasattr(one, "partition")]
                places = {(one.topic, one.partition) for one in named}
                member.sought |= places & member.held if named else member.held
            except Exception as error:
                recorder.give_up(error)
        return theirs(self, *args, **kwargs)

    return choose
