"""``move-leader``: another in-sync replica leads."""

from __future__ import annotations

from stream2gym.faults.base import CannotApply, World
from stream2gym.faults.kafka import KafkaAction


class MoveLeader(KafkaAction):
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
