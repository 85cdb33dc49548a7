"""``reassign``: the replicas of partitions move."""

from __future__ import annotations

from stream2gym.faults.base import World
from stream2gym.faults.kafka import KafkaAction


class Reassign(KafkaAction):
    """The replicas of partitions are these, the first of them preferred."""

    def deed(self, world: World) -> None:
        nodes = [self.cluster(world).node(name) for name in self.settings.replicas]
        orders: dict[str, dict[str, list[int]]] = {}
        for topic, number in self.partitions(world):
            orders.setdefault(topic, {})[str(number)] = nodes
        self.ask(world, "reassign", replicas=orders)
