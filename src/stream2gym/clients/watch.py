"""Watches who leads the partitions and who controls the cluster: every broker is asked by itself, again and again.

One that is cut off or stands still neither knows what happens nor may keep the others waiting, so each has threads
and connections of its own. What is said are the lines that ``stream2gym.clients.admin`` promises.
"""

from __future__ import annotations

import contextlib
import struct
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from stream2gym.clients import rawkafka
from stream2gym.clients.beliefs import Beliefs

ANSWER_S = 2.0  # what a broker may take to say what it knows
CONTROLLER = 5  # so much more seldom every broker is asked for the controller, whom it asks in turn

Say = Callable[[dict[str, Any]], None]
Look = Callable[[int, rawkafka.Connection], None]


class Watch:
    """What the brokers believe, each asked from threads of its own; says what changes."""

    def __init__(self, topics: Sequence[str], say: Say) -> None:
        self._topics, self._say = topics, say
        self._beliefs, self._epoch, self._controller = Beliefs(), -1, -1
        self._lock = threading.Lock()

    def at_topics(self, node: int, broker: rawkafka.Connection) -> None:
        topics = rawkafka.topics(broker, self._topics)
        at_ns = time.monotonic_ns()
        with self._lock:
            changed = self._beliefs.hear(node, topics)
            if changed:
                states = {
                    f"{name}/{number}": [told.leader, list(told.replicas), list(told.in_sync)]
                    for (name, number), told in changed.items()
                }
                self._say({"watch": states, "at_ns": at_ns})

    def at_controller(self, _node: int, broker: rawkafka.Connection) -> None:
        epoch, controller = rawkafka.controller(broker)
        at_ns = time.monotonic_ns()
        with self._lock:
            if epoch > self._epoch and controller != self._controller:
                self._say({"controller": controller, "at_ns": at_ns})
                self._controller = controller
            self._epoch = max(epoch, self._epoch)


def follow(look: Look, node: int, broker: rawkafka.Connection, every_s: float) -> None:
    """Look again and again."""
    due = time.monotonic()
    while True:
        with contextlib.suppress(OSError, struct.error, rawkafka.Refused):  # it is down, or cut off
            look(node, broker)
        due = max(due + every_s, time.monotonic())
        time.sleep(max(0.0, due - time.monotonic()))


def watch_brokers(brokers: Mapping[int, str], topics: Sequence[str], every_s: float, say: Say) -> None:
    """From now on, to the end of the process; ``brokers`` are addresses by node id."""
    watch = Watch(topics, say)
    for node, server in brokers.items():
        looks = ((watch.at_topics, every_s), (watch.at_controller, CONTROLLER * every_s))
        for look, pause_s in looks:  # one that waits for the controller does not keep the other waiting
            asking = (look, node, rawkafka.Connection(server, ANSWER_S), pause_s)
            threading.Thread(target=follow, args=asking, daemon=True).start()
