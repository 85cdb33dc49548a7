"""A preview of what becomes of messages while a run goes on: counts, latencies, and what seems lost or duplicated.

All messages are counted. Only some are followed from sender to receiver when there are many: those whose number is a
multiple of ``stride``, so that both sides choose the same ones. A message is followed by its ``s2g`` header. The
verdict comes from the audit of the whole record, never from here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from stream2gym.web.record_tail import Increment
from stream2gym.web.time_buckets import Key, TimeBuckets

# Messages that are followed at one time, and in one look.
MOST_FOLLOWED = 50_000
FOLLOWED_A_LOOK = 2000
# Bytes that remember which messages a group has received already.
MOST_SEEN_BYTES = 64 << 20
_NUMBER_BITS = 34

SOURCE = "messages"
SENT: Key = (SOURCE, "all", "sent")
ACKNOWLEDGED: Key = (SOURCE, "all", "acknowledged")
FAILED: Key = (SOURCE, "all", "failed")
RECEIVED: Key = (SOURCE, "all", "received")
LOST: Key = (SOURCE, "all", "lost")
DUPLICATED: Key = (SOURCE, "all", "duplicated")
IN_FLIGHT: Key = (SOURCE, "all", "in flight")


@dataclass
class FollowedMessage:
    """A message on its way. ``place`` is known once it is acknowledged."""

    topic: str
    due_ns: int
    place: tuple[str, int, int] | None = None
    is_reported: bool = False
    received_by: set[str] = field(default_factory=set)
    # Groups that have read past it. At the second look in a row it counts as lost.
    passed_by: set[str] = field(default_factory=set)
    lost_to: set[str] = field(default_factory=set)


class MessagePreview:
    """Takes increments of the record and notes what they say in buckets."""

    def __init__(self, buckets: TimeBuckets, groups: Mapping[str, Iterable[str]]) -> None:
        """``groups`` are the groups that are known to read each topic; others are added when they are seen."""
        self._buckets = buckets
        self._groups = {topic: set(names) for topic, names in groups.items()}
        self._on_way: dict[tuple[str, int], FollowedMessage] = {}
        # The first and the last offset that a group has received in a partition.
        self._firsts: dict[tuple[str, str, int], int] = {}
        self._positions: dict[tuple[str, str, int], int] = {}
        self._seen: dict[tuple[str, str, int], bytearray] = {}
        self._seen_bytes = 0
        # One of so many messages is followed.
        self.stride = 1

    @property
    def followed(self) -> int:
        """How many messages are followed now."""
        return len(self._on_way)

    def take(self, found: Increment, now_ns: int) -> None:
        """Note an increment that was read at ``now_ns``."""
        self._widen_stride(sum(batch.num_rows for batch in (*found.sent, *found.received)))
        for batch in found.sent_unmarked:
            self._count_sent(batch)
        for batch in found.sent:
            self._take_sent(batch)
        for batch in found.reported:
            self._take_reported(batch)
        for batch in found.received:
            self._take_received(batch)
        self._find_losses(now_ns)
        acknowledged = sum(1 for message in self._on_way.values() if message.place and not message.lost_to)
        self._buckets.set(IN_FLIGHT, now_ns, acknowledged * self.stride)

    def take_whole_record(self, found: Increment) -> None:
        """Note a whole record at once, in the order of time and as often as while a run goes on."""
        step_ns = self._buckets.width_ns
        ordered = {
            "sent": _in_order(found.sent, "sent_ns"),
            "reported": _in_order(found.reported, "done_ns"),
            "received": _in_order(found.received, "at_ns"),
        }
        times = [(rows, column) for rows, column in ordered.values() if len(column)]
        if not times:
            return
        begin_ns = min(column[0].as_py() for _, column in times)
        end_ns = max(column[-1].as_py() for _, column in times)
        step_ns = max(step_ns, (end_ns - begin_ns) // 2000 + 1)
        at = dict.fromkeys(ordered, 0)
        for now_ns in range(begin_ns + step_ns, end_ns + 2 * step_ns, step_ns):
            part = Increment()
            for name, (rows, column) in ordered.items():
                first = at[name]
                last = _first_after(column, now_ns, first)
                at[name] = last
                if last > first:
                    setattr(part, name, rows.slice(first, last - first).combine_chunks().to_batches())
            self.take(part, now_ns)

    def _widen_stride(self, rows: int) -> None:
        wanted = self.stride
        while rows // wanted > FOLLOWED_A_LOOK or len(self._on_way) * self.stride // wanted > MOST_FOLLOWED:
            wanted *= 2
        if wanted != self.stride:
            self.stride = wanted
            self._on_way = {key: one for key, one in self._on_way.items() if key[1] & (wanted - 1) == 0}

    def _take_sent(self, batch: pa.RecordBatch) -> None:
        batch = self._count_sent(batch)
        for row in self._followed(batch, "producer", "seq", "topic", "due_ns"):
            if row["topic"] in self._groups:
                self._on_way[row["producer"], row["seq"]] = FollowedMessage(row["topic"], row["due_ns"])
        for key in list(islice(self._on_way, max(0, len(self._on_way) - MOST_FOLLOWED))):
            del self._on_way[key]

    def _count_sent(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Count the messages that were handed to their client. Returns them."""
        sent = batch.filter(pc.is_valid(batch.column("sent_ns")))
        self._count(SENT, sent, sent.column("sent_ns"))
        return sent

    def _take_reported(self, batch: pa.RecordBatch) -> None:
        status = batch.column("status").cast(pa.string())
        is_failed = pc.equal(status, "failed")
        done_ns = pc.coalesce(batch.column("done_ns"), batch.column("sent_ns"), batch.column("due_ns"))
        for key, chosen in ((ACKNOWLEDGED, pc.equal(status, "acked")), (FAILED, is_failed)):
            self._count(key, batch.filter(chosen), done_ns.filter(chosen))
        for row in self._followed(batch, "producer", "seq", "status", "topic", "partition", "offset"):
            message = self._on_way.get((row["producer"], row["seq"]))
            if message is None:
                continue
            if row["status"] == "failed":
                del self._on_way[row["producer"], row["seq"]]
                continue
            message.is_reported = True
            if row["partition"] is not None and row["offset"] is not None:
                message.place = (row["topic"], row["partition"], row["offset"])
            self._end_if_received((row["producer"], row["seq"]), message)

    def _take_received(self, batch: pa.RecordBatch) -> None:
        self._count(RECEIVED, batch, batch.column("at_ns"))
        self._note_positions(batch)
        columns = ("group", "topic", "producer", "seq", "at_ns")
        for row in self._followed(batch.filter(pc.is_valid(batch.column("seq"))), *columns):
            group, key = row["group"], (row["producer"], row["seq"])
            if self._was_seen(group, key):
                self._buckets.add(DUPLICATED, row["at_ns"], self.stride)
                continue
            message = self._on_way.get(key)
            if message is None or message.topic != row["topic"]:
                continue
            self._buckets.add_latency(row["at_ns"], (row["at_ns"] - message.due_ns) / 1e9)
            if group in message.lost_to:
                message.lost_to.discard(group)
                self._buckets.add(LOST, row["at_ns"], -self.stride)
            message.received_by.add(group)
            self._end_if_received(key, message)

    def _end_if_received(self, key: tuple[str, int], message: FollowedMessage) -> None:
        """Follow a message no longer once it is acknowledged, or will never be, and every group has it."""
        if message.is_reported and self._groups.get(message.topic, set()) <= message.received_by:
            self._on_way.pop(key, None)

    def _note_positions(self, batch: pa.RecordBatch) -> None:
        names = ("group", "topic", "partition")
        table = pa.table({name: batch.column(name) for name in (*names, "offset")})
        for name in ("group", "topic"):
            table = table.set_column(table.schema.get_field_index(name), name, table.column(name).cast(pa.string()))
        for row in table.group_by(list(names)).aggregate([("offset", "min"), ("offset", "max")]).to_pylist():
            place = (row["group"], row["topic"], row["partition"])
            self._groups.setdefault(row["topic"], set()).add(row["group"])
            if row["offset_min"] is None:  # a queue has no offsets
                continue
            self._firsts[place] = min(self._firsts.get(place, row["offset_min"]), row["offset_min"])
            self._positions[place] = max(self._positions.get(place, -1), row["offset_max"])

    def _find_losses(self, now_ns: int) -> None:
        """Count messages as lost that a group read past at two looks in a row.

        At one look alone, the receipt may stand in the journal of another consumer that was read a moment too early.
        """
        for message in self._on_way.values():
            if message.place is None:
                continue
            topic, partition, offset = message.place
            for group in self._groups.get(topic, set()) - message.received_by - message.lost_to:
                # A group may have begun behind the message: then nobody owes it.
                where = (group, topic, partition)
                if not self._firsts.get(where, offset) < offset < self._positions.get(where, -1):
                    continue
                if group in message.passed_by:
                    message.lost_to.add(group)
                    self._buckets.add(LOST, now_ns, self.stride)
                else:
                    message.passed_by.add(group)

    def _was_seen(self, group: str, key: tuple[str, int]) -> bool:
        """Whether the group has received the message before; it has from now on."""
        number = key[1] & ((1 << _NUMBER_BITS) - 1)
        place = (group, key[0], key[1] >> _NUMBER_BITS)
        seen = self._seen.setdefault(place, bytearray())
        byte, bit = number >> 3, 1 << (number & 7)
        if byte >= len(seen):
            more = byte + 1024 - len(seen)
            if self._seen_bytes + more > MOST_SEEN_BYTES:
                return False
            self._seen_bytes += more
            seen.extend(bytes(more))
        if seen[byte] & bit:
            return True
        seen[byte] |= bit
        return False

    def _followed(self, batch: pa.RecordBatch, *names: str) -> list[dict[str, Any]]:
        """The named columns of the rows whose messages are followed."""
        if self.stride > 1:
            low_bits = pc.bit_wise_and(batch.column("seq"), pa.scalar(self.stride - 1, pa.int64()))
            batch = batch.filter(pc.equal(low_bits, 0))
        return list(batch.select(list(names)).to_pylist())

    def _count(self, key: Key, batch: pa.RecordBatch, times: pa.Array) -> None:
        """Add the number of these messages to the buckets of their times, for all topics and for each."""
        if not len(times):
            return
        self._buckets.add(key, pc.max(times).as_py(), 0)  # makes room for all of them
        buckets = pc.divide(pc.subtract(times, self._buckets.origin_ns), self._buckets.width_ns)
        rows = pa.table({"topic": batch.column("topic").cast(pa.string()), "bucket": buckets})
        for row in rows.group_by(["topic", "bucket"]).aggregate([([], "count_all")]).to_pylist():
            at_ns = self._buckets.start_ns(row["bucket"])
            self._buckets.add(key, at_ns, row["count_all"])
            self._buckets.add(of_topic(key, row["topic"]), at_ns, row["count_all"])


def of_topic(key: Key, topic: str | None) -> Key:
    """The series of one topic that belongs to one of all topics."""
    return (key[0], f"topic {topic}", key[2])


def _in_order(batches: list[pa.RecordBatch], column: str) -> tuple[pa.Table, pa.ChunkedArray]:
    """The rows with a time, in the order of time, and their times."""
    if not batches:
        return pa.table({}), pa.chunked_array([], pa.int64())
    table = pa.Table.from_batches(batches)
    table = table.filter(pc.is_valid(table.column(column))).sort_by(column).combine_chunks()
    return table, table.column(column)


def _first_after(times: pa.ChunkedArray, at_ns: int, begin: int) -> int:
    """The number of the first row after a moment."""
    low, high = begin, len(times)
    while low < high:
        middle = (low + high) // 2
        if times[middle].as_py() <= at_ns:
            low = middle + 1
        else:
            high = middle
    return low
