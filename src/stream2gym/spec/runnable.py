"""Which parts of an experiment this version runs, and which it only reads and checks.

A kind of fault, engine or store declares this itself (``Kind.runnable``). ``PARTS`` declares it for everything else.
The network always runs.
"""

from __future__ import annotations

from stream2gym.kinds.registry import registry
from stream2gym.spec.model.experiment import Experiment

# Part of an experiment -> whether this version runs it. Each type of broker is a part of its own.
PARTS: dict[str, bool] = {
    "kafka broker": True,
    "rabbitmq broker": True,
    "topic": True,
    "producer": True,
    "consumer": True,
    "sink": True,
    "source": True,
    "trace": True,
    "expectation": True,
}


def not_runnable(experiment: Experiment) -> list[str]:
    """One sentence for each part of the experiment that this version cannot run."""
    found: list[str] = []

    def note(runs: bool, what: str, does: str = "run") -> None:
        if not runs:
            found.append(f"{what} is read and checked, but this version cannot {does} it yet.")

    for broker in experiment.brokers:
        note(PARTS[f"{broker.type} broker"], f"The {broker.type} broker {broker.name}")
    for topic in experiment.topics:
        note(PARTS["topic"], f"The topic {topic.name}", "make")
    for kind in ("producer", "consumer", "sink", "source"):
        for part in getattr(experiment, f"{kind}s"):
            note(PARTS[kind], f"The {kind} {part.name}")
    for engine in experiment.engines:
        declared = registry("engine").find(engine.type)
        note(declared is not None and declared.runnable, f"The engine {engine.name} of type {engine.type}")
    for store in experiment.stores:
        declared = registry("store").find(store.type)
        note(declared is not None and declared.runnable, f"The store {store.name} of type {store.type}")
    for fault in experiment.faults:
        declared = registry("fault").find(fault.do)
        note(declared is not None and declared.runnable, f"The fault {fault.name} of kind {fault.do}", "inject")
    for trace in experiment.trace:
        note(PARTS["trace"], f"The trace from {trace.from_} to {trace.to}", "follow")
    for text in experiment.expect:
        note(PARTS["expectation"], f"The expectation {text!r}", "judge")
    return found
