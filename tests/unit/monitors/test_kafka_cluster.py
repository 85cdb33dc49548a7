"""What the observer tells of the cluster, as samples and events."""

from __future__ import annotations

from typing import Any

import pytest

from stream2gym.monitors.kafka_cluster import KafkaMonitor, number_of_state
from stream2gym.monitors.leadership import LeadershipMonitor
from tests.unit.monitors.test_monitors import Recorded


def state(**changes: Any) -> dict[str, Any]:
    told = {
        "at_ns": 5, "ends_ns": 6, "controller": 1, "under_replicated": 0, "leaderless": 0, "silent": [],
        "ends": [["t", 0, 10]], "groups": {"g": {"state": "Stable", "lag": 3}},
    }  # fmt: skip
    return told | changes


def test_the_cluster_and_its_groups_are_sampled_at_every_look_and_ends_when_they_moved() -> None:
    recorded = Recorded()
    answers = [state(), state(under_replicated=2, silent=[3]), state(ends=[["t", 0, 12]])]
    monitor = KafkaMonitor(recorded.run(), lambda: answers.pop(0))
    for _ in range(3):
        monitor.look()
    values = [value for obj, metric, value in recorded.samples if (obj, metric) == ("cluster", "under_replicated")]
    assert values == [0, 2, 0]
    ends = [value for obj, metric, value in recorded.samples if (obj, metric) == ("t/0", "end_offset")]
    assert ends == [10, 12]
    assert [value for _, metric, value in recorded.samples if metric == "silent_brokers"] == [0, 1, 0]
    assert recorded.value("cluster", "active_controller") == 1
    assert recorded.value("group g", "lag") == 3
    assert recorded.events == []


def test_a_new_state_of_a_group_is_told_and_an_unknown_lag_is_no_sample() -> None:
    recorded = Recorded()
    answers = [state(groups={"g": {"state": "Stable"}}), state(groups={"g": {"state": "PreparingRebalance"}})]
    monitor = KafkaMonitor(recorded.run(), lambda: answers.pop(0))
    monitor.look()
    monitor.look()
    [event] = recorded.events
    assert (event["event"], event["group"]) == ("group-state", "g")
    assert (event["state"], event["before"]) == ("PreparingRebalance", "Stable")
    assert [metric for _, metric, _ in recorded.samples if metric == "lag"] == []


def test_before_a_controller_is_known_none_is_sampled() -> None:
    recorded = Recorded()
    KafkaMonitor(recorded.run(), lambda: state(controller=-1)).look()
    assert "active_controller" not in {metric for _, metric, _ in recorded.samples}


@pytest.mark.parametrize(("told", "number"), [("Stable", 5), ("Empty", 2), ("SomethingNew", 0)])
def test_states_are_numbers(told: str, number: int) -> None:
    assert number_of_state(told) == number


def test_the_watch_tells_at_once_when_a_partition_lacks_a_replica() -> None:
    recorded = Recorded()
    monitor = LeadershipMonitor(recorded.sample_of, recorded.tell)
    monitor.on_line({"watch": {"t/0": [1, [1, 2], [1]]}, "under_replicated": 1, "leaderless": 0, "at_ns": 9})
    assert recorded.value("cluster", "under_replicated") == 1
    assert recorded.value("cluster", "leaderless") == 0
