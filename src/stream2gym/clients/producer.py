"""The load producer: it sends a given load to Kafka and records every message that was due.

    python -m stream2gym.clients.producer CONFIG.json

CONTRACT
  in      CONFIG.json        a ``ProducerConfig`` (clients/config.py)
          standard input     with ``start: gate`` one line: t0 in CLOCK_MONOTONIC nanoseconds; every due time
                             counts from it. A t0 in the past is a restart: overdue messages are sent at once.
                             Before it may come ``warmup NS``: warm-up messages are sent from that time on until
                             the next line, which is ``pause`` or t0
  out     the journal        a ``sent`` row before each produce; its delivery report is added to it
          the truth journal  with ``imperfect``: a row for each event and copy, whether sent or not
          standard output    lines ``S2G {json}`` with ``event`` and ``at_ns``:
                             ready     connected, every topic known with its leaders
                             progress  every 0.5 s: sent, ``acked``, failed, queued, behind_ms, blocked_ms (so far, by
                                       a full queue of Kafka's client or by a commit)
                             paused    the same numbers, after ``pause``: no warm-up message is open any more
                             error     what ended it early: what
                             done      sent, ``acked``, failed, queued, unsent (due before the stop, never sent)
          standard error     logs
  signals SIGTERM, SIGINT    stop: no new messages, wait for reports up to ``stop_s``; a second one: at once
          SIGKILL            loses no record
  exit    0 done or stopped; 2 bad configuration; 3 cannot (no broker, no topic, a fatal client error, a file
          that went away); 5 the disk of the record is full

Each message carries the header ``s2g`` (record/messages.py); its payload is not changed.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

from stream2gym.clients.client_library import load_library
from stream2gym.clients.client_process import (
    DONE,
    STATUS_EVERY_NS,
    CannotContinue,
    GateLines,
    Status,
    StopFlag,
    complain,
    error_text,
    launch,
    report_error,
)
from stream2gym.clients.config import PAUSE, WARMUP, ProducerConfig, load
from stream2gym.clients.imperfect_source import Emission, imperfectly
from stream2gym.clients.load_schedule import Event, events, warmup_events
from stream2gym.clients.sender import Sender, TransactionalSender, producer_properties
from stream2gym.errors import BadInput
from stream2gym.record.journal import MISSING, Identity, RecordFull
from stream2gym.record.journal_writers import SentLog, TruthLog
from stream2gym.record.messages import hash64

MS = 1_000_000
LONGEST_WAIT_S = 0.1
# Messages a second above which messages are sent in ticks of 1 ms. Below it each is sent when it is due.
DENSE_RATE = 500.0
# While the load is behind, delivery reports and the clock are looked at once in this many messages.
BUSY_POLL = 64
UNSENT_BUDGET_NS = 1_000_000_000
# Time between two looks at the gate during the warm-up.
GATE_EVERY_NS = 5 * MS


class LoadProducer:
    """One run of the load, from ready to done."""

    def __init__(self, config: ProducerConfig, library: Any, status: Status, stop: StopFlag) -> None:
        self.config = config
        self.status = status
        self.stop = stop
        self._library = library
        identity = Identity(config.name, config.instance, config.incarnation)
        self.journal = SentLog(Path(config.journal), identity) if config.journal else None
        self.truth = TruthLog(Path(config.truth), identity) if config.truth else None
        try:
            self.producer = library.Producer(producer_properties(config) | {"error_cb": self._on_error})
        except (library.KafkaException, ValueError, TypeError) as error:
            raise BadInput(f"the Kafka client refuses its properties: {error_text(error)}") from error
        kind = TransactionalSender if config.transactions else Sender
        self.sender = kind(config, library, self.producer, self.journal, self._give_up)
        self.unsent = 0
        self._gate = GateLines()
        # The line that ended the warm-up, and when the gate is looked at next.
        self._gate_line: str | None = None
        self._next_gate = 0
        self._due = self._next_status = 0
        self._dense = (config.rate or 0) > DENSE_RATE and config.rate_of == "messages"

    def become_ready(self) -> None:
        """Wait until every topic has its partitions and leaders."""
        deadline = time.monotonic() + self.config.ready_timeout_s
        missing: dict[str, str] = {}
        while time.monotonic() < deadline and not self.stop.asked:
            try:
                known = self.producer.list_topics(timeout=min(2.0, self.config.ready_timeout_s)).topics
            except self._library.KafkaException as error:
                missing = {"a broker": error_text(error)}
                continue
            missing = {
                topic: "is not there" if topic not in known else "has no leader"
                for topic in self.config.topics
                if topic not in known
                or not known[topic].partitions
                or any(partition.leader < 0 for partition in known[topic].partitions.values())
            }
            if not missing:
                break
            self.producer.poll(0.05)
        if missing:
            said = ", ".join(f"{topic}: {what}" for topic, what in missing.items())
            raise CannotContinue(f"waited {self.config.ready_timeout_s:g} s at {self.config.bootstrap}: {said}")
        if self.config.transactions and not self.stop.asked:
            try:
                self.producer.init_transactions(max(1.0, deadline - time.monotonic()))
            except self._library.KafkaException as error:
                raise CannotContinue(f"no transactions: {error_text(error)}") from error

    def wait_for_t0(self) -> int | None:
        """Do what the gate says until it gives t0. Returns None when asked to stop, or when it cannot go on."""
        while not self._must_end():
            self.producer.poll(0)
            line = self._gate_line or self._gate.next_line(LONGEST_WAIT_S)
            self._gate_line = None
            if line is None:
                continue
            if line == PAUSE:
                self._settle_warmup()
            elif line.startswith(WARMUP):
                self._send_until(warmup_events(self.config, int(line.removeprefix(WARMUP))), self._is_warmup_over)
            else:
                return int(line)
        return None

    def run(self, t0: int) -> None:
        """Send the load; returns when all of it is sent, or when asked to stop."""
        messages = self._messages(t0)
        left = self._send_until(messages, self._must_end)
        if left is not None:
            self._note_unsent(itertools.chain([left], messages))

    def _send_until(self, messages: Iterator[Event], is_over: Callable[[], bool]) -> Event | None:
        """Send messages when they are due. Returns the first one that was not sent because it is over; None: none."""
        self._next_status = time.monotonic_ns() + STATUS_EVERY_NS
        send, clock = self.sender.send, time.monotonic_ns
        for count, event in enumerate(messages, 1):
            due = event.due
            if due is not None:
                self._due = due
                if due > clock():
                    self._wait(due, is_over)
            if is_over():
                return event
            send(event)
            if count % BUSY_POLL == 0:
                self.producer.poll(0)
                self._report_now_and_then()
        return None

    def _is_warmup_over(self) -> bool:
        """Whether the gate has said something, or the client must end."""
        now = time.monotonic_ns()
        if self._gate_line is None and now >= self._next_gate:
            self._next_gate = now + GATE_EVERY_NS
            self._gate_line = self._gate.next_line()
        return self._gate_line is not None or self._must_end()

    def _settle_warmup(self) -> None:
        """Wait for the delivery reports of the warm-up, as long as the gate says nothing."""
        self._due = 0
        self.sender.finish(self.config.stop_s if self.config.transactions else LONGEST_WAIT_S)
        while len(self.producer):
            if self._is_warmup_over():
                return
            self.sender.finish(LONGEST_WAIT_S)
            self._report_now_and_then()
        self.status.say("paused", **self.counts())

    def finish(self) -> None:
        """Wait for the delivery reports that are missing: for all of them, or as long as a stop allows."""
        self._due = 0
        while len(self.producer) and not self._must_end():
            self.sender.finish(self.config.stop_s if self.config.transactions else LONGEST_WAIT_S)
            self._report_now_and_then()
        self.sender.finish(self.stop.left_s if self.stop.asked else self.config.stop_s)

    def close(self) -> None:
        for journal in (self.journal, self.truth):
            if journal is not None:
                journal.close()

    def counts(self) -> dict[str, int]:
        sender = self.sender
        return {
            "sent": sender.sent,
            "acked": sender.acked,
            "failed": sender.failed,
            "queued": len(self.producer),
        }

    def _messages(self, t0: int) -> Iterator[Event]:
        """The events to send, without those that earlier starts have recorded."""
        source = events(self.config, t0)
        if self.config.imperfect is None:
            return itertools.islice(source, self.config.skip, None)
        seed = f"{self.config.seed}/{self.config.name}/{self.config.instance}/flaws"
        return self._imperfect(imperfectly(source, self.config.imperfect, Random(seed)))

    def _imperfect(self, emissions: Iterator[Emission]) -> Iterator[Event]:
        """Events with the time at which they happened as their time stamp; the truth about each is recorded first."""
        skip = self.config.skip
        epoch_ms = time.time() * 1000 - time.monotonic_ns() / MS
        for emission in emissions:
            missing = bool(emission.flaws & MISSING)
            if skip:
                skip -= not missing
                continue
            happened = time.monotonic_ns() if emission.happened is None else emission.happened
            if self.truth is not None:
                self.truth.add(
                    event=emission.number,
                    seq=None if missing else self.sender.next_seq,
                    event_ns=happened,
                    value_hash=hash64(emission.clean),
                    flaws=emission.flaws,
                )
            if not missing:
                yield emission.event._replace(timestamp_ms=int(epoch_ms + happened / MS))

    def _wait(self, due: int, is_over: Callable[[], bool]) -> None:
        """Wait until a message is due and serve delivery reports; the Kafka client waits in whole milliseconds."""
        while not is_over():
            left = due - time.monotonic_ns()
            if left <= 0:
                return
            if left >= MS or self._dense:
                self.producer.poll(min(max(left // MS, 1) / 1000, LONGEST_WAIT_S))
            else:
                self.producer.poll(0)
                time.sleep(max(0, due - time.monotonic_ns()) / 1e9)
            self._report_now_and_then()

    def _note_unsent(self, events: Iterator[Event]) -> None:
        """Record the messages that were due before the stop and will not be sent."""
        stopped = time.monotonic_ns()
        for event in events:
            if event.due is None or event.due > stopped or time.monotonic_ns() > stopped + UNSENT_BUDGET_NS:
                return
            self.sender.note_unsent(event)
            self.unsent += 1

    def _give_up(self) -> bool:
        self._report_now_and_then()
        return self._must_end()

    def _must_end(self) -> bool:
        if self.sender.full is not None:
            raise self.sender.full
        return self.stop.asked or bool(self.sender.fatal)

    def _report_now_and_then(self) -> None:
        now = time.monotonic_ns()
        if now >= self._next_status:
            self._next_status = now + STATUS_EVERY_NS
            behind = max(0, now - self._due) / MS if self._due else 0.0
            blocked = self.sender.blocked_ns / MS
            self.status.say("progress", **self.counts(), behind_ms=round(behind, 3), blocked_ms=round(blocked, 3))

    def _on_error(self, error: Any) -> None:
        complain(f"{error.name()}: {error.str()}")
        if error.fatal():
            self.sender.fatal = f"{error.name()}: {error.str()}"


def main(path: str) -> int:
    status = Status()
    try:
        config = load(ProducerConfig, Path(path))
        stop = StopFlag(config.stop_s)
        client = LoadProducer(config, load_library(config.broker), status, stop)
    except (BadInput, RecordFull, OSError) as error:
        return report_error(status, error)
    try:
        client.become_ready()
        status.say("ready", topics=list(config.topics))
        t0: int | None = time.monotonic_ns()
        if config.start == "gate":
            t0 = client.wait_for_t0()
        if t0 is not None:
            client.run(t0)
        client.finish()
        if client.sender.fatal:
            raise CannotContinue(client.sender.fatal)
        code = DONE
    except (BadInput, CannotContinue, RecordFull, OSError, EOFError, ValueError) as error:
        code = report_error(status, error)
        client.producer.flush(1.0)
    client.close()
    status.say("done", **client.counts(), unsent=client.unsent, code=code)
    return code


if __name__ == "__main__":
    launch("producer", main)
