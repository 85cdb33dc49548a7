"""A producer: our load client on its host, in one or more instances.

It starts before the load, connects, reports ``ready`` and waits for t0, which it reads from its standard input: that
pipe is its gate.
"""

from __future__ import annotations

import contextlib
import json
import os
from functools import partial
from pathlib import Path
from typing import Any

from stream2gym.clients.config import PAUSE, WARMUP, Arrivals, Imperfect, Keys, ProducerConfig, Sizes
from stream2gym.components.base_component import BaseComponent, make_processes
from stream2gym.components.run_context import RunContext
from stream2gym.components.status_lines import ClientStatus, status_listener
from stream2gym.components.topics import bootstrap_for, hashes_of, host_number
from stream2gym.hosts.emulated_host import WORK
from stream2gym.hosts.process import Process
from stream2gym.own_python import own_python
from stream2gym.record.instances import instance_label
from stream2gym.record.journal import Reader
from stream2gym.spec.model import Experiment, Producer
from stream2gym.units import ByteRate

# Long, because it may start long before its topics are there. The run has deadlines of its own.
READY_TIMEOUT_S = 300.0
# How long it waits for acknowledgements after the load: as long as the drain, within these bounds.
STOP_S = 8.0
LONGEST_STOP_S = 120.0


def producer_config(
    part: Producer, experiment: Experiment, *, bootstrap: str, host: str, seed: int, base: Path
) -> ProducerConfig:
    """The configuration of the load client; ``_launch`` adds the instance and its journals."""
    limits = [float(limit) for limit in (part.duration, experiment.time) if limit is not None]
    topics: dict[str, float] = {part.topic: 1.0} if part.topic else {}
    topics |= {topic.name: topic.weight for topic in part.topics}
    number = host_number(host)
    return ProducerConfig(
        bootstrap=bootstrap,
        name=str(part.name),
        topics=topics,
        number=int(number) if number.isdigit() else 1,
        seed=seed,
        broker="rabbitmq" if experiment.uses_rabbitmq else "kafka",
        type=part.type if part.type != "CUSTOM" else "STANDARD",
        file=str(base / part.file) if part.file else None,
        rate=None if part.rate is None else float(part.rate),
        rate_of="bytes" if isinstance(part.rate, ByteRate) else "messages",
        arrivals=_arrivals(part, base),
        size=_sizes(part),
        keys=Keys(part.keys.kind, part.keys.count, part.keys.skew, part.keys.value),
        messages=part.messages,
        passes=part.passes,
        duration_s=min(limits),
        acks=part.acks,
        linger_ms=None if part.linger is None else part.linger.in_ms,
        batch_bytes=None if part.batch is None else int(part.batch),
        buffer_bytes=None if part.buffer is None else int(part.buffer),
        request_timeout_ms=None if part.request_timeout is None else round(part.request_timeout.in_ms),
        compression=part.compression,
        idempotence=part.idempotence,
        transactions=part.transactions,
        imperfect=_imperfect(part),
        client=dict(part.client),
        hash_by={topic: by for topic, by in hashes_of(experiment).items() if topic in topics},
        ready_timeout_s=READY_TIMEOUT_S,
        stop_s=min(LONGEST_STOP_S, max(STOP_S, float(experiment.drain))),
    )


def _arrivals(part: Producer, base: Path) -> Arrivals:
    given, plain = part.arrivals, Arrivals()
    return Arrivals(
        kind=given.kind,
        on_s=plain.on_s if given.on is None else float(given.on),
        off_s=plain.off_s if given.off is None else float(given.off),
        file=str(base / given.file) if given.file else None,
        speed=given.speed,
    )


def _sizes(part: Producer) -> Sizes | None:
    if part.size is None:
        return None
    sizes = {
        name: None if value is None else int(value)
        for name in ("mean", "low", "high", "deviation")
        for value in [getattr(part.size, name)]
    }
    return Sizes(kind=part.size.kind, shape=part.size.shape, **sizes)


def _imperfect(part: Producer) -> Imperfect | None:
    flaws = part.imperfect
    if flaws is None:
        return None
    return Imperfect(
        late=float(flaws.late),
        late_by_s=float(flaws.late_by),
        disordered=float(flaws.disordered),
        disordered_by=flaws.disordered_by,
        duplicated=float(flaws.duplicated),
        missing=float(flaws.missing),
        noisy=float(flaws.noisy),
    )


