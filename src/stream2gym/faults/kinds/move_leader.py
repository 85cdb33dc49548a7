"""``move-leader``: another in-sync replica becomes the leader."""

from __future__ import annotations

from stream2gym.faults.action import CannotApply, FaultContext
from stream2gym.faults.kafka_actions import KafkaAction


class MoveLeaderFault(KafkaAction):
    """Another in-sync replica becomes the leader: the named one, or the next."""

    def perform(self, context: FaultContext) -> None:
        to = None if self.settings.to is None else self.cluster(context).node(self.settings.to)
        orders: dict[str, dict[str, list[int]]] = {}
        for (topic, number), (leader, replicas, in_sync) in self.partitions(context).items():
            others = [node for node in replicas if node in in_sync and node != leader]
            chosen = to if to is not None else next(iter(others), None)
            if chosen is None or chosen not in in_sync:
                raise CannotApply(f"{topic}/{number} has no other in-sync replica that could lead it")
            order = [chosen, *(node for node in replicas if node != chosen)]
            orders.setdefault(topic, {})[str(number)] = order
        self.ask(context, "reassign", replicas=orders)
        self.ask(context, "elect", partitions={topic: list(numbers) for topic, numbers in orders.items()})
