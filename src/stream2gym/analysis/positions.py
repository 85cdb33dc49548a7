"""How far every group came in every partition, from receipts, recorded positions and Kafka's own offsets.

A consumer records its positions as samples of source ``client``. The metric ``first TOPIC/PARTITION`` is the offset
at which it began, and ``position TOPIC/PARTITION`` the next offset that it would read. A consumer that could not find
out where it begins says so in its event ``assigned``. Observed programs tell in their events ``began`` where they
began, or that nobody knows it; of those observed from packets the event ``assigned`` tells it. The event
``read-to-end`` tells that a program had nothing more to read up to an end.

The position of a group is the one that was last seen to change. It may be lower than an earlier one, because a log
that was cut off, or a consumer that took over a partition, may have set the group back.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc
import pyarrow.parquet as pq

from stream2gym.analysis.expected_delivery import FAR, Limits
from stream2gym.analysis.inputs import Inputs
from stream2gym.analysis.result_tables import PositionRow
from stream2gym.analysis.table_scans import Distinct, GroupPartition, LastReceipt, ReceivedScan, scan_sent_below
from stream2gym.record.instances import labels_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PLACE = re.compile(r"^(?:(first|position) )?(.+)/(\d+)$")

TopicPartition = tuple[str, int]  # topic, partition
TimedOffset = tuple[int, int]  # at_ns, offset


@dataclass
class RecordedPositions:
    """What samples and events say about positions."""

    # Where each group began. An offset below 0: the consumer could not find out.
    first: dict[GroupPartition, TimedOffset] = field(default_factory=dict)
    # Where a program itself chose the place at which its group began.
    chosen: set[GroupPartition] = field(default_factory=set)
    # The last change of each group's position.
    last: dict[GroupPartition, TimedOffset] = field(default_factory=dict)
    # When each partition last changed its leader.
    led_ns: dict[TopicPartition, int] = field(default_factory=dict)


@dataclass(frozen=True)
class GroupProgress:
    """How far a group came in a partition. None: not known."""

    # The first offset of Kafka's log and the offset after its last one, as Kafka told them at the end of the run.
    start: int | None = None
    end: int | None = None
    # Where the group began, and when.
    first: TimedOffset | None = None
    # Whether a program of the group chose that place.
    is_chosen: bool = False
    # The lowest offset that the group read.
    lowest: int | None = None
    # The last change of the group's position.
    last: TimedOffset | None = None
    # Whether the group has a queue of its own, which has no offsets; and what was left in it at the end.
    is_queue: bool = False
    left: int | None = None

    @property
    def is_at_end(self) -> bool:
        if self.is_queue:
            return self.left == 0
        return self.last is not None and self.end is not None and self.last[1] >= self.end


def read_kafka_offsets(inputs: Inputs) -> dict[TopicPartition, tuple[int, int]]:
    """The start and the end of every partition, as far as Kafka told them at the end of the run."""
    if not inputs.rows.get("offsets"):
        return {}
    rows = pq.read_table(inputs.table("offsets")).to_pylist()
    return {(row["topic"], row["partition"]): (row["start"], row["end"]) for row in rows}


def read_recorded_positions(inputs: Inputs) -> RecordedPositions:
    """First and last recorded positions of groups, and changes of leaders."""
    found = RecordedPositions()
    told: dict[tuple[str, str], float] = {}
    group_of = _map_labels_to_groups(inputs)
    rows = []
    if inputs.rows.get("samples"):
        wanted = pc.field("source").isin(["client", "kafka"])
        rows = pq.read_table(inputs.table("samples"), filters=wanted).sort_by("at_ns").to_pylist()
    for row in rows:
        if row["source"] == "kafka":
            match = _PLACE.match(str(row["object"]))
            if match is not None and row["metric"] == "leader":
                found.led_ns[match[2], int(match[3])] = row["at_ns"]
            continue
        match, group = _PLACE.match(row["metric"]), group_of.get(str(row["object"]))
        if match is None or match[1] is None or group is None:
            continue
        place, timed = (match[2], int(match[3]), group), (row["at_ns"], int(row["value"]))
        if match[1] == "first":
            found.first.setdefault(place, timed)
        elif told.get((row["object"], row["metric"])) != row["value"]:
            # A consumer that ends tells its positions again, even those of partitions that others took over.
            told[row["object"], row["metric"]] = row["value"]
            found.last[place] = max(found.last.get(place, timed), timed)
    _add_told_beginnings(inputs, found)
    for event in inputs.events:
        if event.get("event") == "read-to-end":
            for topic, number, end in event.get("partitions", ()):
                place, timed = (
                    (str(topic), int(number), str(event.get("group"))),
                    (round(event["t_s"] * 1e9), int(end)),
                )
                found.last[place] = max(found.last.get(place, timed), timed)
    return found


def _add_told_beginnings(inputs: Inputs, found: RecordedPositions) -> None:
    """Add where groups began, as events tell it. The first beginning of a group in a partition counts.

    A program that chose another place before it got a message began there.
    """
    programs = {str(part.name) for part in inputs.programs}
    teller: dict[GroupPartition, tuple[Any, Any]] = {}
    told = [event for event in inputs.events if event.get("event") in ("assigned", "began")]
    for event in sorted(told, key=lambda event: float(event["t_s"])):
        who = (event.get("component"), event.get("instance"))
        at_ns = round(event["t_s"] * 1e9)
        for topic, number, offset in event.get("partitions", ()):
            if event["event"] == "assigned" and offset < 0 and event.get("component") in programs:
                continue  # its event ``began`` follows, if it ever begins
            place = (str(topic), int(number), str(event.get("group")))
            moved = bool(event.get("again")) and teller.get(place) == who
            known = found.first.get(place)
            # Our own consumers tell in samples where they begin, or in an event of that time that nobody knows.
            is_earlier = known is None or at_ns < known[0] or (offset < 0 and at_ns == known[0])
            if is_earlier or moved:
                found.first[place] = (at_ns, max(-1, int(offset)))
                teller[place] = who
                (found.chosen.add if event.get("chosen") else found.chosen.discard)(place)


def _map_labels_to_groups(inputs: Inputs) -> dict[str, str]:
    groups_of = inputs.groups()
    group_of = {name: groups[0] for name, groups in groups_of.items()}
    for name, groups in groups_of.items():
        for number, own in enumerate(groups, 1):
            for label in labels_of(name, number):
                group_of.setdefault(label, own)
    return group_of


def find_renewed_topics(inputs: Inputs) -> dict[str, int]:
    """Topics that a fault deleted, with the time at which that was done; ``FAR`` when nobody knows it."""
    return {topic: FAR if one.to_ns is None else one.to_ns for topic, one in inputs.deletions.items()}


def find_cuts(
    session: SparkSession, inputs: Inputs, recorded: RecordedPositions, highest: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int]:
    """Until when an acknowledged message beyond the end of its log counts as cut off. No entry: whenever.

    A message may stand beyond the end that Kafka tells because followers do not have it yet. It was cut off if the
    partition changed its leader after the acknowledgement, or if a message that was sent later stands before the end.
    Where nobody watched the leaders, it counts as cut off.
    """
    offsets = read_kafka_offsets(inputs)
    behind = {
        place: offsets[place][1]
        for place, offset in highest.items()
        if place in offsets and place in recorded.led_ns and offset >= offsets[place][1]
    }
    later = scan_sent_below(session, behind)
    return {place: max(recorded.led_ns[place], later.get(place, -FAR)) for place in behind}


def find_group_progress(
    inputs: Inputs,
    recorded: RecordedPositions,
    receipts: Mapping[GroupPartition, LastReceipt],
    places: set[TopicPartition],
) -> dict[GroupPartition, GroupProgress]:
    """How far each group came in each partition, including partitions from which it read nothing."""
    offsets = read_kafka_offsets(inputs)
    groups: dict[str, list[str]] = {}
    for sub in inputs.subscriptions():
        groups.setdefault(sub.topic, []).append(sub.group)
    wanted = {
        (topic, partition, group)
        for topic, partition in places | set(offsets)
        for group in groups.get(topic, ())
        if partition >= 0
    }
    progresses = {}
    for place in sorted(wanted | set(receipts)):
        if place[0] in inputs.queue_topics:
            progresses[place] = GroupProgress(is_queue=True, left=inputs.queue_ends.get((place[0], place[2])))
            continue
        start, end = offsets.get(place[:2], (None, None))
        read = receipts.get(place)
        seen = [] if read is None else [(read.at_ns, read.offset + 1)]
        first = recorded.first.get(place)
        if place[0] in inputs.deletions:
            # What was recorded may be about the log that was deleted.
            first = None
        elif place in recorded.last:
            seen.append(recorded.last[place])
        progresses[place] = GroupProgress(
            start,
            end,
            first=first if first and first[1] >= 0 else None,
            is_chosen=place in recorded.chosen,
            lowest=read.lowest if read else None,
            last=max(seen, default=None),
        )
    return progresses


def make_position_rows(
    inputs: Inputs, progresses: Mapping[GroupPartition, GroupProgress], received: ReceivedScan, distinct: Distinct
) -> list[PositionRow]:
    """One row a group and partition."""
    receipts: dict[GroupPartition, int] = {}
    foreign: dict[GroupPartition, int] = {}
    span: dict[GroupPartition, tuple[int, int]] = {}
    for reading in received.readings:
        place = (reading.topic, reading.partition, reading.group)
        receipts[place] = receipts.get(place, 0) + reading.messages
        if reading.producer is None:
            foreign[place] = foreign.get(place, 0) + reading.messages
        low, high = span.get(place, (reading.lowest, reading.highest))
        span[place] = (min(low, reading.lowest), max(high, reading.highest))
    different: dict[GroupPartition, int] = {}
    for (topic, partition, group, _), number in distinct.messages.items():
        different[topic, partition, group] = different.get((topic, partition, group), 0) + number
    subscriptions = {(sub.topic, sub.group): sub for sub in inputs.subscriptions()}
    rows = []
    for place, progress in sorted(progresses.items()):
        sub = subscriptions.get((place[0], place[2]))
        low, high = span.get(place, (0, -1))
        if progress.is_queue:
            rows.append(
                PositionRow(
                    *place,
                    receipts=receipts.get(place, 0),
                    foreign=foreign.get(place, 0),
                    observed=sub.observed if sub else True,
                    has_offsets=False,
                    left=progress.left,
                )
            )
            continue
        # A group that reads from the beginning began at the first offset that it read, or before it.
        at_end = progress.is_chosen or (sub is not None and sub.latest)
        first = progress.first[1] if progress.first else None if at_end else progress.lowest
        rows.append(
            PositionRow(
                *place, progress.start, progress.end,
                first=first,
                position=progress.last[1] if progress.last else None,
                receipts=receipts.get(place, 0),
                offsets_read=distinct.offsets.get(place, 0),
                gaps=high - low + 1 - distinct.offsets.get(place, 0),
                foreign=foreign.get(place, 0),
                observed=sub.observed if sub else True,
                reused=max(0, different.get(place, 0) - distinct.offsets.get(place, 0)),
            )
        )  # fmt: skip
    return rows


def make_limits(inputs: Inputs, topic: str, progress: GroupProgress, latest: bool, cut_ns: int | None) -> Limits:
    """The limits of the messages of one partition for one group.

    ``latest``: the group began at the end of the log. A group whose program chose where to begin is treated alike.
    The queue of a group is there before anything is sent, so that the group is owed every message.
    """
    if progress.is_queue:
        return Limits(end_known=progress.left is not None, at_end=progress.is_at_end)
    latest = latest or progress.is_chosen
    deletion = inputs.deletions.get(topic)
    owed_from, owed_since_ns = 0, -FAR
    if latest:
        owed_since_ns = FAR if progress.first is None else progress.first[0]
        unknown_from = FAR if progress.lowest is None else progress.lowest
        owed_from = unknown_from if progress.first is None else progress.first[1]
    return Limits(
        owed_from=owed_from,
        start_known=not latest or progress.first is not None,
        owed_since_ns=owed_since_ns,
        log_start=progress.start or 0,
        log_end=FAR if progress.end is None else progress.end,
        end_known=progress.end is not None,
        position=progress.last[1] if progress.last else -1,
        position_ns=progress.last[0] if progress.last else -FAR,
        at_end=progress.is_at_end,
        cut_ns=FAR if cut_ns is None else cut_ns,
        deleted_from_ns=-FAR if deletion is None or deletion.to_ns is None else deletion.from_ns,
        deleted_to_ns=-FAR if deletion is None else FAR if deletion.to_ns is None else deletion.to_ns,
        compacted=topic in inputs.compacted_topics,
    )


def make_limits_of_unknown_partition(
    inputs: Inputs, topic: str, progresses: list[GroupProgress], latest: bool
) -> Limits:
    """The limits of messages whose partition nobody knows.

    The group has read to the end only if it has done so in every partition.
    """
    if progresses and progresses[0].is_queue:
        return make_limits(inputs, topic, progresses[0], latest, None)
    partitions = next((part.partitions for part in inputs.experiment.topics if part.name == topic), 1)
    everywhere = len(progresses) >= partitions
    firsts = [progress.first for progress in progresses]
    known = everywhere and all(first is not None for first in firsts)
    whole = GroupProgress(
        start=0,
        end=FAR if everywhere and all(progress.end is not None for progress in progresses) else None,
        first=(max(first[0] for first in firsts if first), 0) if known else None,
        last=(-FAR, FAR) if everywhere and all(progress.is_at_end for progress in progresses) else None,
    )
    return make_limits(inputs, topic, whole, latest, None)
