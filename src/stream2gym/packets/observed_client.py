"""The journals of one observed process, written from what its packets say.

A message has one row of ``sent``, however often it left the host. It is the same message when topic, partition,
timestamp, key, value, headers and the producer's number are the same and it left over another connection, or over the
same one after the broker had refused it: clients keep the timestamp of a message over all attempts, and send to a
partition over one connection, until they give that up. What such a client had handed to the kernel before may leave
later still. Kafka gives every idempotent producer a number, so that those of several processes are told apart.

The packets show what left the host and what reached it. A message that never left the client's queue has no row, and
one that was fetched counts as received, whether or not the client handed it to the program.
"""

from __future__ import annotations

import os
import struct
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO
from zlib import crc32

from stream2gym.packets.conversation import Produced
from stream2gym.packets.record_batch import Record, header_value
from stream2gym.record.journal import ACKED, DELIVERED, FAILED, QUEUED, UNCONFIRMED, Identity
from stream2gym.record.journal_writers import ReceivedLog, SentLog
from stream2gym.record.messages import HEADER, hash64, parse_header, value_hasher
from stream2gym.record.unmarked import FORWARDED_SUFFIX, HEADER_KEY, TIMES_SUFFIX

_HEADER = HEADER.encode()
_TIME = struct.Struct("=q")
_ROW = struct.Struct("=q")
_NO_ERROR, _DUPLICATE_SEQUENCE = 0, 46
_ERRORS = {
    2: "CORRUPT_MESSAGE", 3: "UNKNOWN_TOPIC_OR_PARTITION", 5: "LEADER_NOT_AVAILABLE", 6: "NOT_LEADER_OR_FOLLOWER",
    7: "REQUEST_TIMED_OUT", 10: "MESSAGE_TOO_LARGE", 17: "INVALID_TOPIC_EXCEPTION", 18: "RECORD_LIST_TOO_LARGE",
    19: "NOT_ENOUGH_REPLICAS", 20: "NOT_ENOUGH_REPLICAS_AFTER_APPEND", 21: "INVALID_REQUIRED_ACKS",
    29: "TOPIC_AUTHORIZATION_FAILED", 32: "INVALID_TIMESTAMP", 45: "OUT_OF_ORDER_SEQUENCE_NUMBER",
    47: "INVALID_PRODUCER_EPOCH", 48: "INVALID_TXN_STATE", 56: "KAFKA_STORAGE_ERROR", 59: "UNKNOWN_PRODUCER_ID",
    87: "INVALID_RECORD", 90: "PRODUCER_FENCED", 100: "UNKNOWN_TOPIC_ID", 120: "TRANSACTION_ABORTABLE",
}  # fmt: skip

# So many messages are remembered, and for so long, because they may be sent again: as long as clients try by default.
_REMEMBERED, _REMEMBERED_NS = 200_000, 300_000_000_000

Sameness = tuple[str, int, int, int | None, int, int, int]


class SentMessage:
    """A message that may be sent again. ``connection`` is the one over which it left last, None after a refusal."""

    __slots__ = ("at_ns", "connection", "row", "same")

    def __init__(self, row: int, same: Sameness, connection: object, at_ns: int) -> None:
        self.row = row
        self.same = same
        self.connection: object | None = connection
        self.at_ns = at_ns


@dataclass
class Transaction:
    """What was sent between two ends of transactions. Its end may be heard before the responses to what was sent."""

    # Rows that the broker has acknowledged while the end was not heard yet.
    rows: list[int] = field(default_factory=list)
    # Status and number of the error; None until the broker agreed to the end.
    outcome: tuple[int, int] | None = None


class SentAttempt:
    """One produce request and its messages."""

    def __init__(self, client: ObservedClient) -> None:
        self._client = client
        self._open: dict[tuple[str, int], tuple[list[SentMessage], Transaction | None]] = {}

    def add(self, part: Produced, messages: list[SentMessage], transaction: Transaction | None) -> None:
        self._open[part.topic, part.partition] = (messages, transaction)

    def answer(self, topic: str, partition: int, error: int, base_offset: int, at_ns: int) -> None:
        found = self._open.pop((topic, partition), None)
        if found is None:
            return
        messages, transaction = found
        if error in (_NO_ERROR, _DUPLICATE_SEQUENCE):
            offset = base_offset if error == _NO_ERROR else -1
            self._client.acknowledge(partition, messages, transaction, offset, at_ns)
        else:
            self._client.fail(messages, _ERRORS.get(error, f"error {error}"), at_ns)


