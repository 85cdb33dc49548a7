"""A leader that does not answer hides the offsets of its own partitions for that long, and no others."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from stream2gym.clients import leader_offsets
from stream2gym.clients.cluster_state import WatchedCluster
from stream2gym.clients.kafka_protocol import Partition
from stream2gym.clients.kafka_state import EARLIEST
from stream2gym.clients.leader_offsets import LeaderOffsets

Place = tuple[str, int]


class Cluster:
    """Stands for two brokers: who leads what, who is dead, and who takes long."""

    def __init__(self) -> None:
        self.leaders: dict[Place, int] = {("t", 0): 1, ("t", 1): 2, ("t", 2): 2}
        self.dead: set[int] = set()
        self.slow: dict[int, threading.Event] = {}
        self.ends: dict[int, int] = {}

    def watched(self) -> WatchedCluster:
        return WatchedCluster(
            5, 1, {place: Partition(1, leader, (1, 2), (1, 2)) for place, leader in self.leaders.items()}
        )

    def ask_offsets(self, broker: Any, places: list[Place], which: int) -> dict[Place, int]:
        node = int(broker._address[0].removeprefix("h"))
        if node in self.dead:
            raise ConnectionRefusedError
        if node in self.slow and which != EARLIEST:
            self.slow[node].wait(10)
        return {place: 0 if which == EARLIEST else self.ends.get(node, 100 + place[1]) for place in places}


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    made = Cluster()
    monkeypatch.setattr(leader_offsets, "ask_offsets", made.ask_offsets)
    monkeypatch.setattr(leader_offsets, "PATIENCE_S", 0.2)
    yield made
    for event in made.slow.values():
        event.set()


@pytest.fixture
def offsets(cluster: Cluster) -> LeaderOffsets:
    return LeaderOffsets({1: "h1:9092", 2: "h2:9092"}, cluster.watched)


def told(offsets: LeaderOffsets) -> tuple[list[list[Any]], dict[str, str]]:
    found = offsets.ask(["t"])
    assert found is not None
    return found["offsets"], found["unknown"]


def test_every_partition_has_its_start_and_its_end(offsets: LeaderOffsets) -> None:
    assert told(offsets) == ([["t", 0, 0, 100], ["t", 1, 0, 101], ["t", 2, 0, 102]], {})


def test_a_dead_leader_hides_its_own_partitions(cluster: Cluster, offsets: LeaderOffsets) -> None:
    cluster.dead = {2}
    silent = "its leader does not answer"
    assert told(offsets) == ([["t", 0, 0, 100]], {"t/1": silent, "t/2": silent})
    # Others lead them now.
    cluster.leaders = dict.fromkeys(cluster.leaders, 1)
    assert told(offsets) == ([["t", 0, 0, 100], ["t", 1, 0, 101], ["t", 2, 0, 102]], {})


def test_a_leader_that_takes_long_is_heard_later_and_delays_nobody(cluster: Cluster, offsets: LeaderOffsets) -> None:
    answers = cluster.slow[1] = threading.Event()
    for _ in range(2):
        assert told(offsets) == (
            [["t", 1, 0, 101], ["t", 2, 0, 102]],
            {"t/0": "its leader does not answer"},
        )
    answers.set()
    assert told(offsets) == ([["t", 0, 0, 100], ["t", 1, 0, 101], ["t", 2, 0, 102]], {})


def test_a_broker_that_takes_itself_for_the_leader_does_not_count(cluster: Cluster, offsets: LeaderOffsets) -> None:
    late = cluster.slow[1] = threading.Event()
    told(offsets)
    # Partition 0 moved while the question was open; its old leader still tells an end of its own.
    cluster.leaders["t", 0] = 2
    cluster.ends[1] = 7
    late.set()
    assert told(offsets) == ([["t", 0, 0, 100], ["t", 1, 0, 101], ["t", 2, 0, 102]], {})


def test_what_a_leader_was_asked_before_does_not_count(cluster: Cluster, offsets: LeaderOffsets) -> None:
    late = cluster.slow[1] = threading.Event()
    told(offsets)
    begin_ns = time.monotonic_ns()
    late.set()
    time.sleep(0.05)  # the answer to the old question comes in
    found = offsets.ask(["t"], begin_ns)
    assert found is not None
    assert found["unknown"] == {"t/0": "its leader does not answer"}
    found = offsets.ask(["t"], begin_ns)
    assert found is not None
    assert found["unknown"] == {}


def test_a_partition_that_nobody_leads_is_not_asked_for(cluster: Cluster, offsets: LeaderOffsets) -> None:
    cluster.leaders["t", 0] = -1
    assert told(offsets) == ([["t", 1, 0, 101], ["t", 2, 0, 102]], {"t/0": "it has no leader"})


def test_a_topic_that_the_watch_does_not_know_is_asked_for_in_another_way(offsets: LeaderOffsets) -> None:
    assert offsets.ask(["t", "new"]) is None
