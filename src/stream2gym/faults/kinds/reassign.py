"""``reassign``: the replicas of partitions move to other brokers."""

from __future__ import annotations

from stream2gym.faults.action import FaultContext
from stream2gym.faults.kafka_actions import KafkaAction


class ReassignFault(KafkaAction):
    """The replicas of partitions move to the named brokers. The first one is the preferred leader."""

    def perform(self, context: FaultContext) -> None:
        nodes = [self.cluster(context).node(name) for name in self.settings.replicas]
        orders: dict[str, dict[str, list[int]]] = {}
        for topic, number in self.partitions(context):
            orders.setdefault(topic, {})[str(number)] = nodes
        self.ask(context, "reassign", replicas=orders)
