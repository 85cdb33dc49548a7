"""For programs that an experiment runs (``app``): what they find in their environment, and how they report.

    from stream2gym.program import bootstrap, is_load_over, report, topics

    producer = Producer({"bootstrap.servers": bootstrap()})
    while not is_load_over():
        ...
    report(sent=sent, failed=failed)

A program needs none of this: the same stands in the variables ``S2G_*``, and a report is a line of its output.
Outside a run, where those variables are not set, the functions return what the caller gives as a default. This module
uses the standard library only, so that a program with a Python of its own may carry a copy of it.
"""

from __future__ import annotations

import json
import os
import time


def name(default: str = "program") -> str:
    """The name of its component."""
    return os.environ.get("S2G_COMPONENT", default)


def instance() -> int:
    """Its number among the instances of the component, from 1."""
    return int(os.environ.get("S2G_INSTANCE", "1"))


def bootstrap(default: str = "localhost:9092") -> str:
    """Addresses of brokers, as Kafka clients take them."""
    return os.environ.get("S2G_BOOTSTRAP", default)


def topics(*default: str) -> list[str]:
    """The topics that the experiment names for it."""
    given = os.environ.get("S2G_TOPICS")
    return list(default) if given is None else [topic for topic in given.split(",") if topic]


def group(default: str = "program") -> str:
    """The group of a consumer."""
    return os.environ.get("S2G_GROUP", default)


def seed() -> int:
    """The seed of the run: what is random should depend on it, and on the instance."""
    return int(os.environ.get("S2G_SEED", "1"))


def load_left_s() -> float:
    """Seconds until the load ends, negative afterwards; infinite where nobody knows: for consumers, outside a run."""
    stop_ns = os.environ.get("S2G_STOP_NS")
    return float("inf") if stop_ns is None else (int(stop_ns) - time.monotonic_ns()) / 1e9


def is_load_over() -> bool:
    """Whether a producer should stop to send, wait for its acknowledgements and exit."""
    return load_left_s() <= 0


def grace_s() -> float:
    """Seconds that it may take to end by itself after the load, before it is asked to."""
    return float(os.environ.get("S2G_GRACE_S", "10"))


def report(event: str | None = None, /, **details: object) -> None:
    """Tell the run numbers, which become samples of this program, or an event with its details."""
    said = details if event is None else {"event": event, **details}
    print(f"S2G {json.dumps(said)}", flush=True)
