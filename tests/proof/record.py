"""What the tables and events of a run say, counted here from scratch: nothing of the analysis is used.

The analysis is held against these numbers, and these against Kafka's own offsets.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

Row = dict[str, Any]
SETTLED_S = 1.0  # from here on a load runs as it will
AFTER_S = 3.0  # what happens so soon after a fault is its doing


@dataclass(frozen=True)
class Span:
    """When faults were in force, in seconds of load."""

    from_s: float
    to_s: float

    def holds(self, at_s: float) -> bool:
        return self.from_s <= at_s <= self.to_s + AFTER_S


class Record:
    """A run folder, read."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @cached_property
    def events(self) -> list[Row]:
        t0 = int(json.loads((self.path / "run.json").read_text("utf-8"))["t0_ns"])
        rows = [json.loads(line) for line in (self.path / "events.jsonl").read_text("utf-8").splitlines()]
        return [row | {"t_s": (row["at_ns"] - t0) / 1e9} for row in rows if "at_ns" in row]

    @cached_property
    def sent(self) -> list[Row]:
        return self._rows("sent")

    @cached_property
    def received(self) -> list[Row]:
        return self._rows("received")

    @cached_property
    def offsets(self) -> list[Row]:
        return self._rows("offsets")

    def _rows(self, table: str) -> list[Row]:
        rows: list[Row] = pq.read_table(self.path / "data" / f"{table}.parquet").to_pylist()
        return rows

    def told(self, kind: str) -> list[Row]:
        return [event for event in self.events if event["event"] == kind]

    # ---- messages

    def sent_as(self, status: str, producer: str) -> set[int]:
        """The numbers of a producer's messages with this status."""
        return {r["seq"] for r in self.sent if r["producer"] == producer and r["status"] == status}

    def acked(self, producer: str) -> set[int]:
        return self.sent_as("acked", producer)

    def got(self, topic: str, group: str) -> list[int]:
        """The numbers of the messages that a group was given, as often as it was."""
        return [r["seq"] for r in self.received if r["topic"] == topic and r["group"] == group]

    def places(self, topic: str, group: str) -> set[tuple[int, int]]:
        """Which places of the log a group has read."""
        mine = (r for r in self.received if r["topic"] == topic and r["group"] == group)
        return {(r["partition"], r["offset"]) for r in mine}

    def lost(self, producer: str, topic: str, group: str) -> set[int]:
        """Acknowledged and never seen by the group."""
        return self.acked(producer) - set(self.got(topic, group))

    def twice_in_log(self, topic: str, group: str) -> int:
        """Copies of messages that stand in the log more than once."""
        mine = [r for r in self.received if r["topic"] == topic and r["group"] == group]
        different = {(r["partition"], r["offset"]): (r["producer"], r["seq"]) for r in mine}
        return len(different) - len(set(different.values()))

    def read_again(self, topic: str, group: str) -> int:
        """Receipts of a place that had been read before."""
        mine = Counter(
            (r["partition"], r["offset"]) for r in self.received if r["topic"] == topic and r["group"] == group
        )
        return sum(mine.values()) - len(mine)

    def in_log(self, topic: str) -> int:
        """Kafka's own word: how many places its log has."""
        return sum(row["end"] - row["start"] for row in self.offsets if row["topic"] == topic)

    def replaced(self, producer: str, topic: str, group: str) -> set[int]:
        """Acknowledged at a place that the log does not have any more, or that holds another message now."""
        ends = {row["partition"]: row["end"] for row in self.offsets if row["topic"] == topic}
        last = {
            (r["partition"], r["offset"]): r["seq"]
            for r in sorted(self.received, key=lambda r: r["at_ns"])
            if r["topic"] == topic and r["group"] == group
        }
        mine = [r for r in self.sent if r["producer"] == producer and r["status"] == "acked"]
        return {
            r["seq"]
            for r in mine
            if r["offset"] >= ends[r["partition"]] or last.get((r["partition"], r["offset"]), r["seq"]) != r["seq"]
        }

    # ---- time

    @cached_property
    def load_s(self) -> float:
        ends = [e["t_s"] for e in self.told("phase") if e["phase"] != "load" and e["t_s"] > 0]
        return float(min(ends))

    @cached_property
    def faults(self) -> Span:
        """From the first deed to the last undoing."""
        begun = [float(e["t_s"]) for e in self.told("fault-applied")]
        ended = [float(e["t_s"]) for e in self.told("fault-healed")]
        lasting = len(ended) < len(begun)
        return Span(min(begun), self.load_s if lasting else min(max(ended), self.load_s))

    def during(self, kind: str) -> list[Row]:
        """Events of the time of the faults."""
        return [event for event in self.told(kind) if self.faults.holds(event["t_s"])]

    def since(self, kind: str) -> list[Row]:
        """Events after the first fault, however late: what was killed takes its time to come back."""
        return [event for event in self.told(kind) if event["t_s"] >= self.faults.from_s]

    def ack_waits(self, from_s: float, to_s: float) -> list[float]:
        """Seconds from due to acknowledged of the messages that were due in this time, sorted."""
        rows = (r for r in self.sent if r["status"] == "acked" and from_s <= r["due_ns"] / 1e9 < to_s)
        return sorted((r["done_ns"] - r["due_ns"]) / 1e9 for r in rows)

    def silence(self, times_ns: Iterable[int]) -> float:
        """The longest time between two of these moments, while load went on after the first fault."""
        inside = sorted(at / 1e9 for at in times_ns if self.faults.from_s - 1 <= at / 1e9 <= self.load_s)
        return max((b - a for a, b in pairwise(inside)), default=0.0)

    def no_acknowledgements(self) -> float:
        return self.silence(r["done_ns"] for r in self.sent if r["status"] == "acked")

    def no_deliveries(self, group: str) -> float:
        return self.silence(r["at_ns"] for r in self.received if r["group"] == group)


def p99(values: list[float]) -> float:
    """Of sorted values; 0 for none."""
    return values[int(0.99 * (len(values) - 1))] if values else 0.0
