"""The base of faults that are requests to Kafka itself. They are done once through the observer and not undone.

Kafka may take long to answer, so each such fault has a thread of its own. Other faults stay punctual.
"""

from __future__ import annotations

import threading
from typing import Any

from stream2gym.errors import S2gError
from stream2gym.faults.action import Action, CannotApply, Cluster, FaultContext

ASK_S = 10.0
POLL_S = 0.02


class KafkaAction(Action):
    """A fault that is a request to Kafka. Subclasses send the request in ``perform``."""

    _thread: threading.Thread | None = None
    _problem: Exception | None = None

    def apply(self, context: FaultContext) -> None:
        self.cluster(context)
        self._thread = threading.Thread(target=self._work, args=(context,), name="s2g-kafka-fault", daemon=True)
        self._thread.start()

    def step(self, context: FaultContext, elapsed_s: float) -> float | None:
        if self._thread is not None and self._thread.is_alive():
            return elapsed_s + POLL_S
        if self._problem is not None:
            raise self._problem
        return None

    def _work(self, context: FaultContext) -> None:
        try:
            self.perform(context)
        except Exception as error:  # ``step`` raises it, so that the runner reports it
            self._problem = error

    def perform(self, context: FaultContext) -> None:
        """Send the requests to Kafka. It runs in a thread and may take long."""
        raise NotImplementedError

    def cluster(self, context: FaultContext) -> Cluster:
        """The cluster; CannotApply in an experiment without one."""
        if context.cluster is None:
            raise CannotApply("there is no cluster")
        return context.cluster

    def ask(self, context: FaultContext, operation: str, **request: Any) -> dict[str, Any]:
        """Send a request and return the answer. CannotApply holds the reason of a refusal."""
        try:
            said = self.cluster(context).ask(operation, timeout_s=ASK_S, **request).result(ASK_S + 5.0)
        except S2gError as error:
            raise CannotApply(str(error)) from error
        failed = said.get("failed") or {}
        if failed:
            raise CannotApply("; ".join(f"{partition}: {why}" for partition, why in failed.items()))
        return said

    def partitions(self, context: FaultContext) -> dict[tuple[str, int], list[Any]]:
        """The partitions that the fault is about, each with its leader, replicas and in-sync replicas."""
        found = self.ask(context, "describe", topics=list(self.hit))["topics"]
        wanted = getattr(self.settings, "partition", None)
        partitions = {
            (topic, int(number)): state
            for topic, numbers in found.items()
            for number, state in numbers.items()
            if wanted is None or int(number) == wanted
        }
        if not partitions:
            raise CannotApply(f"{', '.join(self.hit)} has no such partition")
        return partitions
