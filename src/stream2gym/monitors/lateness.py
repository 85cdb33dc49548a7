"""How late the fabric delivered packets in each interval, and the drops that no link asked for."""

from __future__ import annotations

from stream2gym.fabric.protocol import FabricStats
from stream2gym.monitors.sampler import Sample

SHARES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999}


BUCKET = "le_"  # metric of a bucket that is not empty, with its upper bound in microseconds


class LatenessMonitor:
    """The packets since the last look: how many fell into each of the fabric's buckets, and their percentiles."""

    def __init__(self, sample: Sample) -> None:
        self._sample = sample
        self._counts: tuple[int, ...] = ()

    def note(self, stats: FabricStats) -> None:
        lateness = stats.lateness
        before = self._counts or (0,) * len(lateness.counts)
        self._counts = lateness.counts
        new = [now - then for now, then in zip(lateness.counts, before, strict=True)]
        packets = sum(new)
        self._sample("fabric", "lateness", "packets", packets, at_ns=stats.at_ns)
        if packets:
            for name, share in SHARES.items():
                value = percentile_us(lateness.bounds_us, new, share, lateness.max_us)
                self._sample("fabric", "lateness", f"{name}_us", value, at_ns=stats.at_ns)
            for bound, count in zip((*lateness.bounds_us, lateness.max_us), new, strict=False):
                if count:
                    self._sample("fabric", "lateness", f"{BUCKET}{bound:g}", count, at_ns=stats.at_ns)
        self._sample("fabric", "lateness", "max_us", lateness.max_us, at_ns=stats.at_ns)
        for cause, count in stats.unasked_drops.items():
            self._sample("fabric", "unasked_drops", cause, count, at_ns=stats.at_ns)
        self._sample("fabric", "engine", "cpu_s", stats.cpu_s, at_ns=stats.at_ns)


def percentile_us(bounds_us: tuple[float, ...], counts: list[int], share: float, largest: float) -> float:
    """The upper bound of the bucket that holds this share; beyond the last bound, the largest seen."""
    wanted, seen = share * sum(counts), 0
    for place, count in enumerate(counts):
        seen += count
        if seen >= wanted and count:
            return (
                bounds_us[place] if place < len(bounds_us) and bounds_us[place] != float("inf") else largest
            )
    return largest