class ProducerComponent(BaseComponent):
    """The load client on its host."""

    def __init__(self, context: RunContext, part: Producer) -> None:
        self._context = context
        self._part = part
        host = context.host_of(str(part.name))
        bootstrap = bootstrap_for(context.experiment, context.nodes, part.topic_names(), near=host)
        self._config = producer_config(
            part, context.experiment, bootstrap=bootstrap, host=host, seed=context.plan.seed, base=context.base
        )
        self._t0_ns: int | None = None
        # Since when warm-up messages are sent; None: they are not.
        self._warmup_ns: int | None = None
        # Instances that were told to pause.
        self._pausing: set[int] = set()
        self._gates: dict[int, int] = {}
        self.statuses = [ClientStatus() for _ in range(part.instances)]
        processes = make_processes(part, host, self._launch, context.tell, grace_s=self._config.stop_s + 3.0)
        super().__init__(str(part.name), "producer", host, processes)

    def ready(self) -> bool:
        return all(status.ready for status in self.statuses)

    def begin_warmup(self, begin_ns: int) -> None:
        """Let every instance send warm-up messages from this time on, those that are started again, too."""
        if self._part.sends_warmup:
            self._warmup_ns = begin_ns
            for instance in list(self._gates):
                self._write_gate(instance, f"{WARMUP} {begin_ns}")

    def end_warmup(self) -> None:
        """Let no instance send more warm-up messages; ``is_paused`` tells when all of them are answered."""
        if self._warmup_ns is None:
            return
        self._warmup_ns = None
        self._pausing = set(self._gates)
        for instance in list(self._gates):
            self._write_gate(instance, PAUSE)

    def is_paused(self) -> bool:
        """Whether all warm-up messages of the instances that run are acknowledged or given up."""
        return all(
            self.statuses[instance - 1].paused or not self.processes[instance - 1].running
            for instance in list(self._pausing)
        )

    def open_gate(self, t0_ns: int) -> None:
        """Tell every instance when t0 is, those that are started later, too."""
        self._t0_ns = t0_ns
        for instance in list(self._gates):
            self._pass_gate(instance)

    def _pass_gate(self, instance: int) -> None:
        self._write_gate(instance, str(self._t0_ns))
        os.close(self._gates.pop(instance))

    def _write_gate(self, instance: int, line: str) -> None:
        # One that has died already is an event of its own.
        with contextlib.suppress(BrokenPipeError):
            os.write(self._gates[instance], f"{line}\n".encode())

    def stop(self) -> None:
        super().stop()
        for instance in list(self._gates):
            os.close(self._gates.pop(instance))

    def _on_report(self, instance: int, report: dict[str, Any]) -> None:
        self.statuses[instance - 1].update(report)
        if "blocked_ms" in report:
            label = instance_label(self.name, instance, self._part.instances)
            blocked_s = report["blocked_ms"] / 1e3
            self._context.sample("process", label, "blocked_s", blocked_s, at_ns=int(report["at_ns"]))

    def _launch(self, instance: int) -> Process:
        context, status = self._context, self.statuses[instance - 1]
        folder = context.folder
        earlier = folder.journals_of("sent", self.name, instance).values()
        journal, identity = folder.new_journal("sent", self.name, instance)
        truth = folder.raw / journal.name.replace("sent.", "truth.", 1) if self._config.imperfect else None
        config = self._config.to_json() | {
            "instance": instance,
            "incarnation": identity.incarnation,
            "journal": str(journal.absolute()),
            "truth": None if truth is None else str(truth.absolute()),
            "skip": sum(_count_load_rows(path, self._t0_ns) for path in earlier),
        }
        path = f"{WORK}/{self.name}.{instance}.json"
        log = context.log_path(self.host, self.name, instance, self._part.instances)
        status.on_start()
        stdin, gate = os.pipe()
        try:
            process = context.spawn(
                self.host,
                own_python("-m", "stream2gym.clients.producer", path),
                name=self.name,
                log=log,
                stdin=stdin,
                on_line=status_listener(log, partial(self._on_report, instance)),
                files={path: json.dumps(config).encode()},
            )
        finally:
            os.close(stdin)
        # A gate that is left belongs to an earlier start, which ended before t0.
        if instance in self._gates:
            os.close(self._gates.pop(instance))
        self._pausing.discard(instance)
        self._gates[instance] = gate
        if self._t0_ns is not None:
            self._pass_gate(instance)
        elif self._warmup_ns is not None:
            self._write_gate(instance, f"{WARMUP} {self._warmup_ns}")
        return process


def _count_load_rows(journal: Path, t0_ns: int | None) -> int:
    """How many messages of the load a journal has. Those of the warm-up were due before t0."""
    if t0_ns is None:
        return 0
    reader = Reader(journal)
    place, due = reader.layout.offsets["due_ns"]
    size = reader.layout.row_bytes
    return sum(
        due.unpack_from(block, start + place)[0] >= t0_ns
        for block in reader.blocks()
        for start in range(0, len(block), size)
    )