class ObservedClient:
    """One process of a component, or those of an engine on one host.

    ``group`` is the one that the experiment gave it, for a client that names none. ``header_topics`` are topics in
    which messages are recognised by a header that programs forward. ``members_only``: a client that only commits
    offsets to a group is not in it, as the sources of Flink, which assign partitions to themselves.
    """

    def __init__(
        self,
        raw: Path,
        component: str,
        instance: int,
        group: str = "",
        *,
        hash_by: Mapping[str, str] | None = None,
        header_topics: Sequence[str] = (),
        members_only: bool = False,
    ) -> None:
        self._raw = raw
        self._members_only = members_only
        self._component = component
        self._instance = instance
        self._group = group
        self._hash_by = hash_by or {}
        self._header_topics = header_topics
        self._hashers: dict[str, Callable[[bytes], int]] = {}
        self._sent: SentLog | None = None
        self._times: BinaryIO | None = None
        self._forwarded: BinaryIO | None = None
        self._received: dict[str, ReceivedLog] = {}
        # Messages that may be sent again, oldest first, and by what makes them the same message.
        self._recent: deque[SentMessage] = deque()
        self._by_sameness: dict[Sameness, list[SentMessage]] = {}
        # By producer id: the transaction that is open, and the last one whose end was asked for.
        self._transactions: dict[int, Transaction] = {}
        self._ending: dict[int, Transaction] = {}
        self._groups: dict[str, str] = {}
        self._left_groups: set[tuple[str, str]] = set()
        # Where it began to read partitions (topic, number), by group.
        self.began: dict[str, dict[tuple[str, int], int]] = {}
        self.problems: Counter[str] = Counter()
        self.fetched = 0

    @property
    def produced(self) -> int:
        """Messages in the record of what it sent."""
        return 0 if self._sent is None else self._sent.rows

    def open_sent(self) -> SentLog:
        """The journal of what it sends; made now unless it is there."""
        if self._sent is None:
            identity = Identity(self._component, self._instance, 1, {"observed": "wire", HEADER_KEY: False})
            path = self._raw / identity.file_name("sent")
            self._sent = SentLog(path, identity, paced=False)
            self._times = path.with_suffix(TIMES_SUFFIX).open("w+b")
            self._forwarded = path.with_suffix(FORWARDED_SUFFIX).open("wb")
        return self._sent

    def open_received(self, group: str) -> ReceivedLog:
        """The journal of what it fetches as a member of a group; made now unless it is there."""
        journal = self._received.get(group)
        if journal is None:
            number = len(self._received) + 1
            identity = Identity(self._component, self._instance, number, {"observed": "wire", "group": group})
            journal = self._received[group] = ReceivedLog(self._raw / identity.file_name("received"), identity)
        return journal

    def close(self) -> None:
        for journal in (self._sent, self._times, self._forwarded, *self._received.values()):
            if journal is not None:
                journal.close()

    # ---- what its connections tell

    def produce(self, parts: Sequence[Produced], acks: int, at_ns: int, connection: object) -> SentAttempt:
        attempt = SentAttempt(self)
        journal = self.open_sent()
        for part in parts:
            # A client that wants no acknowledgement never sends a message again.
            known = self._by_sameness if acks else {}
            sent = [self._note_sent(journal, part, record, at_ns, connection, known) for record in part.records]
            if acks == 0:
                for message in sent:
                    journal.report(message.row, UNCONFIRMED, at_ns, part.partition)
                continue
            transaction = None
            if part.is_transactional:
                transaction = self._transactions.setdefault(part.producer_id, Transaction())
            attempt.add(part, sent, transaction)
        return attempt

    def acknowledge(
        self, partition: int, sent: list[SentMessage], transaction: Transaction | None, base_offset: int, at_ns: int
    ) -> None:
        """The broker has written the messages, from this offset on (-1: it does not say where)."""
        journal = self.open_sent()
        status, error = ACKED, 0
        if transaction is not None:
            status, error = transaction.outcome or (DELIVERED, 0)
            if transaction.outcome is None:
                transaction.rows += [message.row for message in sent]
        for number, message in enumerate(sent):
            offset = base_offset + number if base_offset >= 0 else -1
            journal.report(message.row, status, at_ns, partition, offset, error=error)

    def fail(self, sent: list[SentMessage], error: str, at_ns: int) -> None:
        """The broker refused the messages; the client may try again."""
        journal = self.open_sent()
        number = journal.number(error)
        for message in sent:
            journal.report(message.row, FAILED, at_ns, error=number)
            message.connection = None

    def end_transaction(self, producer_id: int, is_committed: bool) -> Callable[[int], None]:
        # A client that asks once more for the same end has sent nothing in between.
        transaction = self._transactions.pop(producer_id, None) or self._ending.get(producer_id) or Transaction()
        self._ending[producer_id] = transaction

        def settle(at_ns: int) -> None:
            journal = self.open_sent()
            status, error = (ACKED, 0) if is_committed else (FAILED, journal.number("transaction aborted"))
            transaction.outcome = (status, error)
            for row in transaction.rows:
                journal.patch(row, "done_ns", at_ns)
                journal.patch(row, "error", error)
                journal.patch(row, "status", status)
            transaction.rows.clear()

        return settle

    def begin_partition(self, client: str, topic: str, partition: int, offset: int) -> None:
        group = self.began.setdefault(self._groups.get(client, self._group), {})
        group.setdefault((topic, partition), offset)

    def fetch(self, client: str, topic: str, partition: int, records: Sequence[Record], at_ns: int) -> None:
        journal = self.open_received(self._groups.get(client, self._group))
        number, hasher = journal.number(topic), self._hasher(topic)
        for record in records:
            ours = parse_header(header_value(record.headers, _HEADER))
            producer, seq = (0, 0) if ours is None else (journal.number(ours[0]), ours[1])
            value, key = record.value or b"", record.key
            journal.add(
                at_ns=at_ns,
                topic=number,
                partition=partition,
                offset=record.offset,
                producer=producer,
                seq=seq,
                key_hash=None if key is None else hash64(key),
                value_hash=hasher(value),
                size=len(value),
                broker_ms=record.timestamp_ms,
            )
        self.fetched += len(records)

    def name_group(self, client: str, group: str, *, is_member: bool = True) -> None:
        """Remember the group of a client's id. Two groups that take turns under one id cannot be told apart."""
        if self._members_only and not is_member:
            return
        before = self._groups.get(client)
        if before == group:
            return
        if (client, group) in self._left_groups:
            self.tell_problem(f"several groups use the client id {client!r}")
        if before is not None:
            self._left_groups.add((client, before))
        self._groups[client] = group

    def tell_problem(self, what: str) -> None:
        self.problems[what] += 1

    # ---- what it stands on

    def _hasher(self, topic: str) -> Callable[[bytes], int]:
        hasher = self._hashers.get(topic)
        if hasher is None:
            hasher = self._hashers[topic] = value_hasher(self._hash_by.get(topic, "value"))
        return hasher

    def _note_sent(  # noqa: PLR0917 - called for every message
        self,
        journal: SentLog,
        part: Produced,
        record: Record,
        at_ns: int,
        connection: object,
        known: dict[Sameness, list[SentMessage]],
    ) -> SentMessage:
        """The message that has left: one of those ``known``, once more, or a new one, with its row."""
        value, key = record.value or b"", record.key
        key_hash = None if key is None else hash64(key)
        value_hash = self._hasher(part.topic)(value)
        content = (record.timestamp_ms, key_hash, value_hash, crc32(record.headers))
        same = (part.topic, part.partition, *content, part.producer_id)
        for message in known.get(same, ()):
            if message.connection is not connection:
                self._note_again(journal, message, connection, record.timestamp_ms)
                return message
        row = journal.add(at_ns, at_ns, key_hash, value_hash, len(value), journal.number(part.topic))
        assert self._times is not None
        assert self._forwarded is not None
        self._times.write(_TIME.pack(record.timestamp_ms))
        if header_value(record.headers, _HEADER) is not None and part.topic not in self._header_topics:
            self._forwarded.write(_ROW.pack(row))
        message = SentMessage(row, same, connection, at_ns)
        if known is self._by_sameness:
            self._by_sameness.setdefault(same, []).append(message)
            self._recent.append(message)
            self._forget(at_ns)
        return message

    def _note_again(self, journal: SentLog, message: SentMessage, connection: object, timestamp_ms: int) -> None:
        """The message left once more; one that was refused has no outcome from now on."""
        if message.connection is None:
            journal.patch(message.row, "error", 0)
            journal.patch(message.row, "status", QUEUED)
        message.connection = connection
        assert self._times is not None
        self._times.flush()
        os.pwrite(self._times.fileno(), _TIME.pack(~timestamp_ms), message.row * _TIME.size)

    def _forget(self, now_ns: int) -> None:
        """Forget the oldest message where it is too old, or there are too many."""
        oldest = self._recent[0]
        if len(self._recent) > _REMEMBERED or now_ns - oldest.at_ns > _REMEMBERED_NS:
            self._recent.popleft()
            alike = self._by_sameness[oldest.same]
            alike.remove(oldest)
            if not alike:
                del self._by_sameness[oldest.same]
