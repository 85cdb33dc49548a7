"""A small model of Kafka: random histories of producers, logs and groups, in the tables of a run's record.

A history has its own topics, producers and groups, all named after its number, so that many of them fit into one run
folder. Time goes in milliseconds. At every step something random happens: a message is sent, a follower catches up,
a log is cut off by an unclean election, a consumer polls, dies or takes over. Which troubles a history has is drawn
first, so that calm histories exist beside bad ones. What the record says is kept apart from what is true
(``History.logs``, ``Group.next_offset``), so that an audit of the record can also be held against the truth.
"""

from __future__ import annotations

import random
from typing import Any

from stream2gym.analysis.fake_run import FakeRun
from tests.oracle.kafka_parts import Entry, Group, Log, Member, Place, Producer

MS = 1_000_000
TROUBLES = (
    "kill-producer", "kill-consumer", "rebalance", "unclean", "lost-answers", "refusals", "transactions", "latest",
    "blind-latest", "slow", "retention", "compaction", "delete-topic", "foreign", "offsets-unknown",
    "lagging-follower",
)  # fmt: skip


class History:
    """One random history; after ``play`` its rows stand in ``run``."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.random = random.Random(number)
        self.run = FakeRun(topics=[], producers=[], consumers=[])
        self.run.events.clear()
        self.now = 0
        self.has = {trouble for trouble in TROUBLES if self.random.random() < 0.3}
        self.name = f"h{number}"
        self.logs: dict[Place, Log] = {}
        self.topics: list[str] = []
        self.producers: list[Producer] = []
        self.groups: list[Group] = []
        self.waiting: list[tuple[dict[str, Any], Place, Entry, int | None]] = []  # for all replicas (acks=all)
        self.retries: list[tuple[int, Producer, dict[str, Any], Place, Entry]] = []
        self.cut: list[Entry] = []  # off their log by an unclean election
        self.wiped: list[Entry] = []  # with their topic, which a fault deleted
        self.compacted: list[Entry] = []
        self.lagging: set[Place] = set()  # partitions with a follower that has stopped to fetch
        self.leader = 1
        self.deleted: dict[str, tuple[int, int]] = {}
        self.unknown: set[Place] = set()
        self._make()

    # ---- who takes part

    def _make(self) -> None:
        draw, has = self.random, self.has
        for number in range(draw.choice((1, 1, 2))):
            topic, partitions = f"{self.name}-t{number}", draw.choice((1, 1, 2, 3))
            self.topics.append(topic)
            config = {"cleanup.policy": "compact"} if "compaction" in has else {}
            self.run.experiment["topics"].append({"name": topic, "partitions": partitions, "config": config})
            for partition in range(partitions):
                self.logs[topic, partition] = Log()
                self.run.sample(-1.0, "kafka", f"{topic}/{partition}", "leader", 1)
        for number in range(draw.choice((1, 1, 2))):
            producer = Producer(
                f"{self.name}-p{number}", draw.choice(self.topics), draw.choice(("0", "1", "all", "all")),
                idempotent=draw.random() < 0.5, transactional="transactions" in has and draw.random() < 0.7,
                keys=draw.choice((2, 5)) if "compaction" in has else 0,
            )  # fmt: skip
            producer.acks = "all" if producer.transactional else producer.acks
            self.producers.append(producer)
            self.run.experiment["producers"].append({"name": producer.name, "on": "h1", "topic": producer.topic})
        for number in range(draw.choice((1, 2, 2))):
            members = [Member(f"{self.name}-c{number}{letter}") for letter in "ab"[: draw.choice((1, 2))]]
            group = Group(
                f"{self.name}-g{number}", self.topics, latest="latest" in has and draw.random() < 0.7,
                committed_only=draw.random() < 0.5, commit=draw.choice(("before", "after", "after")),
                members=members, blind="blind-latest" in has and draw.random() < 0.7,
            )  # fmt: skip
            self.groups.append(group)
            for member in members:
                self.run.experiment["consumers"].append(
                    {"name": member.name, "on": "h2", "topics": group.topics, "group": group.name,
                     "from": "latest" if group.latest else "earliest"}
                )  # fmt: skip

    # ---- what happens

    def play(self) -> History:
        draw = self.random
        steps = draw.randrange(20, 90)
        slow = "slow" in self.has
        early = draw.random() < 0.6
        for step in range(steps):
            if step == 0 and early:
                self._assign_all()
            if step == steps // 4 and not early:
                self._assign_all()
            self.now += draw.randrange(1, 40)
            self._answer_waiting()
            self._try_again()
            for producer in self.producers:
                for _ in range(draw.choice((0, 1, 1, 2, 3))):
                    self._send(producer)
            if draw.random() < 0.7:
                self._replicate()
            for group in self.groups:
                if draw.random() < (0.15 if slow else 0.6):
                    self._poll(group)
            self._trouble(step, steps)
        self._end(finish=draw.random() < (0.2 if slow else 0.8))
        return self

    def _trouble(self, step: int, steps: int) -> None:
        draw, has = self.random, self.has
        if "kill-producer" in has and draw.random() < 0.05:
            self._restart(draw.choice(self.producers))
        if "kill-consumer" in has and draw.random() < 0.08:
            self._kill_consumer(draw.choice(self.groups))
        if "rebalance" in has and draw.random() < 0.08:
            self._rebalance(draw.choice(self.groups))
        if "unclean" in has and draw.random() < 0.05:
            self._cut(*self._any_log())
        if "retention" in has and draw.random() < 0.05:
            log = self._any_log()[1]
            log.start = draw.randrange(log.start, log.replicated + 1)
        if "compaction" in has and draw.random() < 0.1:
            self._answer_waiting()
            self._compact(self._any_log()[1])
        if "foreign" in has and draw.random() < 0.2:
            self._any_log()[1].append(Entry(None, None, draw.randrange(5)))
        if "lagging-follower" in has and step == steps // 2:
            self.lagging.add(self._any_log()[0])
        if "delete-topic" in has and step == steps // 2 and draw.random() < 0.5:
            self._delete(draw.choice(self.topics))
        if draw.random() < 0.3:
            for group in self.groups:
                self._report(group)

    def _any_log(self, topic: str | None = None) -> tuple[Place, Log]:
        place = self.random.choice([place for place in self.logs if topic in (None, place[0])])
        return place, self.logs[place]

    def _send(self, producer: Producer) -> None:
        """Send a message: written or not, answered or not, tried again or not."""
        draw, has = self.random, self.has
        seq = producer.next_seq()
        key = draw.randrange(producer.keys) if producer.keys else None
        place, log = self._any_log(producer.topic)
        row = {
            "producer": producer.name, "instance": 1, "seq": seq, "topic": producer.topic, "partition": None,
            "offset": None, "key_hash": key, "value_hash": seq, "size": 10, "due_ns": self.now * MS,
            "sent_ns": self.now * MS, "done_ns": None, "status": "queued", "error": None,
        }  # fmt: skip
        self.run.rows["sent"].append(row)
        entry = Entry(producer.name, seq, key, "open" if producer.transactional else "plain")
        refused = "refusals" in has and draw.random() < 0.15
        if producer.acks == "0":
            if not refused:
                log.append(entry)
            if draw.random() < 0.9:
                self._done(row, "unconfirmed", place[1], None, 0)
            return
        if refused:
            if not producer.transactional and draw.random() < 0.5:  # the client tries again, later
                self.retries.append((self.now + draw.randrange(1, 150), producer, row, place, entry))
            elif draw.random() < 0.6:
                self._done(row, "failed", None, None, 30)
            return
        offset: int | None = log.append(entry)
        if "lost-answers" in has and draw.random() < 0.2:
            what = draw.choice(("give up", "never", "again", "again"))
            if what == "give up":
                self._done(row, "failed", None, None, 30)
                return
            if what == "never":
                return
            if producer.idempotent or producer.transactional:
                offset = draw.choice((offset, None))  # the broker knows it and may not say where it stands
            elif draw.random() < 0.5:
                entry = Entry(entry.producer, entry.seq, entry.key)
                self.retries.append((self.now + draw.randrange(1, 150), producer, row, place, entry))
                return
            else:
                entry = Entry(entry.producer, entry.seq, entry.key)
                offset = log.append(entry)
        self._answer(producer, row, place, entry, offset)

    def _try_again(self) -> None:
        due = [retry for retry in self.retries if retry[0] <= self.now]
        self.retries = [retry for retry in self.retries if retry[0] > self.now]
        for _, producer, row, place, entry in due:
            self._answer(producer, row, place, entry, self.logs[place].append(entry))

    def _answer(
        self, producer: Producer, row: dict[str, Any], place: Place, entry: Entry, offset: int | None
    ) -> None:
        """A message was written: acknowledge it now, when all replicas have it, or with its transaction."""
        draw = self.random
        if producer.transactional:
            row["partition"], row["offset"] = place[1], offset
            producer.open_rows.append((row, entry))
            if draw.random() < 0.3:
                self._finish_transaction(producer, commit=draw.random() < 0.7)
        elif producer.acks == "1":
            self._done(row, "acked", place[1], offset, draw.choice((0, 0, 5, 60)))
        else:
            self.waiting.append((row, place, entry, offset))

    def _done(self, row: dict[str, Any], status: str, partition: int | None, offset: int | None, after: int) -> None:
        row.update(status=status, partition=partition, offset=offset, done_ns=(self.now + after) * MS)

    def _answer_waiting(self) -> None:
        """acks=all: answered once all replicas have it; what an election cut off is given up or never answered."""
        still = []
        for row, place, entry, offset in self.waiting:
            log = self.logs[place]
            if any(entry is other for other in log.entries[: log.replicated]):
                self._done(row, "acked", place[1], offset, self.random.choice((0, 3, 50)))
            elif any(entry is other for other in (*self.cut, *self.wiped)):
                if self.random.random() < 0.5:
                    self._done(row, "failed", None, None, 5)
            else:
                still.append((row, place, entry, offset))
        self.waiting = still

    def _finish_transaction(self, producer: Producer, commit: bool) -> None:
        for row, entry in producer.open_rows:
            entry.state = "committed" if commit else "aborted"
            if commit:
                row.update(status="acked", done_ns=self.now * MS)
            else:
                row.update(status="failed", partition=None, offset=None, done_ns=self.now * MS)
        for place in {(row["topic"], row["partition"]) for row, _ in producer.open_rows}:
            if place in self.logs:
                self.logs[place].append(Entry(None, None, None, "marker"))
        producer.open_rows = []

    def _restart(self, producer: Producer) -> None:
        """Killed and started again: what waited stays unanswered, an open transaction is aborted in the log."""
        self.waiting = [wait for wait in self.waiting if wait[0]["producer"] != producer.name]
        self.retries = [retry for retry in self.retries if retry[1] is not producer]
        for row, entry in producer.open_rows:
            entry.state = "aborted"
            row.update(partition=None, offset=None)
        producer.open_rows = []
        producer.starts += 1
        producer.numbers = 0

    def _replicate(self) -> None:
        for place, log in self.logs.items():
            if place not in self.lagging and self.random.random() < 0.8:
                log.replicated = len(log.entries)

    def _cut(self, place: Place, log: Log) -> None:
        """An unclean election: the new leader lacks the end of the log, also what all in sync had."""
        keep = self.random.randrange(max(log.start, len(log.entries) - 12), len(log.entries) + 1)
        self.cut += [entry for entry in log.entries[keep:] if entry is not None]
        del log.entries[keep:]
        log.replicated = min(log.replicated, keep)
        self.lagging.discard(place)
        self.leader += 1
        seen_s = (self.now + self.random.randrange(20)) / 1000
        self.run.sample(seen_s, "kafka", f"{place[0]}/{place[1]}", "leader", self.leader)

    def _compact(self, log: Log) -> None:
        last = {e.key: n for n, e in enumerate(log.entries[: log.replicated]) if e is not None and e.key is not None}
        for offset in range(log.start, log.replicated):
            entry = log.entries[offset]
            if entry is not None and entry.key is not None and last[entry.key] > offset:
                self.compacted.append(entry)
                log.entries[offset] = None

    def _delete(self, topic: str) -> None:
        begun = self.now
        self.run.event(
            "fault-applied", begun / 1000, fault=f"wipe-{topic}", instance=1, do="delete-topic", on=[topic]
        )
        self.now += self.random.randrange(1, 30)
        for place in [place for place in self.logs if place[0] == topic]:
            self.wiped += [entry for entry in self.logs[place].entries if entry is not None]
            self.logs[place] = Log(life=2)
            if self.random.random() < 0.5:
                for group in self.groups:
                    group.committed.pop(place, None)
        self.now += self.random.randrange(1, 30)
        self.deleted[topic] = (begun, self.now)
        self.run.event(
            "fault-healed", self.now / 1000, fault=f"wipe-{topic}", instance=1, do="delete-topic", on=[topic]
        )

    # ---- groups

    def _assign_all(self) -> None:
        for group in self.groups:
            for place in self.logs:
                self._assign(group, place, self.random.choice(group.members))

    def _assign(self, group: Group, place: Place, member: Member) -> None:
        """A member takes a partition: it goes on where the group committed, else where the policy says."""
        log = self.logs[place]
        at = group.committed.get(place)
        start = at if at is not None else log.replicated if group.latest else log.start
        first = place not in group.began
        group.began.setdefault(place, start)
        group.owner[place] = member
        member.positions[place] = start
        told = -1001 if group.blind and first else start
        self.run.event(
            "assigned", self.now / 1000, component=member.name, host="h2", instance=1, group=group.name,
            partitions=[[*place, told]],
        )  # fmt: skip
        if told >= 0:
            self.run.sample(self.now / 1000, "client", member.name, f"first {place[0]}/{place[1]}", told)

    def _poll(self, group: Group, most: int | None = None, die: bool = False) -> None:
        for place, member in group.owner.items():
            if member.alive:
                self._read(group, place, member, most or self.random.randrange(1, 12), die)

    def _read(self, group: Group, place: Place, member: Member, most: int, die: bool) -> None:
        log = self.logs[place]
        at = member.positions[place]
        if at > len(log.entries) or at < log.start:
            at = log.replicated if group.latest else log.start
        end = log.readable(group.committed_only)
        batch: list[Any] = []
        while at < end and len(batch) < most:
            entry = log.entries[at]
            if entry is not None and entry.visible(group.committed_only):
                batch.append((at, entry))
            at += 1
        kept = batch[: self.random.randrange(len(batch) + 1)] if die else batch
        if group.commit == "before" and batch:
            group.committed[place] = at
        for offset, entry in kept:
            self.run.rows["received"].append(
                {"consumer": member.name, "instance": 1, "group": group.name, "topic": place[0],
                 "partition": place[1], "offset": offset, "producer": entry.producer, "seq": entry.seq,
                 "key_hash": entry.key, "value_hash": entry.seq or 0, "size": 10, "broker_ms": 0,
                 "at_ns": self.now * MS + (1 if group.commit == "before" else 0)}
            )  # fmt: skip
        if not die:
            if member.positions[place] != at:
                member.changed[place] = at
            member.positions[place] = at
            if group.commit == "after" and self.random.random() < 0.7:
                group.committed[place] = at

    def _report(self, group: Group, everything: bool = False) -> None:
        """Tell positions: those that changed, or at the end all that a member ever had."""
        for member in group.members:
            if member.alive:
                told = member.positions if everything else member.changed
                for place, at in told.items():
                    self.run.sample(self.now / 1000, "client", member.name, f"position {place[0]}/{place[1]}", at)
                member.changed = {}

    def _kill_consumer(self, group: Group) -> None:
        """Killed in the middle of a batch; somebody takes over, or nobody for a while."""
        if not group.owner:
            return
        victim = self.random.choice(list(group.owner.values()))
        for place, member in group.owner.items():
            if member is victim:
                self._read(group, place, member, 8, die=True)
        self.now += 5
        victim.positions, victim.changed = {}, {}
        others = [member for member in group.members if member is not victim]
        taker = self.random.choice([*others, victim])
        for place, member in list(group.owner.items()):
            if member is victim:
                self._assign(group, place, taker)

    def _rebalance(self, group: Group) -> None:
        if not group.owner:
            return
        for place, member in list(group.owner.items()):
            if self.random.random() < 0.8:
                group.committed[place] = member.positions[place]
            self._assign(group, place, self.random.choice(group.members))

    def _end(self, finish: bool) -> None:
        """The drain, and Kafka's own word."""
        draw = self.random
        for _ in range(3):
            self.now += 30
            self._replicate()
            self._answer_waiting()
            for group in self.groups:
                self._poll(group, most=1000 if finish else 3)
        for producer in self.producers:
            self._finish_transaction(producer, commit=True)
        self.now += 30
        for group in self.groups:
            if finish:
                self._poll(group, most=1000)
            if draw.random() < 0.8:
                self._report(group, everything=True)
        for place, log in self.logs.items():
            if "offsets-unknown" in self.has and draw.random() < 0.6:
                self.unknown.add(place)
                self.run.event("offsets-unknown", 9.0, place=f"{place[0]}/{place[1]}", reason="no leader")
            else:
                self.run.offsets(*place, log.start, log.replicated)
