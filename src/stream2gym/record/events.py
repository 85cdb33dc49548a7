"""The events of a run, one JSON object in each line: ``events.jsonl`` of the run folder.

Each event is one write to a file that is open for appending. So several processes may add events, and a process that
is killed leaves no half line in the middle. ``at_ns`` is a reading of CLOCK_MONOTONIC. Readers that give t0 also get
``t_s``, the seconds from t0. ``wall`` is a reading of the machine's wall clock, for people only.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any


class EventLog:
    """Appends events to the file."""

    def __init__(self, path: Path) -> None:
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)

    def add(self, kind: str, *, at_ns: int | None = None, **details: Any) -> dict[str, Any]:
        """Write an event. Returns it as it was written."""
        event = {
            "at_ns": time.monotonic_ns() if at_ns is None else at_ns,
            "wall": round(time.time(), 6),
            "event": kind,
            **details,
        }
        os.write(self._fd, (json.dumps(event, default=str) + "\n").encode())
        return event

    def end_line(self) -> None:
        """End a line that a full disk left unfinished, so that the next event has a line of its own."""
        os.write(self._fd, b"\n")

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def read_events(path: Path, t0_ns: int | None = None) -> Iterator[dict[str, Any]]:
    """Every event in the order of writing. A line that a full disk left unfinished is left out."""
    try:
        lines = path.read_bytes().splitlines()
    except FileNotFoundError:
        return
    for line in lines:
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if not isinstance(event, dict):
            continue
        if t0_ns is not None:
            event["t_s"] = (event["at_ns"] - t0_ns) / 1e9
        yield event
