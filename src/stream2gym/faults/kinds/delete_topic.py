"""``delete-topic``: topics are gone, or made anew and empty."""

from __future__ import annotations

from stream2gym.components.cluster import property_text
from stream2gym.faults.base import World
from stream2gym.faults.kafka import KafkaAction


class DeleteTopic(KafkaAction):
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
