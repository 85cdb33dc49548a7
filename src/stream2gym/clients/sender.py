"""Hands messages to the Kafka client and records each: before it is handed over, and when its delivery report comes.

``Sender`` sends without transactions, ``TransactionalSender`` with them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from stream2gym.clients.config import ProducerConfig
from stream2gym.clients.load_schedule import Event
from stream2gym.record.journal import ACKED, DELIVERED, FAILED, UNCONFIRMED, RecordFull
from stream2gym.record.journal_writers import SentLog
from stream2gym.record.messages import HEADER, first_seq, hash64, make_header_format, value_hasher

FULL_WAIT_S = 0.01


def producer_properties(config: ProducerConfig) -> dict[str, Any]:
    """The properties of the client of the broker; those that the user gives take precedence."""
    properties: dict[str, Any] = {
        "bootstrap.servers": config.bootstrap,
        "client.id": f"{config.name}-{config.instance}",
        "acks": config.acks,
    }
    if config.broker == "rabbitmq":
        return properties | {"topics": tuple(config.topics)} | config.client
    properties |= {
        "compression.type": config.compression,
        "linger.ms": config.linger_ms,
        "batch.size": config.batch_bytes,
        "queue.buffering.max.kbytes": None if config.buffer_bytes is None else max(1, config.buffer_bytes // 1024),
        "request.timeout.ms": config.request_timeout_ms,
        "enable.idempotence": config.idempotence,
    }
    if config.transactions is not None:
        properties |= {"transactional.id": f"{config.name}-{config.instance}", "acks": "all"}
    chosen = {name: value for name, value in properties.items() if value is not None}
    return chosen | config.client


class Sender:
    """Sends and records. ``sent`` counts messages handed over, ``acked`` and ``failed`` their delivery reports."""

    def __init__(
        self,
        config: ProducerConfig,
        library: Any,
        producer: Any,
        journal: SentLog | None,
        give_up: Callable[[], bool],
    ) -> None:
        self.producer = producer
        self._produce = producer.produce
        self._give_up = give_up
        self.journal = journal
        self.sent = self.acked = self.failed = 0
        # Time in which no message could be handed over, because Kafka's client had no room or was committing.
        self.blocked_ns = 0
        self.fatal = ""  # why the Kafka client cannot go on
        self.full: RecordFull | None = None
        self._first = first_seq(config.instance, config.incarnation)
        self._library = library
        self._header = make_header_format(config.name)
        self._acked = UNCONFIRMED if str(producer_properties(config)["acks"]) == "0" else ACKED
        self._topics: dict[str, tuple[int, Callable[[bytes], int]]] = {
            topic: (journal.number(topic) if journal else 0, value_hasher(config.hash_by.get(topic, "value")))
            for topic in config.topics
        }

    def send(self, event: Event) -> None:
        """Record a message and hand it over. While the client's queue is full, wait for room or for ``give_up``."""
        # This runs up to 50,000 times a second, so it makes as few calls as possible.
        due, topic, key, value, timestamp = event
        journal, row = self.journal, None
        try:
            if journal is None:
                self._produce(topic, value, key)
            elif timestamp:
                row = self._write(journal, event, time.monotonic_ns())
                self._hand_over(row, event)
            else:
                now = time.monotonic_ns()
                number, value_hash = self._topics[topic]
                key_hash = None if key is None else hash64(key)
                row = journal.add(due or now, now, key_hash, value_hash(value), len(value), number)
                self._produce(
                    topic, value, key, on_delivery=partial(self._delivered, row),
                    headers=[(HEADER, self._header % (self._first + row))],
                )  # fmt: skip
        except BufferError:
            self._insist(row, event)
        except self._library.KafkaException as error:
            self._refused(row, error.args[0])
        else:
            self.sent += 1

    @property
    def next_seq(self) -> int:
        """The number that the next message will have."""
        return self._first + (self.journal.rows if self.journal else self.sent)

    def note_unsent(self, event: Event) -> None:
        """Record a message that was due and will not be sent."""
        if self.journal:
            self._fail(self._write(self.journal, event, 0), "stopped before it was sent")

    def _write(self, journal: SentLog, event: Event, now: int) -> int:
        due, topic, key, value, _ = event
        number, value_hash = self._topics[topic]
        key_hash = None if key is None else hash64(key)
        return journal.add(due or now, now, key_hash, value_hash(value), len(value), number)

    def _hand_over(self, row: int, event: Event) -> None:
        _, topic, key, value, timestamp = event
        report = partial(self._delivered, row)
        headers = [(HEADER, self._header % (self._first + row))]
        if timestamp:
            self._produce(topic, value, key, on_delivery=report, headers=headers, timestamp=timestamp)
        else:
            self._produce(topic, value, key, on_delivery=report, headers=headers)

    def _insist(self, row: int | None, event: Event) -> None:
        """Hand over a message when the queue of the client has room again; its due time does not change."""
        since = time.monotonic_ns()
        while not self._give_up():
            self.producer.poll(FULL_WAIT_S)
            now = time.monotonic_ns()
            self.blocked_ns += now - since
            since = now
            if row is not None and self.journal:
                self.journal.patch(row, "sent_ns", time.monotonic_ns())
            try:
                if row is None:
                    self._produce(event.topic, event.value, event.key)
                else:
                    self._hand_over(row, event)
            except BufferError:
                continue
            except self._library.KafkaException as error:
                self._refused(row, error.args[0])
            else:
                self.sent += 1
            return
        self._fail(row, "stopped while the client's queue was full")

    def _delivered(self, row: int, error: Any, message: Any) -> None:
        if error is not None:
            self._refused(row, error)
        elif self.journal is not None:
            self.acked += 1
            offset = message.offset()
            if offset is None:
                # With acks 0 the broker does not answer, so that nobody knows the offset.
                offset = -1
            self.journal.report(row, self._acked, time.monotonic_ns(), message.partition(), offset)

    def _refused(self, row: int | None, error: Any) -> None:
        if error.fatal():
            self.fatal = _text(error)
        self._fail(row, _text(error))

    def _fail(self, row: int | None, text: str) -> None:
        self.failed += 1
        if row is not None and self.journal:
            try:
                number = self.journal.number(text)
            except RecordFull as error:  # in a callback of the Kafka client, which must not raise
                self.full, number = error, 0
            self.journal.report(row, FAILED, time.monotonic_ns(), error=number)

    def finish(self, timeout_s: float) -> None:
        """Wait for delivery reports; messages without one stay ``queued`` in the record."""
        self.producer.flush(timeout_s)


