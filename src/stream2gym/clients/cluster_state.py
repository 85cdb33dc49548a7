"""The state of the Kafka cluster at one moment: partitions, end offsets, and groups with their state and lag.

Every broker is asked at the same time, on a connection and a thread that stay, with at most three requests. What the
watch knows (leaders, in-sync sets, the controller) is not asked for again.
"""

from __future__ import annotations

import struct
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from stream2gym.clients.kafka_protocol import Connection, Partition, Refused
from stream2gym.clients.kafka_state import ask_committed, ask_groups, ask_offsets
from stream2gym.clients.partition_view import Place

# How long one broker may take to answer one request.
ANSWER_TIMEOUT_S = 1.0
# Groups of our own clients on the observer host.
_OWN_GROUPS = "s2g-"


@dataclass(frozen=True)
class WatchedCluster:
    """What the watch of the brokers knows at one moment."""

    at_ns: int
    # The node id of the active controller; -1 until it is known.
    controller: int
    partitions: Mapping[Place, Partition]
    # Whether any broker has answered yet.
    is_known: bool = True

    @property
    def under_replicated(self) -> int:
        """Partitions of which a replica is not in sync."""
        return sum(len(part.in_sync) < len(part.replicas) for part in self.partitions.values())

    @property
    def leaderless(self) -> int:
        """Partitions that nobody leads."""
        return sum(part.leader < 0 for part in self.partitions.values())

    def led_by(self, node: int) -> list[Place]:
        """The partitions that this broker leads."""
        return [place for place, part in self.partitions.items() if part.leader == node]


@dataclass(frozen=True)
class BrokerState:
    """What one broker answered."""

    ends: dict[Place, int] = field(default_factory=dict)
    groups: dict[str, str] = field(default_factory=dict)
    committed: dict[str, dict[Place, int]] = field(default_factory=dict)


class ClusterState:
    """Asks all brokers. The last known end of a partition that nobody leads stays: nothing is written to it."""

    def __init__(self, brokers: Mapping[int, str], watched: Callable[[], WatchedCluster]) -> None:
        self._brokers = {node: Connection(server, ANSWER_TIMEOUT_S) for node, server in brokers.items()}
        self._watched = watched
        self._pool = ThreadPoolExecutor(max(1, len(brokers)), "s2g-state")
        self._ends: dict[Place, int] = {}
        # A connection serves one request at a time.
        self._asking = threading.Lock()

    def is_known(self) -> bool:
        """Whether the watch has heard of any broker yet."""
        return self._watched().is_known

    def ask(self) -> dict[str, Any]:
        """The answer to the request ``state``. Refused if no broker answers."""
        with self._asking:
            return self._ask_brokers()

    def _ask_brokers(self) -> dict[str, Any]:
        watched = self._watched()
        answers = dict(
            zip(
                self._brokers,
                self._pool.map(lambda node: self._ask_broker(node, watched), self._brokers),
                strict=True,
            )
        )
        found = [answer for answer in answers.values() if answer is not None]
        if not found:
            raise Refused("no broker answers")
        ends = {place: end for answer in found for place, end in answer.ends.items()}
        # A topic that was deleted has no end any more.
        self._ends = {place: end for place, end in self._ends.items() if place in watched.partitions} | ends
        return {
            "at_ns": watched.at_ns,
            "ends_ns": time.monotonic_ns(),
            "controller": watched.controller,
            "under_replicated": watched.under_replicated,
            "leaderless": watched.leaderless,
            "silent": sorted(node for node, answer in answers.items() if answer is None),
            "ends": [[*place, end] for place, end in ends.items()],
            "groups": list_groups(found, self._ends),
        }

    def _ask_broker(self, node: int, watched: WatchedCluster) -> BrokerState | None:
        """What one broker knows; None if it does not answer."""
        broker = self._brokers[node]
        try:
            groups = {name: state for name, state in ask_groups(broker).items() if not name.startswith(_OWN_GROUPS)}
            committed = ask_committed(broker, list(groups))
            return BrokerState(ask_offsets(broker, watched.led_by(node)), groups, committed)
        except (OSError, struct.error, Refused):
            return None


def list_groups(answers: Iterable[BrokerState], ends: Mapping[Place, int]) -> dict[str, dict[str, Any]]:
    """The state of every group, and its lag where that is known."""
    found: dict[str, dict[str, Any]] = {}
    for answer in answers:
        for group, state in answer.groups.items():
            found[group] = {"state": state}
            lag = committed_lag(answer.committed.get(group, {}), ends)
            if lag is not None:
                found[group]["lag"] = lag
    return found


def committed_lag(committed: Mapping[Place, int], ends: Mapping[Place, int]) -> int | None:
    """How many messages come after what a group has committed; None where no such partition has a known end."""
    known = [(offset, ends[place]) for place, offset in committed.items() if place in ends]
    return sum(max(0, end - offset) for offset, end in known) if known else None
