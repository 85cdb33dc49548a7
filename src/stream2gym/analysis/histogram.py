"""Distributions of latencies as counts in buckets of equal relative width, which stay small and can be merged.

No value of a bucket is more than ``ERROR`` larger than another one. A bucket keeps the largest value that was seen in
it, and a percentile is such a value. So a percentile is an observed value, at most ``ERROR`` above the exact one, and
exact where buckets hold one value.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from stream2gym.jsonable import Jsonable

ERROR = 0.008
SERIES_ERROR = 0.06  # for series over time, for which coarser buckets are enough


def bucket_sql(value: str, error: float = ERROR) -> str:
    """Spark SQL for the number of the bucket of a value in nanoseconds. A negative value counts as 0."""
    return f"cast(ln(greatest({value}, 0L) + 1L) * {1 / math.log1p(error):.6f}D as int)"


@dataclass(frozen=True)
class Histogram(Jsonable):
    """Sorted buckets as (largest value, count), and the sum and the extremes of all values."""

    buckets: tuple[tuple[int, int], ...] = ()
    total_ns: float = 0.0
    min_ns: int = 0
    max_ns: int = 0

    @property
    def count(self) -> int:
        return sum(count for _, count in self.buckets)

    def value(self, stat: str, beyond: int = 0) -> float | None:
        """A statistic in seconds, by its name in expectations. None: there are no values.

        ``beyond`` further values count as infinite.
        """
        count = self.count
        if not count + beyond:
            return None
        if stat == "min":
            return self.min_ns / 1e9 if count else math.inf
        if stat in ("mean", "max"):
            if beyond:
                return math.inf
            return (self.total_ns / count if stat == "mean" else self.max_ns) / 1e9
        rank = math.ceil((count + beyond) * float(stat.removeprefix("p")) / 100 - 1e-9)
        seen = 0
        for largest, number in self.buckets:
            seen += number
            if seen >= rank:
                return largest / 1e9
        return math.inf if beyond else self.max_ns / 1e9


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


@dataclass
class SplitBuilder:
    """Collects the buckets of all messages, and of those messages alone that met no severely suspect time."""

    whole: HistogramBuilder = field(default_factory=HistogramBuilder)
    clear: HistogramBuilder = field(default_factory=HistogramBuilder)
    is_split: bool = False

    def add(self, bucket: int, count: int, total_ns: float, min_ns: int, max_ns: int, *, severe: bool) -> None:
        self.whole.add(bucket, count, total_ns, min_ns, max_ns)
        if severe:
            self.is_split = True
        else:
            self.clear.add(bucket, count, total_ns, min_ns, max_ns)

    def build(self) -> Histogram:
        return self.whole.build()

    def build_clear(self) -> Histogram | None:
        """The histogram without the messages that met severely suspect time. None: no message did."""
        return self.clear.build() if self.is_split else None


def merge_histograms(histograms: Iterable[Histogram]) -> Histogram:
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
