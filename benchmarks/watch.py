"""Looks at processes from outside: who belongs to a command, what each holds, and whether that grows."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median


@dataclass(frozen=True)
class Held:
    """What a process holds at a moment."""

    fds: int
    own_mb: float  # memory that is its own: what grows when something leaks
    pss_mb: float  # with its share of what it maps together with others


def descendants(pid: int) -> list[int]:
    """A process and everything below it."""
    children: dict[int, list[int]] = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            parent = int(Path("/proc", name, "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        children.setdefault(parent, []).append(int(name))
    found, queue = [], [pid]
    while queue:
        one = queue.pop()
        found.append(one)
        queue += children.get(one, [])
    return found


def command_of(pid: int) -> str:
    """Its command line; empty when it is gone."""
    try:
        return Path("/proc", str(pid), "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def held_by(pid: int) -> Held | None:
    """None when it is gone."""
    try:
        fds = len(os.listdir(f"/proc/{pid}/fd"))
        own = _kilobytes(Path(f"/proc/{pid}/status").read_text(), "RssAnon:")
        pss = _kilobytes(Path(f"/proc/{pid}/smaps_rollup").read_text(), "Pss:")
    except (OSError, ValueError):
        return None
    return Held(fds, own / 1024, pss / 1024)


def _kilobytes(text: str, name: str) -> float:
    for line in text.splitlines():
        if line.startswith(name):
            return float(line.split()[1])
    raise ValueError(name)


@dataclass(frozen=True)
class Trend:
    """A series over time: its level at the start, in the middle and at the end, and how much a line rises."""

    start: float
    middle: float
    end: float
    growth: float  # over the whole time, by the median of all slopes, which outliers do not move

    def __str__(self) -> str:
        return f"{self.start:.4g} → {self.middle:.4g} → {self.end:.4g} ({self.growth:+.3g})"


def trend(times: Sequence[float], values: Sequence[float]) -> Trend:
    """Of at least three values; the levels are medians of thirds."""
    third = max(1, len(values) // 3)
    step = max(1, len(values) // 300)  # pairs grow with the square
    xs, ys = times[::step], values[::step]
    slopes = [
        (ys[j] - ys[i]) / (xs[j] - xs[i]) for i in range(len(xs)) for j in range(i + 1, len(xs)) if xs[j] > xs[i]
    ]
    rise = median(slopes) * (times[-1] - times[0]) if slopes else 0.0
    return Trend(median(values[:third]), median(values[third:-third] or values), median(values[-third:]), rise)
