"""How far groups are behind that read from queues of RabbitMQ, and what is left in the queues at the end.

A queue tells how many messages are ready for the next consumer, and not how many its consumers hold without having
acknowledged them. So a group is known to be done when nothing is ready and it has received as many messages as were
acknowledged to the producers; or when nothing is ready and it has received nothing for a while. What is left for good
is asked when the consumers have left: then no message is unacknowledged.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from stream2gym.components.consumer import ConsumerComponent
from stream2gym.components.observer import Observer, Question
from stream2gym.components.producer import ProducerComponent
from stream2gym.components.rabbitmq_cluster import GroupQueue
from stream2gym.components.topics import TopicPartition
from stream2gym.errors import StartFailed
from stream2gym.spec.model import Experiment

EVERY_S = 0.5
TIMEOUT_S = 10.0
# The nodes drop the connection of a consumer that was killed behind a cut link after two heartbeats.
LEAVE_S = 25.0
ASK_AGAIN_S = 0.5


def queue_questions(queues: Sequence[GroupQueue]) -> list[dict[str, str]]:
    """The queues as the admin client takes them, each once."""
    return [{"name": name, "kind": kind} for name, kind in {queue.name: queue.kind for queue in queues}.items()]


def count_acknowledged(experiment: Experiment, acknowledged: Mapping[str, int]) -> dict[str, int] | None:
    """How many messages of each topic producers have acknowledged; None if a producer writes to several topics.

    ``acknowledged`` has the counts of the producers by name.
    """
    found: dict[str, int] = {}
    for part in experiment.producers:
        topics = part.topic_names()
        if part.app is not None or len(topics) != 1 or part.acks == 0:
            return None
        found[topics[0]] = found.get(topics[0], 0) + acknowledged.get(str(part.name), 0)
    return found


class QueueTracker:
    """Asks the nodes a few times a second what is ready in the queues. Any thread may call it.

    It takes the place of a ``LagTracker``: ``ends`` counts the messages that each group has received of each topic,
    which stands still when nothing more comes.
    """

    def __init__(
        self,
        observer: Observer,
        experiment: Experiment,
        queues: Sequence[GroupQueue],
        consumers: Sequence[ConsumerComponent],
        producers: Sequence[ProducerComponent],
    ) -> None:
        self._observer = observer
        self._experiment = experiment
        self._queues = queues
        self._consumers = consumers
        self._producers = producers
        self._lock = threading.Lock()
        self._asked: Question | None = None
        self._next_question_s = 0.0
        # Messages that are ready and not received; None while some queue is unknown.
        self.behind: int | None = None
        self.ends: dict[TopicPartition, int] = {}
        # The messages ready for each group at the time ``lag_ns``, which is 0 until they are known.
        self.lag: dict[str, int] = {}
        self.lag_ns = 0

    def poll(self) -> int | None:
        """Take the answer that has come and ask the next question. Never waits.

        Returns how many messages are behind, by the last answer; None while some queue is unknown.
        """
        with self._lock:
            if self._asked is not None and self._asked.done:
                question, self._asked = self._asked, None
                self.behind = self._take_answer(question)
            now = time.monotonic()
            if self._asked is None and now >= self._next_question_s:
                self._next_question_s = now + EVERY_S
                wanted = queue_questions(self._queues)
                self._asked = self._observer.ask("queues", queues=wanted, timeout_s=TIMEOUT_S)
            return self.behind

    @property
    def total_lag(self) -> int | None:
        """The messages ready for all groups together; None until they are known."""
        return sum(self.lag.values()) if self.lag_ns else None

    def read_to_end(self) -> dict[str, list[tuple[str, int, int]]]:
        """Programs of the user's are not observed with RabbitMQ."""
        return {}

    def has_all_received(self) -> bool:
        """Whether every group has received as many messages as were acknowledged. False if nobody can count them."""
        counts = {part.name: sum(status.count("acked") for status in part.statuses) for part in self._producers}
        acknowledged = count_acknowledged(self._experiment, counts)
        if acknowledged is None:
            return False
        wanted: dict[str, int] = {}
        for queue in self._queues:
            wanted[queue.group] = wanted.get(queue.group, 0) + acknowledged.get(queue.topic, 0)
        received = self._received()
        return all(received.get(group, 0) >= number for group, number in wanted.items())

    def _received(self) -> dict[str, int]:
        """How many messages the members of each group have received together."""
        found: dict[str, int] = {}
        for consumer in self._consumers:
            for group, status in zip(consumer.groups, consumer.statuses, strict=True):
                found[group] = found.get(group, 0) + status.count("received")
        return found

    def _take_answer(self, question: Question) -> int | None:
        try:
            found = question.result()
        except StartFailed:
            return None
        received = self._received()
        topics = {queue.topic for queue in self._queues}
        self.ends = {(topic, 0): sum(received.values()) for topic in topics}
        ready = {queue: self._count_ready(queue, found["queues"]) for queue in self._queues}
        known = {queue: number for queue, number in ready.items() if number is not None}
        self.lag = {queue.group: 0 for queue in known}
        for queue, number in known.items():
            self.lag[queue.group] += number
        self.lag_ns = int(found["at_ns"])
        return sum(known.values()) if len(known) == len(ready) else None

    def _count_ready(self, queue: GroupQueue, told: Mapping[str, Any]) -> int | None:
        """The messages that a group has not been given of a topic; None if nobody knows."""
        state = told.get(queue.name)
        if state is None:
            return None
        if queue.kind != "stream":
            return int(state["ready"])
        return max(0, int(state["end"]) - self._position(queue))

    def _position(self, queue: GroupQueue) -> int:
        """The next offset of a stream that a group would read."""
        return max(
            (
                status.positions().get((queue.topic, 0), 0)
                for consumer in self._consumers
                for group, status in zip(consumer.groups, consumer.statuses, strict=True)
                if group == queue.group
            ),
            default=0,
        )


def find_queue_ends(
    observer: Observer,
    queues: Sequence[GroupQueue],
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> tuple[dict[str, dict[str, int]], dict[str, str]]:
    """What is left in each queue when its consumers have left; and why nobody knows that of the others."""
    wanted = queue_questions(queues)
    deadline = clock() + LEAVE_S
    while True:
        told = observer.query("queues", TIMEOUT_S, queues=wanted, certain=True)
        found, unknown = dict(told["queues"]), dict(told["unknown"])
        read = {queue["name"] for queue in wanted if queue["kind"] != "stream"}
        held = {name: state["consumers"] for name, state in found.items() if state["consumers"] and name in read}
        if (not held and not unknown) or clock() >= deadline:
            break
        sleep(ASK_AGAIN_S)
    for name, consumers in held.items():
        del found[name]
        unknown[name] = f"its {consumers} consumers have not left it, and may hold messages"
    return found, unknown
