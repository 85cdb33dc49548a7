"""Who leads every partition, how many replicas are in sync, who is the controller, whenever that changes: from the
observer's watch."""

from __future__ import annotations

from typing import Any

from stream2gym.components.unit import Tell
from stream2gym.monitors.sampler import Sample


class LeadershipMonitor:
    """Listens to the lines of the observer's watch; a change of leader is an event too."""

    def __init__(self, sample: Sample, tell: Tell) -> None:
        self._sample = sample
        self._tell = tell
        self._known: dict[str, list[Any]] = {}
        self._controller: int | None = None

    def hear(self, line: dict[str, Any]) -> None:
        at_ns = int(line.get("at_ns", 0)) or None
        if "controller" in line:
            self._sample("kafka", "cluster", "controller", line["controller"], at_ns=at_ns)
            if self._controller is not None:
                self._tell("controller", at_ns=at_ns, node=line["controller"], before=self._controller)
            self._controller = int(line["controller"])
        for place, state in line.get("watch", {}).items():
            leader, replicas, in_sync = state
            self._sample("kafka", place, "leader", leader, at_ns=at_ns)
            self._sample("kafka", place, "isr", len(in_sync), at_ns=at_ns)
            self._sample("kafka", place, "replicas", len(replicas), at_ns=at_ns)
            before = self._known.get(place)
            self._known[place] = state
            topic, _, partition = place.rpartition("/")
            if before is not None and before[0] != leader:
                self._tell(
                    "leader",
                    at_ns=at_ns,
                    topic=topic,
                    partition=int(partition),
                    leader=leader,
                    before=before[0],
                )
            if before is not None and sorted(before[2]) != sorted(in_sync):
                self._tell(
                    "isr",
                    at_ns=at_ns,
                    topic=topic,
                    partition=int(partition),
                    in_sync=in_sync,
                    before=before[2],
                )