class TransactionalSender(Sender):
    """Sends ``transactions`` messages at a time; a message is acknowledged when its transaction is committed."""

    def __init__(
        self,
        config: ProducerConfig,
        library: Any,
        producer: Any,
        journal: SentLog | None,
        give_up: Callable[[], bool],
    ) -> None:
        super().__init__(config, library, producer, journal, give_up)
        self._size = config.transactions or 1
        self._timeout_s = config.stop_s
        self._rows: dict[int, bool] = {}  # of the open transaction, with whether they failed already
        self._open = 0

    def send(self, event: Event) -> None:
        if not self._open and not self.fatal:
            try:
                self.producer.begin_transaction()
            except self._library.KafkaException as failure:
                self.fatal = _text(failure.args[0])
        if self.journal:
            self._rows[self.journal.rows] = False
        self._open += 1
        super().send(event)
        if self._open >= self._size:
            self._end(self._timeout_s)

    def finish(self, timeout_s: float) -> None:
        if self._open:
            self._end(timeout_s)

    def _delivered(self, row: int, error: Any, message: Any) -> None:
        if error is not None:
            self._refused(row, error)
        elif self.journal:
            self.journal.report(row, DELIVERED, time.monotonic_ns(), message.partition(), message.offset())

    def _fail(self, row: int | None, text: str) -> None:
        super()._fail(row, text)
        if row in self._rows:
            self._rows[row] = True

    def _end(self, timeout_s: float) -> None:
        """Commit, or abort where the client demands it. With an unknown outcome the rows stay ``queued``."""
        begun = time.monotonic_ns()
        deadline = begun / 1e9 + timeout_s
        self._open = 0
        aborted = ""
        while not self.fatal:
            left = max(0.1, deadline - time.monotonic())
            try:
                if aborted:
                    self.producer.abort_transaction(left)
                else:
                    self.producer.commit_transaction(left)
                self._settle(aborted)
                break
            except self._library.KafkaException as failure:
                error = failure.args[0]
                if error.txn_requires_abort() and not aborted:
                    aborted = _text(error)
                elif not error.retriable() or time.monotonic() >= deadline:
                    self.fatal = _text(error)
        self._rows.clear()
        self.blocked_ns += time.monotonic_ns() - begun

    def _settle(self, aborted: str) -> None:
        """Write the outcome of the transaction into the rows of its messages."""
        if self.journal is None:
            return
        now, patch = time.monotonic_ns(), self.journal.patch
        number = self.journal.number(f"transaction aborted: {aborted}") if aborted else 0
        for row, failed in self._rows.items():
            if failed:
                continue
            patch(row, "done_ns", now)
            patch(row, "error", number)
            patch(row, "status", FAILED if aborted else ACKED)
            if aborted:
                self.failed += 1
            else:
                self.acked += 1


def _text(error: Any) -> str:
    return f"{error.name()}: {error.str()}"
