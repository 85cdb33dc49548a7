"""Counts how late packets were delivered, in buckets whose bounds grow by a tenth."""

from __future__ import annotations

from bisect import bisect_left

from stream2gym.fabric.protocol import Lateness

_FIRST_US = 4.0
_GROWTH = 1.1
_LONGEST_US = 20e6
# Below 16.8 ms, a table with steps of 4 us finds the bucket.
_SHIFT, _FINE = 12, 4096


def _bounds() -> tuple[float, ...]:
    bounds = [_FIRST_US]
    while bounds[-1] < _LONGEST_US:
        bounds.append(round(bounds[-1] * _GROWTH, 3))
    return tuple(bounds)


BOUNDS_US = _bounds()
_BOUNDS_NS = tuple(bound * 1e3 for bound in BOUNDS_US)
_TABLE = tuple(bisect_left(_BOUNDS_NS, (step << _SHIFT) + (1 << _SHIFT - 1)) for step in range(_FINE))


class LatenessCounter:
    """Counts packets in buckets. A packet beyond the last bound is counted in the last bucket."""

    __slots__ = ("_counts", "_worst_ns")

    def __init__(self) -> None:
        self._counts = [0] * len(BOUNDS_US)
        self._worst_ns = 0

    def add(self, late_ns: int) -> None:
        step = late_ns >> _SHIFT
        if 0 <= step < _FINE:
            self._counts[_TABLE[step]] += 1
        else:
            self._counts[min(bisect_left(_BOUNDS_NS, late_ns), len(BOUNDS_US) - 1)] += 1
        self._worst_ns = max(self._worst_ns, late_ns)

    def snapshot(self) -> Lateness:
        return Lateness(BOUNDS_US, tuple(self._counts), self._worst_ns / 1e3)
