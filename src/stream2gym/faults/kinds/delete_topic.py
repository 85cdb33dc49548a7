"""``delete-topic``: topics are deleted, and created again if wanted."""

from __future__ import annotations

from stream2gym.components.cluster import property_text
from stream2gym.faults.action import FaultContext
from stream2gym.faults.kafka_actions import KafkaAction


class DeleteTopicFault(KafkaAction):
    """Topics are deleted; with ``again`` they are created again, empty."""

    def perform(self, context: FaultContext) -> None:
        self.ask(context, "delete_topics", topics=list(self.hit))
        if self.settings.again:
            topics = [topic for topic in context.experiment.topics if topic.name in self.hit]
            made = [
                {
                    "name": topic.name,
                    "partitions": topic.partitions,
                    "replicas": topic.replicas,
                    "config": {key: property_text(value) for key, value in topic.config.items()},
                }
                for topic in topics
            ]
            self.ask(context, "create", topics=made)
