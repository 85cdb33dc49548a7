"""What faults of Kafka's own share: done once through the observer, nothing to undo.

Kafka may take its time, so the deed has a thread of its own and the other faults keep theirs.
"""

from __future__ import annotations

import threading
from typing import Any

from stream2gym.errors import S2gError
from stream2gym.faults.base import Action, CannotApply, Cluster, World

ASK_S = 10.0
POLL_S = 0.02


class KafkaAction(Action):
    """Subclasses say in ``deed`` what is to be done."""

    _thread: threading.Thread | None = None
    _problem: Exception | None = None

    def apply(self, world: World) -> None:
        self.cluster(world)
        self._thread = threading.Thread(target=self._work, args=(world,), name="s2g-kafka-fault", daemon=True)
        self._thread.start()

    def step(self, world: World, elapsed_s: float) -> float | None:
        if self._thread is not None and self._thread.is_alive():
            return elapsed_s + POLL_S
        if self._problem is not None:
            raise self._problem
        return None

    def _work(self, world: World) -> None:
        try:
            self.deed(world)
        except Exception as error:  # told by the runner, whatever it is
            self._problem = error

    def deed(self, world: World) -> None:
        """What is to be done, at leisure."""
        raise NotImplementedError

    def cluster(self, world: World) -> Cluster:
        if world.cluster is None:
            raise CannotApply("there is no cluster")
        return world.cluster

    def ask(self, world: World, operation: str, **request: Any) -> dict[str, Any]:
        """The cluster's answer; its words when it refuses."""
        try:
            said = self.cluster(world).ask(operation, timeout_s=ASK_S, **request).result(ASK_S + 5.0)
        except S2gError as error:
            raise CannotApply(str(error)) from error
        failed = said.get("failed") or {}
        if failed:
            raise CannotApply("; ".join(f"{place}: {why}" for place, why in failed.items()))
        return said

    def partitions(self, world: World) -> dict[tuple[str, int], list[Any]]:
        """Leader, replicas and in-sync replicas of the partitions that are meant."""
        found = self.ask(world, "describe", topics=list(self.hit))["topics"]
        wanted = getattr(self.settings, "partition", None)
        places = {
            (topic, int(number)): state
            for topic, numbers in found.items()
            for number, state in numbers.items()
            if wanted is None or int(number) == wanted
        }
        if not places:
            raise CannotApply(f"{', '.join(self.hit)} has no such partition")
        return places
