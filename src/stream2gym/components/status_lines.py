"""Status lines: a process of the run reports with ``S2G {json}`` lines; its other lines go to its log.

A program of the user's may report, too. ``S2G {"event": NAME, ...}`` becomes an event and
``S2G {"metric": NAME, "value": X}`` a sample. In any other object each number becomes a sample under its key.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from stream2gym.components.topics import TopicPartition

MARK = b"S2G "
ReportListener = Callable[[dict[str, Any]], None]


def status_listener(log: Path, listener: ReportListener) -> Callable[[bytes], None]:
    """A function that takes the lines of a process: reports go to ``listener``, other lines to the log."""

    def on_line(line: bytes) -> None:
        report = parse_status_line(line)
        if report is None:
            with contextlib.suppress(OSError):
                _append(log, line + b"\n")
        else:
            listener(report)

    return on_line


def parse_status_line(line: bytes) -> dict[str, Any] | None:
    """The object of a status line; None for any other line."""
    if not line.startswith(MARK):
        return None
    try:
        report = json.loads(line[len(MARK) :])
    except ValueError:
        return None
    return report if isinstance(report, dict) else None


def samples_in(report: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Metric and value of every finite number in a report of a program. NaN would be neither small nor large."""
    for metric, value in _numbers_in(report):
        if math.isfinite(value):
            yield metric, value


def odd_numbers_in(report: Mapping[str, Any]) -> list[str]:
    """The metrics of a report whose values are infinite or not a number."""
    return [metric for metric, value in _numbers_in(report) if not math.isfinite(value)]


def is_number(value: object) -> bool:
    """Whether a value of a report is a number; true and false are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _numbers_in(report: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    if "metric" in report and is_number(report.get("value")):
        yield str(report["metric"]), float(report["value"])
        return
    for key, value in report.items():
        if is_number(value) and key != "at_ns":
            yield key, float(value)


def _append(path: Path, data: bytes) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
    try:
        os.write(fd, data)
    finally:
        os.close(fd)


class ClientStatus:
    """What a built-in client has reported, over all its starts. The line thread updates it, the run reads it."""

    COUNTS = ("sent", "acked", "failed", "received")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.ready = False
        # Whether every warm-up message is answered since it was told to pause.
        self.paused = False
        self.problems: list[str] = []
        self._counts: dict[str, int] = {}
        # Counts of earlier starts.
        self._before: dict[str, int] = {}
        self._assigned: set[TopicPartition] = set()
        self._positions: dict[TopicPartition, int] = {}
        # When it last reported positions: those that it did not name had not changed.
        self._positions_ns = 0

    def on_start(self) -> None:
        """The client starts again: it counts from zero, and what it counted before is added."""
        with self._lock:
            self._before = {key: self._before.get(key, 0) + self._counts.get(key, 0) for key in self.COUNTS}
            self._counts = {}
            self._assigned.clear()
            self.ready = self.paused = False

    def update(self, report: dict[str, Any]) -> None:
        """Take over what one status line reports."""
        with self._lock:
            match report.get("event"):
                case "ready":
                    self.ready = True
                case "paused":
                    self.paused = True
                case "assigned":
                    self.ready = True
                    places = {(topic, int(number)): int(at) for topic, number, at in report["partitions"]}
                    self._assigned |= set(places)
                    self._positions |= {place: at for place, at in places.items() if at >= 0}
                case "revoked":
                    self._assigned -= {(topic, int(number)) for topic, number in report["partitions"]}
                case "error":
                    self.problems.append(str(report.get("what", "")))
            for topic, number, at in report.get("positions", ()):
                self._positions[topic, int(number)] = int(at)
            if "positions" in report or report.get("event") == "assigned":
                self._positions_ns = int(report.get("at_ns", 0))
            self._counts |= {key: int(report[key]) for key in self.COUNTS if key in report}

    def count(self, key: str) -> int:
        """How many messages it has counted under this key (one of ``COUNTS``), over all its starts."""
        with self._lock:
            return self._before.get(key, 0) + self._counts.get(key, 0)

    def assigned(self) -> set[TopicPartition]:
        """The partitions that a consumer holds now."""
        with self._lock:
            return set(self._assigned)

    def positions(self) -> dict[TopicPartition, int]:
        """The next offset of every partition that a consumer has held."""
        return self.timed_positions()[1]

    def timed_positions(self) -> tuple[int, dict[TopicPartition, int]]:
        """When the positions were reported last (nanoseconds), and the positions."""
        with self._lock:
            return self._positions_ns, dict(self._positions)
