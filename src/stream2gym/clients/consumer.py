"""The recording consumer: it subscribes, records every message that it receives, and commits.

    python -m stream2gym.clients.consumer CONFIG.json

CONTRACT
  in      CONFIG.json        a ``ConsumerConfig`` (clients/config.py)
  out     the journal        a ``received`` row for each message, in the order of receipt
          standard output    lines ``S2G {json}`` with ``event`` and ``at_ns``:
                             assigned  partitions: [[topic, partition, offset it starts at], ...]; also an
                                       empty list, when the group has more members than partitions
                             revoked   partitions: [[topic, partition], ...]
                             progress  every 0.5 s: received, and positions [[topic, partition, next offset],
                                       ...] that changed since the last one
                             error     what ended it early: what
                             done      received, positions (all of them)
          standard error     logs
  signals SIGTERM, SIGINT    stop: record the batch at hand, commit and leave the group, within ``stop_s``; what
                             comes after the signal is not received. A second one ends it at once
          SIGKILL            loses no record
  exit    0 stopped; 2 bad configuration; 3 cannot (no broker in time, a fatal client error); 5 the disk of the
          record is full

``auto`` commits in the background, ``after`` commits after each batch; both commit only what is recorded. ``before``
commits a batch before it is recorded, so that a killed consumer loses the rest of it (delivery at most once). With
``work_s`` each message takes this long before it is recorded, as if it were handled. A position counts the control
records of Kafka, too, so that it reaches the end offset of a partition.

The start offset of a partition is looked up when the partition is assigned, and reported in ``assigned``. From then
on no message is missed, also with ``latest``.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from stream2gym.clients.client_library import load_library
from stream2gym.clients.client_process import (
    DONE,
    STATUS_EVERY_NS,
    CannotContinue,
    Status,
    StopFlag,
    complain,
    error_text,
    launch,
    report_error,
)
from stream2gym.clients.config import ConsumerConfig, load
from stream2gym.errors import BadInput
from stream2gym.record.journal import Identity, RecordFull
from stream2gym.record.journal_writers import ReceivedLog
from stream2gym.record.latest_values import KEPT, SUFFIX, LatestValues
from stream2gym.record.messages import HEADER, hash64, parse_header, value_hasher

LONGEST_WAIT_S = 0.1
LOOKUP_S = 10.0
EARLIEST, LATEST = -2, -1  # as time stamps: Kafka's own words for both ends of a partition


def consumer_properties(config: ConsumerConfig) -> dict[str, Any]:
    """The properties of the client of the broker; those that the user gives take precedence."""
    properties: dict[str, Any] = {
        "bootstrap.servers": config.bootstrap,
        "client.id": f"{config.name}-{config.instance}",
    }
    if config.broker == "rabbitmq":
        # The connection is served between batches, so that a batch must not take long.
        prefetch = config.batch if not config.work_s else max(1, min(config.batch, round(1 / config.work_s)))
        more = {"queues": config.queues, "streams": config.streams, "prefetch_count": prefetch}
        return properties | more | config.client
    properties |= {
        "group.id": config.group,
        "auto.offset.reset": config.start_from,
        "isolation.level": config.isolation,
        "enable.auto.commit": config.commit == "auto",
        "enable.auto.offset.store": False,
        "enable.partition.eof": True,
        # A backlog is fetched in small portions, without the pause of a second in between: half the memory.
        "queued.min.messages": 5000,
        "queued.max.messages.kbytes": 16384,
        "fetch.queue.backoff.ms": 5,
        "topic.metadata.refresh.interval.ms": 5000 if config.pattern else None,
        "fetch.min.bytes": config.fetch_min_bytes,
        "fetch.wait.max.ms": config.fetch_wait_ms,
        "session.timeout.ms": config.session_timeout_ms,
    }
    return {name: value for name, value in properties.items() if value is not None} | config.client


class RecordingConsumer:
    """One run of a consumer, from subscription to leaving the group."""

    def __init__(self, config: ConsumerConfig, library: Any, status: Status, stop: StopFlag) -> None:
        self.config = config
        self.status = status
        self.stop = stop
        self.received = 0
        self.assigned = False
        self.fatal = ""
        self._library = library
        self._changed: dict[tuple[str, int], int] = {}
        self._positions: dict[tuple[str, int], int] = {}
        self._hashers: dict[str, Callable[[bytes], int]] = {}
        self._next_status = 0
        identity = Identity(config.name, config.instance, config.incarnation, {"group": config.group})
        self.journal = ReceivedLog(Path(config.journal), identity) if config.journal else None
        self.values = LatestValues(Path(config.journal).with_suffix(SUFFIX)) if config.journal else None
        properties = consumer_properties(config)
        self._incremental = "cooperative" in str(properties.get("partition.assignment.strategy", "")) or (
            properties.get("group.protocol") == "consumer"
        )
        try:
            self.consumer = library.Consumer(properties | {"error_cb": self._on_error})
        except (library.KafkaException, ValueError, TypeError) as error:
            raise BadInput(f"the Kafka client refuses its properties: {error_text(error)}") from error

    def run(self) -> None:
        """Consume until asked to stop."""
        pattern = self.config.pattern
        topics = [pattern if pattern.startswith("^") else f"^{pattern}"] if pattern else list(self.config.topics)
        self.consumer.subscribe(topics, on_assign=self._on_assign, on_revoke=self._on_revoke)
        deadline = time.monotonic() + self.config.ready_timeout_s
        while not self.stop.asked:
            first = self.consumer.poll(LONGEST_WAIT_S)
            if first is not None and not self.stop.asked:
                # consume() would wait until the batch is full, so it only takes what is there.
                self._handle([first, *self.consumer.consume(self.config.batch - 1 or 1, 0)])
            self._report_now_and_then()
            if self.fatal:
                raise CannotContinue(self.fatal)
            if not self.assigned and time.monotonic() > deadline:
                raise CannotContinue(
                    f"no assignment after {self.config.ready_timeout_s:g} s at {self.config.bootstrap}"
                )

    def close(self, *, leave_group: bool) -> None:
        """Close the record; commit what is in it and leave the group."""
        if self.journal is not None:
            self.journal.close()
        if self.values is not None:
            self.values.close()
        if leave_group:
            self.consumer.close()

    def positions(self) -> list[tuple[str, int, int]]:
        """The next offset of every partition that was ever assigned to it."""
        self._positions |= self._changed
        return [(topic, partition, offset) for (topic, partition), offset in self._positions.items()]

    def _handle(self, batch: list[Any]) -> None:
        at_ns = time.monotonic_ns()
        messages = []
        for message in batch:
            error = message.error()
            if error is None:
                messages.append(message)
                self._changed[message.topic(), message.partition()] = message.offset() + 1
            elif error.code() == self._library.KafkaError._PARTITION_EOF:
                self._changed[message.topic(), message.partition()] = message.offset()
            else:
                self._on_error(error)
        if not messages:
            return
        if self.config.commit == "before":
            self._commit(messages)
        if self.journal is not None:
            for message in messages:
                if self.config.work_s:
                    time.sleep(self.config.work_s)
                    at_ns = time.monotonic_ns()
                self._record(self.journal, message, at_ns)
        if self.values is not None and self.values.is_due(at_ns):
            latest = [
                ((one.topic(), one.partition(), max(-1, one.offset())), one.key(), one.value() or b"")
                for one in messages[-KEPT:]
            ]
            self.values.write(latest, at_ns)
        self.received += len(messages)
        if self.config.commit == "after":
            self._commit(messages)
        elif self.config.commit == "auto":
            self._store(messages)

    def _record(self, journal: ReceivedLog, message: Any, at_ns: int) -> None:
        topic, key, value = message.topic(), message.key(), message.value() or b""
        hasher = self._hashers.get(topic)
        if hasher is None:
            hasher = self._hashers[topic] = value_hasher(self.config.hash_by.get(topic, "value"))
        ours = None
        for name, content in message.headers() or ():
            if name == HEADER:
                ours = parse_header(content)
        producer, seq = (0, 0) if ours is None else (journal.number(ours[0]), ours[1])
        kind, broker_ms = message.timestamp()
        journal.add(
            at_ns=at_ns,
            topic=journal.number(topic),
            partition=message.partition(),
            offset=message.offset(),
            producer=producer,
            seq=seq,
            key_hash=None if key is None else hash64(key),
            value_hash=hasher(value),
            size=len(value),
            broker_ms=broker_ms if kind else -1,
        )

    def _ends(self, messages: list[Any]) -> list[Any]:
        """The offset after the last message of a batch, for each partition."""
        ends = {(message.topic(), message.partition()): message.offset() + 1 for message in messages}
        return [self._library.TopicPartition(*place, offset) for place, offset in ends.items()]

    def _store(self, messages: list[Any]) -> None:
        try:
            self.consumer.store_offsets(offsets=self._ends(messages))
        except self._library.KafkaException as error:  # the partition was taken away in the meantime
            complain(f"offsets not stored: {error_text(error)}")

    def _commit(self, messages: list[Any]) -> None:
        try:
            self.consumer.commit(offsets=self._ends(messages), asynchronous=False)
        except self._library.KafkaException as error:
            complain(f"not committed: {error_text(error)}")

    def _on_assign(self, consumer: Any, partitions: list[Any]) -> None:
        places = self._starts(consumer, partitions) if partitions else []
        if self._incremental:
            consumer.incremental_assign(places)
        else:
            consumer.assign(places)
        for place in places:
            self._positions[place.topic, place.partition] = place.offset
        self.assigned = True
        said = [(place.topic, place.partition, place.offset) for place in places]
        self.status.say("assigned", partitions=said)

    def _starts(self, consumer: Any, partitions: list[Any]) -> list[Any]:
        """The partitions with their start offsets; without, if these cannot be looked up now."""
        make = self._library.TopicPartition
        end = LATEST if self.config.start_from == "latest" else EARLIEST
        try:
            committed = consumer.committed(partitions, timeout=LOOKUP_S)
            unknown = [make(place.topic, place.partition, end) for place in committed if place.offset < 0]
            found = consumer.offsets_for_times(unknown, timeout=LOOKUP_S) if unknown else []
        except self._library.KafkaException as error:
            complain(f"start offsets not found: {error_text(error)}")
            return partitions
        known = [place for place in committed if place.offset >= 0]
        return [make(place.topic, place.partition, place.offset) for place in known + found]

    def _on_revoke(self, _consumer: Any, partitions: list[Any]) -> None:
        self.status.say("revoked", partitions=[(place.topic, place.partition) for place in partitions])

    def _report_now_and_then(self) -> None:
        now = time.monotonic_ns()
        if now < self._next_status:
            return
        self._next_status = now + STATUS_EVERY_NS
        self._positions |= self._changed
        changed = [(topic, partition, offset) for (topic, partition), offset in self._changed.items()]
        if self.status.say("progress", received=self.received, positions=changed):
            self._changed.clear()

    def _on_error(self, error: Any) -> None:
        complain(f"{error.name()}: {error.str()}")
        if error.fatal():
            self.fatal = f"{error.name()}: {error.str()}"


def main(path: str) -> int:
    status = Status()
    try:
        config = load(ConsumerConfig, Path(path))
        stop = StopFlag(config.stop_s)
        library = load_library(config.broker)
        client = RecordingConsumer(config, library, status, stop)
    except (BadInput, RecordFull, OSError) as error:
        return report_error(status, error)
    try:
        client.run()
        code = DONE
    except (CannotContinue, RecordFull, OSError, library.KafkaException) as error:
        code = report_error(status, error)
    status.say("done", received=client.received, positions=client.positions(), code=code)
    client.close(leave_group=code == DONE)
    return code


if __name__ == "__main__":
    launch("consumer", main)
