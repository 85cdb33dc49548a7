"""Checks of the warm-up: somebody must send it, and what it waits for must be able to happen."""

from __future__ import annotations

from collections.abc import Iterator

from stream2gym.spec.checks.experiment_index import ExperimentIndex
from stream2gym.spec.findings import DataPath, Finding
from stream2gym.spec.model.components import Engine
from stream2gym.spec.model.experiment import Experiment


def check_warmup(index: ExperimentIndex) -> Iterator[Finding]:
    """Check that built-in producers send the warm-up, and that an engine with ``ready: batch`` can get a batch."""
    experiment = index.experiment
    if index.lost("producers"):
        return
    if experiment.warmup and not any(producer.sends_warmup for producer in experiment.producers):
        what = "nobody sends warm-up messages: only built-in producers do, programs of yours and sources begin at t0"
        yield Finding(("warmup",), what, "leave it out, or add a producer of type STANDARD")
    for number, engine in enumerate(experiment.engines):
        if engine.settings.get("ready") == "batch" and engine.type.lower() == "spark":
            yield from _check_batch(experiment, engine, ("engines", number, "settings"))


def _check_batch(experiment: Experiment, engine: Engine, path: DataPath) -> Iterator[Finding]:
    if engine.settings.get("mode") == "real-time":
        what = "real-time mode reports its first batch only when that long batch ends, so nobody can wait for it"
        yield Finding((*path, "ready"), what, "ready: query, with warmup: 10 s for the experiment")
    senders = [producer for producer in experiment.producers if producer.sends_warmup]
    if not senders:
        what = "without data Spark runs no batch, and no built-in producer sends warm-up messages"
        yield Finding((*path, "ready"), what, "ready: query, or add a producer of type STANDARD")
        return
    reads = engine.settings.get("reads")
    reads = [reads] if isinstance(reads, str) else reads
    others = [other for other in experiment.engines if other is not engine and other.app is not None]
    programs = [client for client in experiment.consumers if client.app is not None]
    if not reads or others or programs:
        # It may read any topic, or what another engine or a program writes.
        return
    sent_to = {topic for producer in senders for topic in producer.topic_names()}
    if not sent_to & set(map(str, reads)):
        what = f"no built-in producer sends warm-up messages to {', '.join(map(str, reads))}, so no batch would come"
        yield Finding((*path, "ready"), what, f"a producer with topic: {reads[0]}, or ready: query")
