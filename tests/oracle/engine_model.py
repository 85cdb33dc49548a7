"""Histories with an engine: it reads a topic of the model and writes results to a topic that recorded groups read.

The engine may leave messages out, write results twice, go back after a restart or skip what it has not read. Its
results carry the header, the key or the value of their messages, as the trace of the history says; keys and values
repeat. ``Result.cause`` is the truth that no record tells.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from tests.oracle.kafka_model import MS, History
from tests.oracle.kafka_parts import Entry, Place

FLAWS = ("leaves-out", "doubles", "restarts", "skips", "slow-reader", "end-unknown")
KINDS = ("header", "key", "value")


@dataclass(frozen=True)
class Result:
    """A message that the engine wrote, and the producer and number of the message that caused it."""

    cause: tuple[str, int]
    key: int | None
    value: int


class TracedHistory(History):
    """A random history with an engine behind its first topic. The engine draws numbers of its own."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.chance = random.Random(f"engine {number}")
        self.by = KINDS[number % len(KINDS)]
        self.flaws = {flaw for flaw in FLAWS if self.chance.random() < 0.3}
        self.source, self.target = self.topics[0], f"{self.name}-out"
        self.values = self.chance.choice((1, 3, 1 << 40))  # how many different values messages have
        self.has_keys = self.chance.random() < 0.8
        for producer in self.producers:
            producer.keys = self.chance.choice((1, 2, 5)) if self.has_keys else 0
        self.results: list[list[Result]] = [[] for _ in range(self.chance.choice((1, 2)))]
        self.work: dict[Place, int] = {place: 0 for place in self.logs if place[0] == self.source}
        self.saved = dict(self.work)
        # The positions of the groups behind the engine.
        self.readers = {
            f"{self.name}-e{number}": [0] * len(self.results) for number in range(self.chance.choice((1, 2)))
        }
        self.run.experiment["topics"].append({"name": self.target, "partitions": len(self.results)})
        self.run.experiment["consumers"] += [
            {"name": f"{group}-end", "on": "h2", "topics": [self.target], "group": group} for group in self.readers
        ]
        self.run.experiment["trace"] = [{"from": self.source, "to": self.target, "by": self.by}]

    def value_of(self, seq: int) -> int:
        return seq % self.values

    def play(self) -> TracedHistory:
        super().play()
        for row in self.run.rows["sent"]:
            row["value_hash"] = self.value_of(row["seq"])
        for _ in range(3):
            self._work_on()
        self.now += 30
        if "slow-reader" not in self.flaws:
            for group in self.readers:
                self._read_results(group, most=10_000)
        for partition, results in enumerate(self.results):
            if "end-unknown" not in self.flaws or partition:
                self.run.offsets(self.target, partition, 0, len(results))
        return self

    def _replicate(self) -> None:
        """The engine takes its turn whenever followers may have caught up."""
        super()._replicate()
        self._work_on()

    def _work_on(self) -> None:
        chance = self.chance
        if "restarts" in self.flaws and chance.random() < 0.1:
            self.work = dict(self.saved)
        for place in self.work:
            log = self.logs[place]
            at, end = self.work[place], log.readable(committed_only=True)
            if at > len(log.entries) or at < log.start:
                at = log.start
            if "skips" in self.flaws and chance.random() < 0.05:
                at = max(at, end)
            while at < end and chance.random() < 0.9:
                entry = log.entries[at]
                if entry is not None and entry.visible(True) and entry.producer is not None:
                    self._write(entry)
                at += 1
            self.work[place] = at
            if chance.random() < 0.5:
                self.saved[place] = at
        for group in self.readers:
            if chance.random() < (0.1 if "slow-reader" in self.flaws else 0.6):
                self._read_results(group, most=chance.randrange(1, 20))

    def _write(self, entry: Entry) -> None:
        assert entry.producer is not None
        assert entry.seq is not None
        if "leaves-out" in self.flaws and self.chance.random() < 0.1:
            return
        result = Result((entry.producer, entry.seq), entry.key, self.value_of(entry.seq))
        for _ in range(2 if "doubles" in self.flaws and self.chance.random() < 0.1 else 1):
            self.chance.choice(self.results).append(result)

    def _read_results(self, group: str, most: int) -> None:
        positions = self.readers[group]
        for partition, results in enumerate(self.results):
            again = self.chance.random() < 0.05  # one result is received twice
            for offset in range(max(0, positions[partition] - again), min(len(results), positions[partition] + most)):
                producer, seq = results[offset].cause if self.by == "header" else (None, None)
                self.run.rows["received"].append(
                    {"consumer": f"{group}-end", "instance": 1, "group": group, "topic": self.target,
                     "partition": partition, "offset": offset, "producer": producer, "seq": seq,
                     "key_hash": results[offset].key, "value_hash": results[offset].value, "size": 10, "broker_ms": 0,
                     "at_ns": self.now * MS + len(self.run.rows["received"])}
                )  # fmt: skip
                positions[partition] = max(positions[partition], offset + 1)
