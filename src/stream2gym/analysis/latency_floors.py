"""The shortest latency that a message can have: the sum of the configured latencies of its path. Pure."""

from __future__ import annotations

from math import inf

from stream2gym.analysis.inputs import Inputs
from stream2gym.analysis.job_history import MOVED, find_jobs
from stream2gym.components.engine_hosts import hosts_of_engine
from stream2gym.kinds.registry import registry
from stream2gym.plan.talking_paths import NetworkPaths


class LatencyFloors:
    """The shortest latencies between clients over the nearest broker; 0 where a link may be faster than
    configured."""

    def __init__(self, inputs: Inputs) -> None:
        self._hosts_of = {name: [host] for name, host in inputs.host_of.items()}
        for engine in inputs.experiment.engines:
            self._hosts_of[str(engine.name)] = hosts_of_engine(engine, inputs.experiment, inputs.plan)
        for job in find_jobs(inputs.events):
            if job.did == MOVED:
                self._hosts_of.setdefault(job.component, []).append(job.to)
        self._brokers = [part.host for part in inputs.plan.components if part.kind == "broker"]
        settings = [way for link in inputs.plan.network.links for way in (link.forward, link.backward)]
        changed = any(_may_shorten_latency(str(event["do"])) for event in inputs.events if event.get("do"))
        varies = any(way.jitter_ms or way.reorder for way in settings)
        steady = not changed and not varies and inputs.plan.network.routing.reconverge_ms is None
        self._paths = NetworkPaths(inputs.plan.network) if steady else None
        self._known: dict[tuple[str, str], float] = {}

    def delivery_s(self, producer: str, consumer: str) -> float:
        """From the producer over a broker to the consumer."""
        return self._over_brokers(producer, consumer)

    def acknowledgement_s(self, producer: str) -> float:
        """From the producer to a broker and back."""
        return self._over_brokers(producer, producer)

    def _over_brokers(self, source: str, target: str) -> float:
        if self._paths is None:
            return 0.0
        found = (
            self._one_way_s(first, broker) + self._one_way_s(broker, last)
            for broker in self._brokers
            for first in self._hosts_of.get(source, ())
            for last in self._hosts_of.get(target, ())
        )
        shortest_s = min(found, default=0.0)
        return 0.0 if shortest_s == inf else shortest_s

    def _one_way_s(self, source: str, target: str) -> float:
        if source == target or self._paths is None:
            return 0.0
        if (source, target) not in self._known:
            path = self._paths.path(source, target)
            ways = None if path is None else self._paths.settings(path)
            self._known[source, target] = inf if ways is None else sum(way.latency_ms for way in ways) / 1e3
        return self._known[source, target]


def _may_shorten_latency(fault: str) -> bool:
    """Whether a kind of fault may make messages faster. It may if it does not say, or if its plug-in is not here."""
    kind = registry("fault").find(fault)
    return kind is None or kind.shortens_latency is not False
