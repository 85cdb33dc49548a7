"""Combines the answers of many brokers about partitions into one view.

A broker that is cut off repeats what was true before. Of two answers about a partition the one with the higher epoch
is the later one. With the same epoch only the answer of the leader itself changes the view, because followers learn
of changes with a delay, or not at all when they are cut off.
"""

from __future__ import annotations

from collections.abc import Mapping

from stream2gym.clients.kafka_protocol import Partition, Topic

Place = tuple[str, int]  # topic, number of the partition


class PartitionView:
    """The latest known state of every partition."""

    def __init__(self) -> None:
        self._partitions: dict[Place, Partition] = {}
        self._topic_ids: dict[str, str] = {}
        self._deleted_ids: set[str] = set()  # of topics that at least one broker has seen deleted
        self._last_ids: dict[int, dict[str, str]] = {}  # by broker: the topic ids of its last answer

    def update(self, node: int, topics: Mapping[str, Topic]) -> dict[Place, Partition]:
        """Take in the answer of a broker. Returns the partitions that it changes."""
        self._forget_deleted(node, {name: topic.id for name, topic in topics.items()})
        changed = {}
        for name, topic in topics.items():
            if topic.id in self._deleted_ids or self._topic_ids.setdefault(name, topic.id) != topic.id:
                continue
            for number, answered in topic.partitions.items():
                known = self._partitions.get((name, number))
                if known is None or _is_later(node, answered, known):
                    self._partitions[name, number] = changed[name, number] = answered
        return changed

    def partitions(self) -> dict[Place, Partition]:
        """Every known partition."""
        return dict(self._partitions)

    def _forget_deleted(self, node: int, ids: dict[str, str]) -> None:
        """A topic that this broker knew and does not know any more was deleted; other brokers may still name it."""
        for name, topic_id in self._last_ids.get(node, {}).items():
            if ids.get(name) != topic_id:
                self._deleted_ids.add(topic_id)
                if self._topic_ids.get(name) == topic_id:
                    del self._topic_ids[name]
                    for place in [place for place in self._partitions if place[0] == name]:
                        del self._partitions[place]
        self._last_ids[node] = ids


def _is_later(node: int, answered: Partition, known: Partition) -> bool:
    if answered.epoch != known.epoch:
        return answered.epoch > known.epoch
    return answered.leader == node and answered != known
