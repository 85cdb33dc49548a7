"""What a process of the run says: ``S2G {json}`` lines to whoever listens, every other line to its log.

Of a program of the user's: ``S2G {"event": NAME, ...}`` is an event, ``S2G {"metric": NAME, "value": X}`` a sample,
and in any other object each number is a sample under its key.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

MARK = b"S2G "
Place = tuple[str, int]  # topic and partition
Told = Callable[[dict[str, Any]], None]


def word_listener(log: Path, told: Told) -> Callable[[bytes], None]:
    """A listener of lines for one start of a process."""

    def on_line(line: bytes) -> None:
        said = parse_word(line)
        if said is None:
            with contextlib.suppress(OSError):
                _append(log, line + b"\n")
        else:
            told(said)

    return on_line


def parse_word(line: bytes) -> dict[str, Any] | None:
    """The object of an ``S2G`` line; None for any other line."""
    if not line.startswith(MARK):
        return None
    try:
        said = json.loads(line[len(MARK) :])
    except ValueError:
        return None
    return said if isinstance(said, dict) else None


def samples_in(said: dict[str, Any]) -> Iterator[tuple[str, float]]:
    """Metric and value of every number that a program reported."""
    if "metric" in said and _is_number(said.get("value")):
        yield str(said["metric"]), float(said["value"])
        return
    for key, value in said.items():
        if _is_number(value) and key != "at_ns":
            yield key, float(value)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _append(path: Path, data: bytes) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
    try:
        os.write(fd, data)
    finally:
        os.close(fd)


class ClientWords:
    """The last words of a built-in client, over all its starts; written by the line thread, read by the run."""

    COUNTS = ("sent", "acked", "failed", "received")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.ready = False
        self.problems: list[str] = []
        self._counts: dict[str, int] = {}
        self._before: dict[str, int] = {}  # counts of earlier starts
        self._assigned: set[Place] = set()
        self._positions: dict[Place, int] = {}
        self._positions_ns = 0  # when it spoke of them last: those that it did not name had not changed

    def began(self) -> None:
        """A new start: what the last one counted is kept."""
        with self._lock:
            self._before = {key: self._before.get(key, 0) + self._counts.get(key, 0) for key in self.COUNTS}
            self._counts = {}
            self._assigned.clear()
            self.ready = False

    def hear(self, said: dict[str, Any]) -> None:
        with self._lock:
            match said.get("event"):
                case "ready":
                    self.ready = True
                case "assigned":
                    self.ready = True
                    places = {(topic, int(number)): int(at) for topic, number, at in said["partitions"]}
                    self._assigned |= set(places)
                    self._positions |= {place: at for place, at in places.items() if at >= 0}
                case "revoked":
                    self._assigned -= {(topic, int(number)) for topic, number in said["partitions"]}
                case "error":
                    self.problems.append(str(said.get("what", "")))
            for topic, number, at in said.get("positions", ()):
                self._positions[topic, int(number)] = int(at)
            if "positions" in said or said.get("event") == "assigned":
                self._positions_ns = int(said.get("at_ns", 0))
            self._counts |= {key: int(said[key]) for key in self.COUNTS if key in said}

    def count(self, key: str) -> int:
        with self._lock:
            return self._before.get(key, 0) + self._counts.get(key, 0)

    def assigned(self) -> set[Place]:
        """The partitions that a consumer holds now."""
        with self._lock:
            return set(self._assigned)

    def positions(self) -> dict[Place, int]:
        """The next offset of every partition that a consumer has held."""
        return self.told_positions()[1]

    def told_positions(self) -> tuple[int, dict[Place, int]]:
        """The same, and when that was so."""
        with self._lock:
            return self._positions_ns, dict(self._positions)
