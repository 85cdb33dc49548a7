"""Faults of Kafka's own: leadership moved, replicas moved, records or topics deleted. Done once, nothing to undo.

Kafka may take its time, so the deed has a thread of its own and the other faults keep theirs.
"""

from __future__ import annotations

import threading
from typing import Any

from stream2gym.components.cluster import property_text
from stream2gym.errors import S2gError
from stream2gym.faults.base import Action, CannotApply, Cluster, World

ASK_S = 10.0
POLL_S = 0.02


class _KafkaAction(Action):
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


class MoveLeader(_KafkaAction):
    """Another in-sync replica leads: the named one, or the next."""

    def deed(self, world: World) -> None:
        to = None if self.settings.to is None else self.cluster(world).node(self.settings.to)
        orders: dict[str, dict[str, list[int]]] = {}
        for (topic, number), (leader, replicas, in_sync) in self.partitions(world).items():
            others = [node for node in replicas if node in in_sync and node != leader]
            chosen = to if to is not None else next(iter(others), None)
            if chosen is None or chosen not in in_sync:
                raise CannotApply(f"{topic}/{number} has no other replica in sync to lead it")
            order = [chosen, *(node for node in replicas if node != chosen)]
            orders.setdefault(topic, {})[str(number)] = order
        self.ask(world, "reassign", replicas=orders)
        self.ask(world, "elect", partitions={topic: list(numbers) for topic, numbers in orders.items()})


class Reassign(_KafkaAction):
    """The replicas of partitions are these, the first of them preferred."""

    def deed(self, world: World) -> None:
        nodes = [self.cluster(world).node(name) for name in self.settings.replicas]
        orders: dict[str, dict[str, list[int]]] = {}
        for topic, number in self.partitions(world):
            orders.setdefault(topic, {})[str(number)] = nodes
        self.ask(world, "reassign", replicas=orders)


class DeleteRecords(_KafkaAction):
    """The oldest records are gone: those before an offset, a share of them, or all."""

    def deed(self, world: World) -> None:
        places = self.partitions(world)
        rows = self.ask(world, "offsets", topics=list(self.hit))["offsets"]
        before: dict[str, dict[str, int]] = {}
        for topic, number, start, end in rows:
            if (topic, number) in places:
                before.setdefault(topic, {})[str(number)] = self._mark(start, end)
        self.ask(world, "delete", before=before)

    def _mark(self, start: int, end: int) -> int:
        if self.settings.before is not None:
            return max(start, min(int(self.settings.before), end))
        share = 1.0 if self.settings.share is None else float(self.settings.share)
        return start + int((end - start) * share)


class DeleteTopic(_KafkaAction):
    """Topics are gone; ``again`` makes them anew, empty."""

    def deed(self, world: World) -> None:
        self.ask(world, "delete_topics", topics=list(self.hit))
        if self.settings.again:
            topics = [topic for topic in world.experiment.topics if topic.name in self.hit]
            made = [
                {
                    "name": topic.name,
                    "partitions": topic.partitions,
                    "replicas": topic.replicas,
                    "config": {key: property_text(value) for key, value in topic.config.items()},
                }
                for topic in topics
            ]
            self.ask(world, "create", topics=made)
