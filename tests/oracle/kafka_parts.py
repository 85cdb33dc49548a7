"""The parts of the model of Kafka: records, logs, producers, consumers and groups. They hold state and do nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from stream2gym.record.messages import first_seq

Place = tuple[str, int]  # topic, partition


@dataclass
class Entry:
    """A record in a log; ``visible`` says for each isolation level whether a consumer is given it."""

    producer: str | None
    seq: int | None
    key: int | None
    state: str = "plain"  # or: open, committed, aborted, marker

    def visible(self, committed_only: bool) -> bool:
        if self.state == "marker":
            return False
        return not (committed_only and self.state == "aborted")


@dataclass
class Log:
    """A partition as its leader has it; ``entries`` has None where compaction took a record."""

    entries: list[Entry | None] = field(default_factory=list)
    start: int = 0
    replicated: int = 0  # the high watermark
    life: int = 1  # 2 after the topic was deleted and made again

    def readable(self, committed_only: bool) -> int:
        """Up to where consumers may read; a committed-only one stops at the first open transaction."""
        if committed_only:
            for offset in range(self.start, self.replicated):
                entry = self.entries[offset]
                if entry is not None and entry.state == "open":
                    return offset
        return self.replicated

    def append(self, entry: Entry) -> int:
        self.entries.append(entry)
        return len(self.entries) - 1


@dataclass
class Producer:
    name: str
    topic: str
    acks: str
    idempotent: bool
    transactional: bool
    keys: int
    starts: int = 1
    numbers: int = 0
    open_rows: list[tuple[dict[str, Any], Entry]] = field(default_factory=list)

    def next_seq(self) -> int:
        self.numbers += 1
        return first_seq(1, self.starts) + self.numbers - 1


@dataclass
class Member:
    """A consumer; ``positions`` is what it would tell of every partition that it ever had."""

    name: str
    alive: bool = True
    positions: dict[Place, int] = field(default_factory=dict)
    changed: dict[Place, int] = field(default_factory=dict)


@dataclass
class Group:
    name: str
    topics: list[str]
    latest: bool
    committed_only: bool
    commit: str  # before, after
    members: list[Member]
    blind: bool = False  # its first start cannot be asked for
    owner: dict[Place, Member] = field(default_factory=dict)
    committed: dict[Place, int] = field(default_factory=dict)
    began: dict[Place, int] = field(default_factory=dict)  # the true first start

    def next_offset(self, place: Place, log: Log) -> int:
        """The true offset from which the group would read on."""
        owner = self.owner.get(place)
        if owner is not None and owner.alive:
            at = owner.positions[place]
        elif place in self.committed:
            at = self.committed[place]
        else:
            return log.replicated if self.latest else log.start
        if at > len(log.entries) or at < log.start:
            return log.replicated if self.latest else log.start
        return at
