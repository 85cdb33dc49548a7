"""Latency distributions as counts in buckets of equal relative width, which merge and stay small.

A bucket spans values of which none is more than ``ERROR`` larger than another; each bucket keeps the largest
value seen in it, and percentiles are such values: observed ones, at most ``ERROR`` above the exact answer, and
exact while buckets hold one value.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from stream2gym.jsonable import Jsonable

ERROR = 0.008
SERIES_ERROR = 0.06  # over time a coarser look is enough


def bucket_sql(value: str, error: float = ERROR) -> str:
    """Spark SQL for the bucket of a column of nanoseconds; buckets grow with their values.

    Negative values cannot be latencies on one clock; they are taken for 0.
    """
    return f"cast(ln(greatest({value}, 0L) + 1L) * {1 / math.log1p(error):.6f}D as int)"


@dataclass(frozen=True)
class Histogram(Jsonable):
    """Sorted buckets as (largest value in it, count), with what buckets cannot tell: sum and extremes."""

    buckets: tuple[tuple[int, int], ...] = ()
    total_ns: float = 0.0
    min_ns: int = 0
    max_ns: int = 0

    @property
    def count(self) -> int:
        return sum(count for _, count in self.buckets)

    def value(self, stat: str) -> float | None:
        """A statistic in seconds, by its name in expectations; None without values."""
        count = self.count
        if not count:
            return None
        if stat == "mean":
            return self.total_ns / count / 1e9
        if stat in ("min", "max"):
            return (self.min_ns if stat == "min" else self.max_ns) / 1e9
        rank = math.ceil(count * float(stat.removeprefix("p")) / 100 - 1e-9)
        seen = 0
        for largest, number in self.buckets:
            seen += number
            if seen >= rank:
                return largest / 1e9
        return self.max_ns / 1e9


@dataclass
class HistogramBuilder:
    """Collects buckets that Spark counted."""

    buckets: dict[int, tuple[int, int]] = field(default_factory=dict)
    total_ns: float = 0.0
    min_ns: int | None = None
    max_ns: int = 0

    def add(self, bucket: int, count: int, total_ns: float, min_ns: int, max_ns: int) -> None:
        largest, number = self.buckets.get(bucket, (0, 0))
        self.buckets[bucket] = (max(largest, max_ns), number + count)
        self.total_ns += total_ns
        self.min_ns = min_ns if self.min_ns is None else min(self.min_ns, min_ns)
        self.max_ns = max(self.max_ns, max_ns)

    def build(self) -> Histogram:
        buckets = tuple(self.buckets[bucket] for bucket in sorted(self.buckets))
        return Histogram(buckets, self.total_ns, self.min_ns or 0, self.max_ns)


def merge(histograms: Iterable[Histogram]) -> Histogram:
    """One histogram of all values."""
    counts: dict[int, int] = {}
    total_ns, lowest, highest = 0.0, [], 0
    for histogram in histograms:
        if not histogram.buckets:
            continue
        for largest, count in histogram.buckets:
            counts[largest] = counts.get(largest, 0) + count
        total_ns += histogram.total_ns
        lowest.append(histogram.min_ns)
        highest = max(highest, histogram.max_ns)
    return Histogram(tuple(sorted(counts.items())), total_ns, min(lowest, default=0), highest)
