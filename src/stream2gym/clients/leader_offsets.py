"""Where partitions begin and end, asked of every leader at the same time on a connection of its own.

Nobody waits long for a leader that is dead, cut off or far away: its partitions are unknown until it has answered,
and the question to it stays open meanwhile.
"""

from __future__ import annotations

import struct
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

from stream2gym.clients.cluster_state import WatchedCluster
from stream2gym.clients.kafka_protocol import Connection, Refused
from stream2gym.clients.kafka_state import EARLIEST, LATEST, ask_offsets
from stream2gym.clients.partition_view import Place

# How long an answer waits for all leaders, and how long a question to one stays open.
PATIENCE_S = 0.75
ANSWER_TIMEOUT_S = 10.0


@dataclass(frozen=True)
class LeaderAnswer:
    """What one broker told of the partitions that it leads, and when it was asked and told it."""

    node: int
    asked_ns: int
    starts: dict[Place, int]
    ends: dict[Place, int]
    at_ns: int


class LeaderOffsets:
    """Asks the leaders that the watch of the brokers knows."""

    def __init__(self, brokers: Mapping[int, str], watched: Callable[[], WatchedCluster]) -> None:
        self._brokers = {node: Connection(server, ANSWER_TIMEOUT_S) for node, server in brokers.items()}
        self._watched = watched
        self._pool = ThreadPoolExecutor(max(1, len(brokers)), "s2g-offsets")
        # A connection serves one request at a time.
        self._open: dict[int, Future[LeaderAnswer | None]] = {}
        self._asking = threading.Lock()

    def ask(self, topics: Iterable[str], since_ns: int = 0) -> dict[str, Any] | None:
        """The answer to the request ``offsets_now``; None if the watch does not know all of these topics.

        What a leader was asked before ``since_ns`` does not count.
        """
        wanted = set(topics)
        known = self._watched().partitions
        leaders = {place: part.leader for place, part in known.items() if place[0] in wanted}
        if {topic for topic, _ in leaders} != wanted:
            return None
        with self._asking:
            answers = self._ask_leaders(leaders)
        return describe_offsets(leaders, [answer for answer in answers if answer.asked_ns >= since_ns])

    def _ask_leaders(self, leaders: Mapping[Place, int]) -> list[LeaderAnswer]:
        """The answers that came in time, also to questions that were still open."""
        for node in set(leaders.values()) & set(self._brokers):
            if node not in self._open:
                places = [place for place, leader in leaders.items() if leader == node]
                self._open[node] = self._pool.submit(self._ask_leader, node, places)
        wait(self._open.values(), PATIENCE_S)
        done = [self._open.pop(node) for node, question in list(self._open.items()) if question.done()]
        return [answer for question in done if (answer := question.result()) is not None]

    def _ask_leader(self, node: int, places: list[Place]) -> LeaderAnswer | None:
        """None if it does not answer."""
        broker = self._brokers[node]
        try:
            starts = ask_offsets(broker, places, EARLIEST)
            asked_ns = time.monotonic_ns()
            ends = ask_offsets(broker, places, LATEST)
            return LeaderAnswer(node, asked_ns, starts, ends, (asked_ns + time.monotonic_ns()) // 2)
        except (OSError, struct.error, Refused):
            return None


def describe_offsets(leaders: Mapping[Place, int], answers: Iterable[LeaderAnswer]) -> dict[str, Any]:
    """The answers of leaders together. A partition has a reason where nothing is known of it.

    A broker that was cut off may take itself for the leader still: only the leader of a partition counts.
    """
    of_node = {answer.node: answer for answer in answers}
    answers = list(of_node.values())
    starts, ends = (
        {
            place: getattr(of_node[node], what)[place]
            for place, node in leaders.items()
            if node in of_node and place in getattr(of_node[node], what)
        }
        for what in ("starts", "ends")
    )
    known = [place for place in leaders if place in starts and place in ends]
    moments = [answer.at_ns for answer in answers] or [time.monotonic_ns()]
    return {
        "offsets": [[*place, starts[place], ends[place]] for place in known],
        "unknown": {
            f"{topic}/{number}": "its leader does not answer" if leader >= 0 else "it has no leader"
            for (topic, number), leader in leaders.items()
            if (topic, number) not in known
        },
        "at_ns": max(moments),
    }
