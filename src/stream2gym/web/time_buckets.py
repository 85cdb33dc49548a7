"""Numbers over time in a bounded number of buckets.

All buckets are equally wide. When a run outlasts them, they become twice as wide and neighbours are merged, so that
the memory for a run does not grow with its length.
"""

from __future__ import annotations

from typing import Literal

WIDTH_NS = 500_000_000
MOST_BUCKETS = 1440
# Latencies of one bucket that percentiles are computed from.
MOST_VALUES = 256
MOST_SERIES = 20_000

Merge = Literal["sum", "last"]
Key = tuple[str, str, str]  # source, object, metric


class Series:
    """The numbers of one series by bucket. ``sum`` adds up what falls into a bucket, ``last`` keeps the latest."""

    def __init__(self, merge: Merge) -> None:
        self.merge = merge
        self.by_bucket: dict[int, float] = {}

    def add(self, bucket: int, value: float) -> None:
        """Take one number into a bucket."""
        if self.merge == "sum":
            self.by_bucket[bucket] = self.by_bucket.get(bucket, 0.0) + value
        else:
            self.by_bucket[bucket] = value

    def halve(self) -> None:
        """Merge every two neighbours."""
        old, self.by_bucket = self.by_bucket, {}
        for bucket in sorted(old):
            self.add(bucket // 2, old[bucket])


class TimeBuckets:
    """Every series of a run, and the latencies of which percentiles are shown."""

    def __init__(self, origin_ns: int, width_ns: int = WIDTH_NS, most: int = MOST_BUCKETS) -> None:
        self.origin_ns = origin_ns
        self.width_ns = width_ns
        self._most = most
        self._series: dict[Key, Series] = {}
        self._latencies: dict[int, list[float]] = {}
        # How many numbers were left out because there were too many series.
        self.left_out = 0

    def bucket(self, at_ns: int) -> int:
        """The number of the bucket of a moment. Moments before the origin fall into the first one."""
        return max(0, (at_ns - self.origin_ns) // self.width_ns)

    def start_ns(self, bucket: int) -> int:
        """The moment at which a bucket begins."""
        return self.origin_ns + bucket * self.width_ns

    def list_keys(self) -> list[Key]:
        """The series that are there."""
        return list(self._series)

    def add(self, key: Key, at_ns: int, value: float) -> None:
        """Add to what happened in the bucket of this moment."""
        self._take(key, "sum", self._make_room(at_ns), value)

    def set(self, key: Key, at_ns: int, value: float) -> None:
        """Note the state at this moment."""
        self._take(key, "last", self._make_room(at_ns), value)

    def spread(self, key: Key, from_ns: int, to_ns: int, value: float) -> None:
        """Share an amount among the buckets between two moments, by their parts of the time."""
        last = self._make_room(to_ns)
        first = self.bucket(from_ns)
        if to_ns <= from_ns or first == last:
            self._take(key, "sum", last, value)
            return
        for bucket in range(first, last + 1):
            begins, ends = self.start_ns(bucket), self.start_ns(bucket + 1)
            share = (min(ends, to_ns) - max(begins, from_ns)) / (to_ns - from_ns)
            self._take(key, "sum", bucket, value * share)

    def add_latency(self, at_ns: int, latency_s: float) -> None:
        """Note the latency of one message that was received at this moment."""
        values = self._latencies.setdefault(self._make_room(at_ns), [])
        if len(values) < MOST_VALUES:
            values.append(latency_s)

    def value(self, key: Key, bucket: int, carry: int = 0) -> float | None:
        """The number of a bucket; if it has none, of the latest one within ``carry`` buckets before it."""
        series = self._series.get(key)
        if series is None:
            return None
        for number in range(bucket, max(bucket - carry, 0) - 1, -1):
            if (found := series.by_bucket.get(number)) is not None:
                return found
        return None

    def latest(self, key: Key, bucket: int) -> float | None:
        """The number of the latest bucket up to this one that has one."""
        return self.value(key, bucket, bucket)

    def carried(self, key: Key, first: int, last: int) -> list[float | None]:
        """The numbers of these buckets; one without a number has that of the latest one before it."""
        series = self._series.get(key)
        now = self.latest(key, first)
        numbers = []
        for bucket in range(first, last + 1):
            now = now if series is None else series.by_bucket.get(bucket, now)
            numbers.append(now)
        return numbers

    def is_sum(self, key: Key) -> bool:
        """Whether the series counts what happened; otherwise it notes a state."""
        series = self._series.get(key)
        return series is not None and series.merge == "sum"

    def rate(self, key: Key, bucket: int) -> float:
        """What happened in a bucket, for each second."""
        return (self.value(key, bucket) or 0.0) * 1e9 / self.width_ns

    def total(self, key: Key, bucket: int) -> float:
        """What happened up to the end of a bucket."""
        series = self._series.get(key)
        return 0.0 if series is None else sum(value for at, value in series.by_bucket.items() if at <= bucket)

    def latency(self, bucket: int, share: float) -> float | None:
        """A percentile of the latencies of a bucket."""
        values = sorted(self._latencies.get(bucket, ()))
        return values[min(len(values) - 1, int(share * len(values)))] if values else None

    def latencies_until(self, bucket: int) -> list[float]:
        """The latencies of all buckets up to this one, in order."""
        return sorted(value for at, values in self._latencies.items() if at <= bucket for value in values)

    def buckets_with_latency(self) -> list[int]:
        """The buckets in which messages were received whose latency is known."""
        return sorted(self._latencies)

    def buckets_of(self, key: Key) -> list[int]:
        """The buckets in which a series has a number other than 0."""
        series = self._series.get(key)
        return [] if series is None else sorted(at for at, value in series.by_bucket.items() if value)

    def _take(self, key: Key, merge: Merge, bucket: int, value: float) -> None:
        series = self._series.get(key)
        if series is None:
            if len(self._series) >= MOST_SERIES:
                self.left_out += 1
                return
            series = self._series[key] = Series(merge)
        series.add(bucket, value)

    def _make_room(self, at_ns: int) -> int:
        """The bucket of a moment, after the buckets were made wide enough to have one for it."""
        while (bucket := self.bucket(at_ns)) >= self._most:
            self.width_ns *= 2
            for series in self._series.values():
                series.halve()
            old, self._latencies = self._latencies, {}
            for number, values in sorted(old.items()):
                self._latencies.setdefault(number // 2, []).extend(values)
            for number, values in self._latencies.items():
                self._latencies[number] = values[:: max(1, len(values) // MOST_VALUES)][:MOST_VALUES]
        return bucket
