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
    """The last words of a built-in client, over all its starts; read by the run, written by the line thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.ready = False
        self.progress: dict[str, Any] = {}
        self._before: dict[str, int] = {}  # counts of earlier starts
        self.problems: list[str] = []

    def began(self) -> None:
        """A new start: what the last one counted is kept."""
        with self._lock:
            for key in ("sent", "acked", "failed", "received"):
                self._before[key] = self._before.get(key, 0) + int(self.progress.get(key, 0))
            self.ready, self.progress = False, {}

    def hear(self, said: dict[str, Any]) -> None:
        with self._lock:
            match said.get("event"):
                case "ready" | "assigned":
                    self.ready = True
                    self.progress |= {k: v for k, v in said.items() if k not in ("event", "at_ns")}
                case "progress" | "done":
                    self.progress |= {k: v for k, v in said.items() if k not in ("event", "at_ns")}
                case "error":
                    self.problems.append(str(said.get("what", "")))

    def count(self, key: str) -> int:
        with self._lock:
            return self._before.get(key, 0) + int(self.progress.get(key, 0))

    def get(self, key: str, default: Any = None) -> Any:
        with self._lock:
            return self.progress.get(key, default)

    def positions(self) -> dict[tuple[str, int], int]:
        """The next offset of every partition that a consumer has read."""
        with self._lock:
            return {
                (topic, int(partition)): int(offset)
                for topic, parts in self.progress.get("positions", {}).items()
                for partition, offset in parts.items()
            }
