"""Samples the leader and the in-sync replicas of every partition, and the controller, whenever they change.

The observer's watch tells the changes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stream2gym.components.component_process import Tell


class LeadershipMonitor:
    """Takes the lines of the observer's watch. Every change after the first line is also an event."""

    def __init__(self, sample: Callable[..., None], tell: Tell) -> None:
        self._sample = sample
        self._tell = tell
        self._known: dict[str, list[Any]] = {}
        self._controller: int | None = None

    def on_line(self, line: dict[str, Any]) -> None:
        """Record what one line of the watch tells."""
        at_ns = int(line.get("at_ns", 0)) or None
        if "controller" in line:
            self._sample("kafka", "cluster", "controller", line["controller"], at_ns=at_ns)
            if self._controller is not None:
                self._tell("controller", at_ns=at_ns, node=line["controller"], before=self._controller)
            self._controller = int(line["controller"])
        for metric in ("under_replicated", "leaderless"):
            if metric in line:
                self._sample("kafka", "cluster", metric, line[metric], at_ns=at_ns)
        for place, state in line.get("watch", {}).items():
            leader, replicas, in_sync = state
            self._sample("kafka", place, "leader", leader, at_ns=at_ns)
            self._sample("kafka", place, "isr", len(in_sync), at_ns=at_ns)
            self._sample("kafka", place, "replicas", len(replicas), at_ns=at_ns)
            before = self._known.get(place)
            self._known[place] = state
            if before is None:
                continue
            topic, _, number = place.rpartition("/")
            where: dict[str, Any] = {"at_ns": at_ns, "topic": topic, "partition": int(number)}
            if before[0] != leader:
                self._tell("leader", **where, leader=leader, before=before[0])
            if sorted(before[2]) != sorted(in_sync):
                self._tell("isr", **where, in_sync=in_sync, before=before[2])
