"""The oracle: the delivery audit in plain Python, from the definitions in docs/metrics.md, one message at a time.

It reads the same record as the audit in Spark (tables, samples and events of a run that was made up) and shares no
code with it. It is slow on purpose: every question is asked of every row.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

from stream2gym.analysis.fake_run import T0_NS, FakeRun

Way = tuple[str, int, str, str]  # topic, partition, producer, group
Row = dict[str, Any]
LANE = 1 << 34


class Oracle:
    """The audit of one run, for groups that were all observed."""

    def __init__(self, run: FakeRun) -> None:
        self.sent: list[Row] = run.rows["sent"]
        self.received: list[Row] = run.rows["received"]
        self.samples: list[Row] = sorted(run.rows["samples"], key=lambda row: row["at_ns"])
        self.events = [event | {"t": event["at_ns"] - T0_NS} for event in run.events]
        self.offsets = {(o["topic"], o["partition"]): (o["start"], o["end"]) for o in run.rows["offsets"]}
        self.partitions = {topic["name"]: topic["partitions"] for topic in run.experiment["topics"]}
        self.compacts = {t["name"] for t in run.experiment["topics"] if "compact" in str(t.get("config", ""))}
        self.group_of = {c["name"]: c["group"] for c in run.experiment["consumers"]}
        self.latest = {c["group"] for c in run.experiment["consumers"] if c["from"] == "latest"}
        self.reads = {(c["group"], topic) for c in run.experiment["consumers"] for topic in c["topics"]}
        self.found: dict[tuple[str, str, int], int] = {}  # message: the partition in which somebody found it
        for row in self.received:
            if row["seq"] is not None:
                message = (row["topic"], row["producer"], row["seq"])
                self.found[message] = min(row["partition"], self.found.get(message, row["partition"]))

    def fates(self) -> dict[tuple[str, str, str, int], str]:
        """What became of every message on the way to every group, by group, topic, producer and number."""
        had = {(row["group"], row["topic"], row["producer"], row["seq"]) for row in self.received}
        fates = {}
        for row in self.sent:
            for group, topic in self.reads:
                if topic == row["topic"]:
                    way = (group, topic, row["producer"], row["seq"])
                    fates[way] = "received" if way in had else self.fate(row, group)
        return fates

    def place(self, row: Row) -> int:
        """Where a message stands: as its producer was told, else where somebody found it."""
        if row["partition"] is not None:
            return int(row["partition"])
        return self.found.get((row["topic"], row["producer"], row["seq"]), -1)

    def fate(self, row: Row, group: str) -> str:
        """The fate of a message that the group did not receive."""
        if row["status"] in ("failed", "queued"):
            return str(row["status"])
        topic, partition, offset = row["topic"], self.place(row), row["offset"]
        begun, ended = self.deletion(topic)
        if row["done_ns"] <= begun:
            return "deleted"
        if row["sent_ns"] < ended:
            return "unknown"
        start, end = self.offsets.get((topic, partition), (None, None))
        if group in self.latest:
            first, first_ns, lowest = self.start(topic, partition, group)
            if offset is None:
                if first_ns is None or row["sent_ns"] < first_ns:
                    return "unknown"
            elif first is not None:
                if offset < first:
                    return "before"
            elif lowest is None or offset < lowest:
                return "unknown"
        if topic in self.compacts and offset is None:
            return "unknown"
        if offset is not None and end is not None and offset >= end:
            return "lost" if row["done_ns"] <= self.cut_ns(topic, partition) else "in flight"
        expired = start is not None and (offset < start if offset is not None else start >= end)
        if topic in self.compacts and (expired or self.passed(row, partition, group)):
            superseded = self.superseded(row, partition)
            if superseded != "no":
                return "compacted" if superseded == "yes" else "unknown"
        if expired:
            return "expired"
        if self.passed(row, partition, group):
            return "lost"
        places = [partition] if partition >= 0 else range(self.partitions[topic])
        return "in flight" if all((topic, number) in self.offsets for number in places) else "unknown"

    def deletion(self, topic: str) -> tuple[float, float]:
        """When a fault began to delete the topic, and when it was done, the last time."""
        times: tuple[float, float] = (-float("inf"), -float("inf"))
        for event in self.events:
            if event.get("do") == "delete-topic" and topic in event["on"]:
                times = (event["t"], float("inf")) if event["event"] == "fault-applied" else (times[0], event["t"])
        return times if times[1] < float("inf") else (-float("inf"), times[1])

    def start(self, topic: str, partition: int, group: str) -> tuple[int | None, int | None, int | None]:
        """Where a group began, when that was recorded, and the lowest offset that it read."""
        if partition < 0:
            starts = [self.start(topic, number, group)[1] for number in range(self.partitions[topic])]
            known = [at for at in starts if at is not None]
            return None, max(known) if len(known) == len(starts) else None, None
        renewed = self.deletion(topic)[1]
        firsts = [
            (event["t"], offset)
            for event in self.events
            if event["event"] == "assigned" and event["group"] == group
            for where, number, offset in event["partitions"]
            if (where, number) == (topic, partition)
        ]
        read = [r["offset"] for r in self.evidence_rows(topic, partition, group)]
        at, first = min(firsts, default=(0, -1), key=lambda one: one[0])
        if first < 0 or renewed > -float("inf"):
            return None, None, min(read, default=None)
        return first, at, None

    def evidence_rows(self, topic: str, partition: int, group: str) -> list[Row]:
        """Receipts in the log as it is now: after a deletion, those of messages that were sent after it."""
        renewed = self.deletion(topic)[1]
        rows = [r for r in self.received if (r["topic"], r["partition"], r["group"]) == (topic, partition, group)]
        if renewed == -float("inf"):
            return rows
        new = {(s["producer"], s["seq"]) for s in self.sent if s["topic"] == topic and s["sent_ns"] >= renewed}
        return [r for r in rows if (r["producer"], r["seq"]) in new]

    def last_position(self, topic: str, partition: int, group: str) -> tuple[int, int]:
        """When the group's position was last seen to change, and to what: by a receipt, or by a consumer's word."""
        seen = [(r["at_ns"], r["offset"] + 1) for r in self.evidence_rows(topic, partition, group)]
        told: dict[str, float] = {}
        for sample in self.samples:
            if sample["metric"] == f"position {topic}/{partition}" and self.group_of[sample["object"]] == group:
                if told.get(sample["object"]) != sample["value"] and self.deletion(topic)[1] == -float("inf"):
                    seen.append((sample["at_ns"], int(sample["value"])))
                told[sample["object"]] = sample["value"]
        return max(seen, default=(-(1 << 62), -1))

    def passed(self, row: Row, partition: int, group: str) -> bool:
        """Whether the group stands at the end of the log, or was behind the message after its acknowledgement."""
        topic, offset = row["topic"], row["offset"]
        places = [(topic, n) for n in ([partition] if partition >= 0 else range(self.partitions[topic]))]
        if all(p in self.offsets and self.last_position(*p, group)[1] >= self.offsets[p][1] for p in places):
            return True
        at, position = self.last_position(topic, partition, group)
        return offset is not None and at >= row["done_ns"] and position > offset

    def superseded(self, row: Row, partition: int) -> str:
        """Whether a later message of its key came into the partition; perhaps: one that may stand anywhere."""
        same = [
            other
            for other in (*self.sent, *self.received)
            if (other["topic"], other["key_hash"]) == (row["topic"], row["key_hash"]) and row["key_hash"] is not None
        ]
        told = [other["offset"] for other in same if other["partition"] == partition and other["offset"] is not None]
        if any(offset > row["offset"] for offset in told):
            return "yes"
        return "perhaps" if any(other["offset"] is None for other in same) else "no"

    def cut_ns(self, topic: str, partition: int) -> float:
        """Up to when what was acknowledged behind the end was cut off.

        That is the last change of the leader, or the sending of a message that stands before the end; for ever when
        nobody watched the leaders.
        """
        end, times = self.offsets[topic, partition][1], []
        for sample in self.samples:
            if (sample["object"], sample["metric"]) == (f"{topic}/{partition}", "leader"):
                times.append(sample["at_ns"])
        if not times:
            return float("inf")
        for row in self.sent:
            here = (row["topic"], row["partition"], row["status"]) == (topic, partition, "acked")
            if here and row["offset"] is not None and row["offset"] < end:
                times.append(row["sent_ns"])
        return float(max(times))

    def counts(self) -> dict[Way, Counter[str]]:
        """The counts of the audit, way by way; zeros are left out."""
        found: dict[Way, Counter[str]] = defaultdict(Counter)
        statuses = {(row["topic"], row["producer"], row["seq"]): row for row in self.sent}
        for (group, topic, producer, seq), fate in self.fates().items():
            row = statuses[topic, producer, seq]
            counts = found[topic, self.place(row), producer, group]
            for name in _counted(row["status"], fate):
                counts[name] += 1
        for way, receipts in self.receipts().items():
            places = {(r["seq"], r["offset"]) for r in receipts}
            different = len({r["seq"] for r in receipts})
            found[way] += Counter(
                copies=len(receipts), duplicated_in_log=len(places) - different,
                redelivered=len(receipts) - len(places), out_of_order=_disorder(receipts),
            )  # fmt: skip
        return {way: +count for way, count in found.items() if +count}

    def receipts(self) -> dict[Way, list[Row]]:
        """Receipts of messages that a recorded producer sent to the topic."""
        known = {(row["topic"], row["producer"]) for row in self.sent}
        ways: dict[Way, list[Row]] = defaultdict(list)
        for r in self.received:
            if (r["topic"], r["producer"]) in known:
                ways[r["topic"], r["partition"], r["producer"], r["group"]].append(r)
        return ways

    def gaps(self) -> dict[tuple[str, int, str], int]:
        """Offsets that a group left out between the lowest and the highest that it read."""
        read: dict[tuple[str, int, str], set[int]] = defaultdict(set)
        for r in self.received:
            read[r["topic"], r["partition"], r["group"]].add(r["offset"])
        return {place: max(all_) - min(all_) + 1 - len(all_) for place, all_ in read.items()}


def _counted(status: str, fate: str) -> tuple[str, ...]:
    if fate == "received":
        return (
            ("received", "expected")
            if status == "acked"
            else ("received",) + (("unacknowledged_received",) if status in ("failed", "queued") else ())
        )
    if status == "unconfirmed":
        open_ = ("unconfirmed_in_flight",)
        return {"lost": ("unconfirmed_lost",), "expired": ("unconfirmed_lost",), "in flight": open_, "unknown": open_,
                "before": ()}.get(fate, (fate,))  # fmt: skip
    return {
        "lost": ("expected", "lost"), "expired": ("expected", "lost", "expired"),
        "in flight": ("expected", "in_flight"), "queued": ("unanswered_in_flight",), "failed": (), "before": (),
    }.get(fate, (fate,))  # fmt: skip


def _disorder(receipts: list[Row]) -> int:
    """First receipts that came after that of a later message of the same start of the producer."""
    first: dict[int, tuple[int, int]] = {}
    for r in receipts:
        first[r["seq"]] = min((r["at_ns"], r["offset"]), first.get(r["seq"], (r["at_ns"], r["offset"])))
    return sum(
        any(first[later] < first[seq] for later in first if later > seq and later // LANE == seq // LANE)
        for seq in first
    )
