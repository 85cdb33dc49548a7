"""The oracle of traces: messages and their results behind an engine in plain Python, one message at a time."""

from __future__ import annotations

from collections import Counter
from math import inf
from typing import Any

from tests.oracle.engine_model import TracedHistory

Row = dict[str, Any]
GIVEN = ("acked", "unconfirmed")


class TraceOracle:
    """What the record of a history says about its trace; it looks at the tables only."""

    def __init__(self, history: TracedHistory, end_ns: int) -> None:
        self.end_ns = end_ns
        [trace] = history.run.experiment["trace"]
        self.by, self.source, self.target = trace["by"], trace["from"], trace["to"]
        rows = history.run.rows
        self.sent = [row for row in rows["sent"] if row["topic"] == self.source]
        self.received = [row for row in rows["received"] if row["topic"] == self.target]
        self.ends = {row["partition"]: row["end"] for row in rows["offsets"] if row["topic"] == self.target}
        self.groups = [c["group"] for c in history.run.experiment["consumers"] if self.target in c["topics"]]

    def mark(self, row: Row) -> Any:
        """What a message is recognised by. None: it has no such mark."""
        return (row["producer"], row["seq"]) if self.by == "header" else row[f"{self.by}_hash"]

    def results(self, mark: Any) -> list[int]:
        """When each result with this mark was first received, in order of time."""
        first: dict[tuple[int, int], int] = {}
        for row in self.received:
            if self.mark(row) == mark:
                place = (row["partition"], row["offset"])
                first[place] = min(row["at_ns"], first.get(place, row["at_ns"]))
        return sorted(first.values())

    def counts(self) -> Counter[str]:
        """Messages without a result and further results: what is certain, and what may be besides."""
        found: Counter[str] = Counter()
        for mark in {self.mark(row) for row in self.sent}:
            rows = [row for row in self.sent if self.mark(row) == mark]
            given = [row for row in rows if row["status"] in GIVEN]
            if mark is None:
                found["untraceable"] += len(given)
                found["unpaired"] += len(rows)
                continue
            acked, loose, results = (
                sum(r["status"] == "acked" for r in rows),
                len(rows) - len(given),
                len(self.results(mark)),
            )
            # Every number of loose messages that Kafka may have; a result proves that it has some message.
            cases = [
                (max(0, len(given) - max(0, results - there)), max(0, results - len(given) - there))
                for there in range(loose + 1)
                if len(given) + there or not results
            ]
            missing, doubled = ({case[which] for case in cases} for which in (0, 1))
            found += Counter(
                missing=min(missing), missing_more=max(missing) - min(missing), doubled=min(doubled),
                doubled_more=max(doubled) - min(doubled),
                unconfirmed_missing=min(missing) - max(0, acked - results),
            )  # fmt: skip
        return +found

    def unread(self) -> float:
        """Messages of the target that no group had read."""
        left = 0.0
        partitions = {row["partition"] for row in self.received} | set(self.ends)
        for partition in partitions:
            behind = []
            for group in self.groups:
                own = [r for r in self.received if (r["partition"], r["group"]) == (partition, group)]
                position = max(own, key=lambda r: r["at_ns"])["offset"] + 1 if own else 0
                behind.append(float(self.ends[partition] - position) if partition in self.ends else inf)
            left += min(behind)
        return left if partitions else inf

    def latencies(self) -> tuple[list[int], list[int], list[int]]:
        """Latencies of messages with a result, those that the same messages had at least, and of the others how long
        they were waited for, or 0 where they may have the result of another one."""
        at_most, at_least, waited = [], [], []
        for mark in {self.mark(row) for row in self.sent} - {None}:
            rows = [row for row in self.sent if self.mark(row) == mark]
            rows.sort(key=lambda row: (row["sent_ns"], row["due_ns"], row["producer"], row["seq"]))
            results = self.results(mark)
            if self.by == "header":
                results = results[:1]
            free = list(results)
            for number, row in enumerate(rows):
                loose = sum(other["status"] not in GIVEN for other in rows[:number])
                shifted = results[number - loose] if number - loose < len(results) else None
                own = next((at for at in free if at >= row["sent_ns"]), None)
                early = own if not loose else None if shifted is None else max(shifted, row["sent_ns"])
                if own is None:
                    waited.append(max(0, self.end_ns - row["due_ns"]) if early is None else 0)
                    continue
                free = free[free.index(own) + 1 :]
                at_most.append(own - row["due_ns"])
                at_least.append(own - row["due_ns"] if self.by == "header" else (early or own) - row["due_ns"])
        return at_most, at_least, waited


def untruths(history: TracedHistory) -> list[str]:
    """Counts of the oracle that no truth about the results allows, one mark at a time.

    A further result hides a missing one of the same mark, and the other way round: nothing in the record tells them
    apart. So the bounds hold for the difference, and each of them beyond what the other one hides.
    """
    found = []
    oracle = TraceOracle(history, 0)
    read = {(row["partition"], row["offset"]) for row in oracle.received}
    causes = Counter(
        result.cause
        for partition, results in enumerate(history.results)
        for offset, result in enumerate(results)
        if (partition, offset) in read
    )
    for mark in {oracle.mark(row) for row in oracle.sent} - {None}:
        rows = [row for row in oracle.sent if oracle.mark(row) == mark]
        part = TraceOracle(history, 0)
        part.sent = rows
        said = part.counts()
        missing = sum(row["status"] in GIVEN and not causes[row["producer"], row["seq"]] for row in rows)
        doubled = sum(max(0, causes[row["producer"], row["seq"]] - 1) for row in rows)
        if not said["missing"] <= missing <= said["missing"] + said["missing_more"] + doubled:
            found.append(f"{history.name} {mark}: {missing} missing, {dict(said)}, {doubled} doubled")
        if not said["doubled"] <= doubled <= said["doubled"] + said["doubled_more"] + missing:
            found.append(f"{history.name} {mark}: {doubled} doubled, {dict(said)}, {missing} missing")
    return found
