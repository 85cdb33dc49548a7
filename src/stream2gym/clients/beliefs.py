"""What is true of the partitions, when every broker is asked and those that are cut off answer with what was.

A higher epoch is the later truth. With the same epoch only the leader's own word changes what is known: followers are
told by and by, and one that is cut off stays where it was.
"""

from __future__ import annotations

from collections.abc import Mapping

from stream2gym.clients.rawkafka import Partition, Topic

Place = tuple[str, int]


class Beliefs:
    """The latest of all answers."""

    def __init__(self) -> None:
        self._known: dict[Place, Partition] = {}
        self._ids: dict[str, str] = {}  # of the topics that are known
        self._dead: set[str] = set()  # ids of topics that some broker has seen go
        self._told: dict[int, dict[str, str]] = {}  # by broker: the ids of its last answer

    def hear(self, node: int, topics: Mapping[str, Topic]) -> dict[Place, Partition]:
        """A broker's answer; what it changes."""
        self._bury(node, {name: topic.id for name, topic in topics.items()})
        changed = {}
        for name, topic in topics.items():
            if topic.id in self._dead or self._ids.setdefault(name, topic.id) != topic.id:
                continue
            for number, told in topic.partitions.items():
                known = self._known.get((name, number))
                if known is None or self._later(node, told, known):
                    self._known[name, number] = changed[name, number] = told
        return changed

    def _bury(self, node: int, ids: dict[str, str]) -> None:
        """What this broker knew and knows no more was deleted; others may not have heard of it."""
        for name, id_ in self._told.get(node, {}).items():
            if ids.get(name) != id_:
                self._dead.add(id_)
                if self._ids.get(name) == id_:
                    del self._ids[name]
                    self._known = {place: told for place, told in self._known.items() if place[0] != name}
        self._told[node] = ids

    @staticmethod
    def _later(node: int, told: Partition, known: Partition) -> bool:
        if told.epoch != known.epoch:
            return told.epoch > known.epoch
        return told.leader == node and told != known
