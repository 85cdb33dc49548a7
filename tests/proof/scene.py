"""The stage of the proof: a small cluster under load, in pieces that a case changes."""

from __future__ import annotations

from typing import Any

from tests.proof.case import Keys

QUICK = {
    "broker.session.timeout.ms": 3000,
    "broker.heartbeat.interval.ms": 500,
    "replica.lag.time.max.ms": 4000,
}
SAFE = {"min.insync.replicas": 2}
PARTITIONS = 3


def experiment(**changes: Any) -> Keys:
    """Three brokers, a producer at 1000 messages a second, a consumer."""
    return {
        "s2g": 1,
        "name": "proof",
        "topology": {
            "hosts": [f"h{n}" for n in range(1, 6)],
            "switches": ["s1"],
            "links": [f"h{n} -- s1: 1 ms" for n in range(1, 6)],
        },
        "kafka": {"config": QUICK},
        "brokers": [{"on": "h1"}, {"on": "h2"}, {"on": "h3"}],
        "topics": [{"name": "in", "partitions": PARTITIONS, "replicas": 3, "config": SAFE}],
        "producers": [producer("gen", "in")],
        "consumers": [consumer("see", ["in"], "g")],
        "expect": ["lost == 0", "in_flight == 0"],
        "time": "18 s",
        "drain": "60 s",
    } | changes


def producer(name: str, topic: str, client: Keys | None = None, **changes: Any) -> Keys:
    """Few requests on their way at once, so that batches grow where a broker is slow."""
    plain = {"on": "h4", "rate": "1000/s", "size": "100 B", "keys": 100, "acks": "all", "linger": "20 ms"}
    few = {"max.in.flight": 5}
    return {"name": name, "topic": topic, "client": few | (client or {})} | plain | changes


def consumer(name: str, topics: list[str], group: str, **changes: Any) -> Keys:
    return {"name": name, "on": "h5", "topics": topics, "group": group} | changes


def fault(name: str, do: str, at_s: float, for_s: float | None = None, **more: Any) -> Keys:
    lasts = {} if for_s is None else {"for": f"{for_s} s"}
    return {"name": name, "do": do, "at": f"{at_s} s"} | lasts | more
