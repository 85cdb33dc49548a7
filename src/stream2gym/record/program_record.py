"""What observed programs have done so far, read from their journals while they write, and their notes.

Reading again from the first message without an outcome, and from the last receipt, costs the same however long the
program has run.
"""

from __future__ import annotations

import json
import re
import struct
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stream2gym.errors import Defect
from stream2gym.record.journal import ACKED, DELIVERED, FAILED, HEADER_BYTES, QUEUED, SUFFIX, UNCONFIRMED, Reader

REFRESH_S = 0.25
NOTES = "program.*.jsonl"

TopicPartition = tuple[str, int]
TimedOffset = tuple[int, int]  # at_ns, offset
READ_UNCOMMITTED = "read_uncommitted"


@dataclass
class GroupReading:
    """How far a program has read in one group."""

    # The topics that it reads or wants to read.
    topics: set[str] = field(default_factory=set)
    # The next offset of every partition whose position is known, and since when it is that.
    positions: dict[TopicPartition, TimedOffset] = field(default_factory=dict)
    # Whether it sees messages of transactions that were aborted or are open.
    isolation: str = ""

    def join(self, other: GroupReading) -> None:
        """Take in what another process of the group told."""
        self.topics |= other.topics
        if other.isolation and self.isolation != READ_UNCOMMITTED:
            self.isolation = other.isolation
        for place, timed in other.positions.items():
            self.take(place, timed)

    def take(self, place: TopicPartition, timed: TimedOffset) -> None:
        """Take a position in unless a later one is known."""
        self.topics.add(place[0])
        if timed[0] >= self.positions.get(place, timed)[0]:
            self.positions[place] = timed


def read_notes(raw: Path) -> Iterator[dict[str, Any]]:
    """Every whole line of the notes of all programs; a torn last line (a full disk) is left out."""
    for path in sorted(raw.glob(NOTES)) if raw.is_dir() else ():
        for line in path.read_bytes().splitlines():
            try:
                note = json.loads(line)
            except ValueError:
                continue
            if isinstance(note, dict) and "event" in note:
                yield note


class _SentCounts:
    """Counts the rows of one journal of sent messages."""

    def __init__(self, reader: Reader) -> None:
        self._path = reader.path
        self._row = reader.layout.row_bytes
        self._mark = reader.layout.head_struct.size - 1
        self._settled = 0
        self._counts = {"sent": 0, "acked": 0, "failed": 0}

    def read(self) -> dict[str, int]:
        """How many messages were sent, acknowledged and failed so far."""
        with self._path.open("rb") as file:
            file.seek(HEADER_BYTES + self._settled * self._row)
            data = file.read()
        marks = data[self._mark :: self._row]
        end = marks.find(0)
        statuses = data[self._row - 1 :: self._row][: len(marks) if end < 0 else end]
        waiting = [at for at in (statuses.find(QUEUED), statuses.find(DELIVERED)) if at >= 0]
        settled = min(waiting, default=len(statuses))
        now = self._plus(statuses)
        self._counts = self._plus(statuses[:settled])
        self._settled += settled
        return now

    def _plus(self, statuses: bytes) -> dict[str, int]:
        return {
            "sent": self._counts["sent"] + len(statuses),
            "acked": self._counts["acked"] + statuses.count(ACKED) + statuses.count(UNCONFIRMED),
            "failed": self._counts["failed"] + statuses.count(FAILED),
        }


