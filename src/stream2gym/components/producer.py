"""A producer: the load client of ours with its configuration, in one or more instances.

It starts early, connects, says ``ready`` and waits at its gate for t0.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from stream2gym.clients.config import Arrivals, Imperfect, Keys, ProducerConfig, Sizes
from stream2gym.components.base import ProcessComponent
from stream2gym.components.cluster import Node
from stream2gym.components.stage import Stage
from stream2gym.components.topics import bootstrap_for, hashes_of, host_number
from stream2gym.components.unit import RestartPolicy, Unit
from stream2gym.components.words import ClientWords, word_listener
from stream2gym.hosts.machine import WORK
from stream2gym.hosts.process import Process
from stream2gym.record.journal import Reader
from stream2gym.spec.model import Experiment, Producer
from stream2gym.units import ByteRate

READY_TIMEOUT_S = 300.0  # it may start long before its topics are there; the run has deadlines of its own
STOP_S, LONGEST_STOP_S = 8.0, 120.0  # from the end of load to giving up on acknowledgements


def producer_config(
    part: Producer, experiment: Experiment, *, bootstrap: str, host: str, seed: int, base: Path
) -> ProducerConfig:
    """What the load client is told, but for the names of its journals."""
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


class ProducerComponent(ProcessComponent):
    """The built-in load client."""

    def __init__(self, stage: Stage, part: Producer, nodes: tuple[Node, ...], base: Path) -> None:
        self._stage, self._part = stage, part
        host = stage.host_of(str(part.name))
        bootstrap = bootstrap_for(stage.experiment, nodes, part.topic_names())
        self._config = producer_config(
            part, stage.experiment, bootstrap=bootstrap, host=host, seed=stage.plan.seed, base=base
        )
        self._t0_ns: int | None = None
        self._gates: dict[int, int] = {}
        self.words = [ClientWords() for _ in range(part.instances)]
        policy = RestartPolicy(part.restart.times, float(part.restart.delay))
        units = [
            Unit(
                str(part.name),
                host,
                lambda _start, instance=instance: self._launch(instance),  # type: ignore[misc]
                stage.tell,
                instance=instance,
                policy=policy,
                grace_s=self._config.stop_s + 3.0,
            )
            for instance in range(1, part.instances + 1)
        ]
        super().__init__(str(part.name), "producer", host, units)

    @property
    def topics(self) -> list[str]:
        return self._part.topic_names()

    @property
    def acknowledged(self) -> int:
        """Messages so far, over all instances and starts."""
        return sum(words.count("acked") for words in self.words)

    def ready(self) -> bool:
        return all(words.ready for words in self.words)

    def open_gate(self, t0_ns: int) -> None:
        """Let the load begin at t0, now and for every later start."""
        self._t0_ns = t0_ns
        for instance in list(self._gates):
            self._pass_gate(instance)

    def _pass_gate(self, instance: int) -> None:
        gate = self._gates.pop(instance)
        try:
            os.write(gate, f"{self._t0_ns}\n".encode())
        except BrokenPipeError:
            pass  # it has died already, which is an event of its own
        finally:
            os.close(gate)

    def stop(self) -> None:
        super().stop()
        for instance in list(self._gates):
            os.close(self._gates.pop(instance))

    def _launch(self, instance: int) -> Process:
        stage, words = self._stage, self.words[instance - 1]
        folder = stage.folder
        earlier = sorted(folder.raw.glob(f"sent.{self.name}.{instance}.*.journal"))
        journal, identity = folder.new_journal("sent", self.name, instance)
        truth = folder.raw / journal.name.replace("sent.", "truth.", 1) if self._config.imperfect else None
        config = self._config.to_json() | {
            "instance": instance,
            "incarnation": identity.incarnation,
            "journal": str(journal.absolute()),
            "truth": None if truth is None else str(truth.absolute()),
            "skip": sum(_rows(path) for path in earlier),
        }
        path = f"{WORK}/{self.name}.{instance}.json"
        log = stage.log_path(self.host, self.name, instance, self._part.instances)
        words.began()
        stdin, gate = os.pipe()
        try:
            process = stage.spawn(
                self.host,
                [sys.executable, "-m", "stream2gym.clients.producer", path],
                name=self.name,
                log=log,
                stdin=stdin,
                on_line=word_listener(log, words.hear),
                files={path: json.dumps(config).encode()},
            )
        finally:
            os.close(stdin)
        self._gates[instance] = gate
        if self._t0_ns is not None:
            self._pass_gate(instance)
        return process


def _rows(journal: Path) -> int:
    reader = Reader(journal)
    return sum(len(block) for block in reader.blocks()) // reader.layout.row_bytes
