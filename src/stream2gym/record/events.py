"""What happened, one JSON object a line: ``events.jsonl`` of a run folder.

Each event is one write to a file opened for appending, so that several processes may add to it and a killed
one leaves no half line in the middle. ``at_ns`` is CLOCK_MONOTONIC as it is; readers get ``t_s``, the seconds
from t0, when they say what t0 was. ``wall`` is the machine's clock, for people only.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any


class EventLog:
    """The writer."""

    def __init__(self, path: Path) -> None:
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)

    def add(self, kind: str, *, at_ns: int | None = None, **details: Any) -> dict[str, Any]:
        """Write an event down and return it as written."""
        event = {
            "at_ns": time.monotonic_ns() if at_ns is None else at_ns,
            "wall": round(time.time(), 6),
            "event": kind,
            **details,
        }
        os.write(self._fd, (json.dumps(event, default=str) + "\n").encode())
        return event

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def read_events(path: Path, t0_ns: int | None = None) -> Iterator[dict[str, Any]]:
    """Every whole event in the order of writing; a torn last line (a full disk) is left out."""
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
