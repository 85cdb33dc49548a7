"""What a Kafka Streams program reported of itself: the state of its clients and the numbers of Kafka's own metrics.

The reports are those of the launcher (``clients/java/StreamsLauncher.java``). Counts become differences and rates,
because a program that starts again counts from zero.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from stream2gym.components.topics import TopicPartition

RUNNING, REBALANCING, ERROR = "RUNNING", "REBALANCING", "ERROR"
# Numbers that are reported as totals since the start, with the name of what came since the last report.
_COUNTED = {"processed": "rows", "commits": "commits", "dropped": "dropped_rows", "sends": "sends"}
_GAUGES = (
    "commit_ms", "e2e_ms", "failed_threads", "lag", "partitions", "rebalances", "restoring_tasks", "state_bytes",
    "state_rows", "threads",
)  # fmt: skip


class StreamsReport:
    """What one program has reported since its last start. The line thread updates it, the run reads it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._lock = threading.Lock()
        self._clock = clock
        self._totals: dict[str, float] = {}
        self._assigned: set[TopicPartition] = set()
        self._reported_s: float | None = None
        # The last state of its client; empty before the first.
        self.state = ""
        # Whether it has named its partitions since it came into this state.
        self.has_named_partitions = False
        # The application that it says to be, which is its group; empty until it has said so.
        self.application = ""

    def on_start(self) -> None:
        """The program starts again: it counts from zero and holds nothing."""
        with self._lock:
            self._totals = {}
            self._assigned = set()
            self._reported_s = None
            self.state = ""
            self.has_named_partitions = False

    def take_state(self, report: Mapping[str, Any]) -> str:
        """Take the state over. Returns it if it is another one than before."""
        state = str(report.get("state", ""))
        with self._lock:
            if not state or state == self.state:
                return ""
            self.state = state
            self.has_named_partitions = False
            return state

    def take_numbers(self, report: Mapping[str, Any]) -> list[tuple[str, float]]:
        """Take numbers and assigned partitions over. Returns metric and value of every sample."""
        numbers = report.get("numbers")
        if not isinstance(numbers, Mapping):
            return []
        with self._lock:
            self._assigned = set(assigned_in(report))
            self.has_named_partitions = True
            self.application = str(report.get("application") or "") or self.application
            now_s = self._clock()
            before_s, self._reported_s = self._reported_s, now_s
            passed_s = None if before_s is None else now_s - before_s
            return list(self._samples(numbers, passed_s))

    def assigned(self) -> set[TopicPartition]:
        """The partitions that it holds now."""
        with self._lock:
            return set(self._assigned)

    def _samples(self, numbers: Mapping[str, Any], passed_s: float | None) -> Iterator[tuple[str, float]]:
        for key, metric in _COUNTED.items():
            total = numbers.get(key)
            if not isinstance(total, int | float):
                continue
            # A thread that was replaced takes its count along.
            gained = max(0.0, total - self._totals.get(key, 0.0))
            self._totals[key] = float(total)
            yield metric, gained
            if metric == "rows" and passed_s:
                yield "rows_a_second", gained / passed_s
        for key in _GAUGES:
            value = numbers.get(key)
            if isinstance(value, int | float):
                yield key, float(value)


def assigned_in(report: Mapping[str, Any]) -> Iterator[TopicPartition]:
    """The partitions that a report names."""
    for place in report.get("assigned", ()):
        if isinstance(place, list) and len(place) == 2:
            yield str(place[0]), int(place[1])
