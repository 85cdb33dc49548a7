"""The state of a cluster from the answers of its brokers."""

from __future__ import annotations

from typing import Any

import pytest

from stream2gym.clients import cluster_state
from stream2gym.clients.cluster_state import BrokerState, ClusterState, WatchedCluster, committed_lag, list_groups
from stream2gym.clients.kafka_protocol import Connection, Partition, Refused

HEALTHY = Partition(1, 1, (1, 2), (1, 2))
LACKING = Partition(1, 2, (1, 2), (2,))
LOST = Partition(2, -1, (1, 2), ())


class Cluster:
    """Stands for brokers: what each answers, by node."""

    def __init__(self) -> None:
        self.groups: dict[int, dict[str, str]] = {1: {"g": "Stable", "s2g-observer": "Empty"}, 2: {}}
        self.committed: dict[str, dict[tuple[str, int], int]] = {"g": {("t", 0): 4, ("t", 1): 1}}
        self.ends = {("t", 0): 10, ("t", 1): 6}
        self.dead: set[int] = set()
        self.partitions = {("t", 0): HEALTHY, ("t", 1): LACKING}
        self.asked: list[str] = []

    def node(self, broker: Any) -> int:
        number = int(broker._address[0].removeprefix("h"))
        if number in self.dead:
            raise ConnectionRefusedError
        return number

    def watched(self) -> WatchedCluster:
        return WatchedCluster(5, 1, dict(self.partitions))

    def ask_groups(self, broker: Connection) -> dict[str, str]:
        return self.groups[self.node(broker)]

    def ask_committed(self, _broker: Connection, groups: list[str]) -> dict[str, dict[tuple[str, int], int]]:
        self.asked += groups
        return {group: self.committed[group] for group in groups}

    def ask_offsets(self, _broker: Connection, places: list[tuple[str, int]]) -> dict[tuple[str, int], int]:
        return {place: self.ends[place] for place in places}


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    made = Cluster()
    for name in ("ask_groups", "ask_committed", "ask_offsets"):
        monkeypatch.setattr(cluster_state, name, getattr(made, name))
    return made


def state_of(cluster: Cluster) -> ClusterState:
    return ClusterState({1: "h1:9092", 2: "h2:9092"}, cluster.watched)


def test_partitions_that_lack_a_replica_or_a_leader_are_counted() -> None:
    watched = WatchedCluster(1, 1, {("t", 0): HEALTHY, ("t", 1): LACKING, ("t", 2): LOST})
    assert (watched.under_replicated, watched.leaderless) == (2, 1)
    assert watched.led_by(1) == [("t", 0)]


def test_each_broker_tells_of_what_it_leads_and_coordinates(cluster: Cluster) -> None:
    told = state_of(cluster).ask()
    assert (told["under_replicated"], told["leaderless"], told["controller"], told["silent"]) == (1, 0, 1, [])
    assert sorted(told["ends"]) == [["t", 0, 10], ["t", 1, 6]]
    assert told["groups"] == {"g": {"state": "Stable", "lag": 6 + 5}}
    assert cluster.asked == ["g"], "our own groups are not asked for"


def test_a_broker_that_is_silent_is_named_and_its_last_ends_still_count(cluster: Cluster) -> None:
    state = state_of(cluster)
    state.ask()
    cluster.dead.add(2)
    cluster.partitions[("t", 1)] = LOST
    told = state.ask()
    assert told["silent"] == [2]
    assert told["ends"] == [["t", 0, 10]], "an end that nobody told is no sample"
    assert told["groups"]["g"]["lag"] == 11


def test_a_topic_that_was_deleted_counts_for_no_lag(cluster: Cluster) -> None:
    state = state_of(cluster)
    state.ask()
    del cluster.partitions[("t", 1)]
    assert state.ask()["groups"]["g"]["lag"] == 6


def test_when_nobody_answers_there_is_no_state(cluster: Cluster) -> None:
    cluster.dead = {1, 2}
    with pytest.raises(Refused, match="no broker answers"):
        state_of(cluster).ask()


def test_lag_is_unknown_where_nothing_is_committed_and_never_below_zero() -> None:
    assert committed_lag({}, {("t", 0): 5}) is None
    assert committed_lag({("other", 0): 5}, {("t", 0): 5}) is None
    assert committed_lag({("t", 0): 9}, {("t", 0): 5}) == 0
    assert list_groups([BrokerState(groups={"g": "Empty"})], {}) == {"g": {"state": "Empty"}}