class _ReceivedCounts:
    """Follows one journal of received messages."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._path = reader.path
        self._row = reader.layout.row_bytes
        self._columns = [name for name, _ in reader.layout.columns]
        self._unpack = struct.Struct("<" + "".join(letter for _, letter in reader.layout.columns))
        self.group = str(reader.identity.extra.get("group", ""))
        self.rows = 0
        # The next offset behind the last message of each partition, and when that was received.
        self.positions: dict[TopicPartition, TimedOffset] = {}

    def read(self) -> None:
        """Take in what was received since the last time."""
        with self._path.open("rb") as file:
            file.seek(HEADER_BYTES + self.rows * self._row)
            data = file.read()
        data = data[: len(data) // self._row * self._row]
        marks = data[self._row - 1 :: self._row]
        end = marks.find(0)
        data = data[: (len(marks) if end < 0 else end) * self._row]
        names = ("topic", "partition", "offset", "at_ns")
        topic, partition, offset, at_ns = (self._columns.index(name) for name in names)
        last: dict[tuple[int, int], TimedOffset] = {}
        for values in self._unpack.iter_unpack(data):
            last[values[topic], values[partition]] = (values[at_ns], values[offset])
        self.rows += len(data) // self._row
        if last:
            texts = self._reader.strings()
            for (number, place), (received_ns, at) in last.items():
                self.positions[texts[number], place] = (received_ns, at + 1)


class _Notes:
    """Follows the notes of one process: what its consumers want to read, and where they began."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read = 0
        self.groups: dict[str, GroupReading] = {}

    def read(self) -> None:
        """Take in the whole lines that were noted since the last time."""
        with self._path.open("rb") as file:
            file.seek(self._read)
            data = file.read()
        whole = data[: data.rfind(b"\n") + 1]
        self._read += len(whole)
        for line in whole.splitlines():
            self._take(json.loads(line))

    def _take(self, note: dict[str, Any]) -> None:
        kind = note.get("event")
        if "group" not in note or kind not in ("client", "subscribed", "assigned", "began"):
            return
        group = self.groups.setdefault(str(note["group"]), GroupReading())
        if kind == "client" and group.isolation != READ_UNCOMMITTED:
            group.isolation = str(note.get("isolation", READ_UNCOMMITTED))
        elif kind == "subscribed":
            group.topics |= {str(topic) for topic in note.get("topics", ()) if not str(topic).startswith("^")}
        elif kind in ("assigned", "began"):
            for topic, partition, offset in note.get("partitions", ()):
                group.topics.add(str(topic))
                if kind == "began" and offset >= 0:
                    group.take((str(topic), int(partition)), (int(note["at_ns"]), int(offset)))


class ProgramRecord:
    """What one observed program has done so far. Any thread may ask; the journals are read a few times a second."""

    def __init__(self, raw: Path, name: str) -> None:
        self._raw = raw
        self._pattern = re.compile(rf"(sent|received)\.{re.escape(name)}\.\d+\.\d+{re.escape(SUFFIX)}")
        self._notes_pattern = re.compile(rf"program\.{re.escape(name)}\.\d+\.\d+-\d+\.jsonl")
        self._notes: dict[str, _Notes] = {}
        self._sent: dict[str, _SentCounts] = {}
        self._received: dict[str, _ReceivedCounts] = {}
        self._counts = dict.fromkeys(("sent", "acked", "failed", "received"), 0)
        self._next_s = 0.0
        self._lock = threading.Lock()

    def counts(self) -> dict[str, int]:
        """Messages sent, acknowledged, failed and received by all processes of the program."""
        with self._lock:
            self._refresh()
            return dict(self._counts)

    def groups(self) -> dict[str, GroupReading]:
        """How far the program has read, by group: behind what it received last, or where it began."""
        with self._lock:
            self._refresh()
            found: dict[str, GroupReading] = {}
            for notes in self._notes.values():
                for name, told in notes.groups.items():
                    found.setdefault(name, GroupReading()).join(told)
            for journal in self._received.values():
                group = found.setdefault(journal.group, GroupReading())
                for place, timed in journal.positions.items():
                    group.take(place, timed)
            return found

    def _refresh(self) -> None:
        now = time.monotonic()
        if now < self._next_s:
            return
        self._next_s = now + REFRESH_S
        counts = dict.fromkeys(self._counts, 0)
        try:
            for path in self._raw.iterdir():
                match = self._pattern.fullmatch(path.name)
                if match is not None and path.name not in self._sent and path.name not in self._received:
                    self._open(match[1], path)
                elif path.name not in self._notes and self._notes_pattern.fullmatch(path.name):
                    self._notes[path.name] = _Notes(path)
            for notes in self._notes.values():
                notes.read()
            for sent in self._sent.values():
                for key, number in sent.read().items():
                    counts[key] += number
            for received in self._received.values():
                received.read()
                counts["received"] += received.rows
        except (OSError, Defect, ValueError):
            return  # the folder is being sealed, or a file was just made: the last counts stand
        self._counts = counts

    def _open(self, schema: str, path: Path) -> None:
        reader = Reader(path)
        if schema == "sent":
            self._sent[path.name] = _SentCounts(reader)
        else:
            self._received[path.name] = _ReceivedCounts(reader)
