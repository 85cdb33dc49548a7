"""Samples the Kafka cluster through the observer: partitions, end offsets, groups with their state and lag."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stream2gym.kinds.monitor_sources import KAFKA
from stream2gym.monitors.monitor import Monitor, MonitoredRun

CLUSTER = "cluster"
GROUP = "group "
# The states of groups as numbers. The first is for states that a later Kafka may have.
GROUP_STATES = (
    "Unknown", "Dead", "Empty", "PreparingRebalance", "CompletingRebalance", "Stable", "Assigning", "Reconciling",
    "NotReady",
)  # fmt: skip


class KafkaMonitor(Monitor):
    """Asks the observer once a look. An end offset is sampled when it has changed; a new state of a group is told."""

    KIND = KAFKA

    def __init__(self, run: MonitoredRun, ask: Callable[[], dict[str, Any]]) -> None:
        super().__init__(run)
        self._ask = ask
        self._ends: dict[str, int] = {}
        self._states: dict[str, str] = {}

    def look(self) -> None:
        state = self._ask()
        at_ns, ends_ns = int(state["at_ns"]), int(state["ends_ns"])
        for metric in ("under_replicated", "leaderless"):
            self.run.sample(CLUSTER, metric, state[metric], at_ns=at_ns)
        self.run.sample(CLUSTER, "silent_brokers", len(state["silent"]), at_ns=at_ns)
        if state["controller"] >= 0:
            self.run.sample(CLUSTER, "active_controller", state["controller"], at_ns=at_ns)
        for topic, number, end in state["ends"]:
            place = f"{topic}/{number}"
            if self._ends.get(place) != end:
                self._ends[place] = end
                self.run.sample(place, "end_offset", end, at_ns=ends_ns)
        for group, told in state["groups"].items():
            self._note_group(group, told, ends_ns)

    def _note_group(self, group: str, told: dict[str, Any], at_ns: int) -> None:
        state = str(told["state"])
        self.run.sample(GROUP + group, "state", number_of_state(state), at_ns=at_ns)
        if "lag" in told:
            self.run.sample(GROUP + group, "lag", told["lag"], at_ns=at_ns)
        before = self._states.get(group)
        self._states[group] = state
        if before not in (None, state):
            self.run.tell("group-state", at_ns=at_ns, group=group, state=state, before=before)


def number_of_state(state: str) -> int:
    """The number that stands for the state of a group in samples."""
    return GROUP_STATES.index(state) if state in GROUP_STATES else 0
