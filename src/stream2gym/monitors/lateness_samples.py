"""Samples how late the fabric delivered packets, which drops no link asked for, and how much CPU time it used."""

from __future__ import annotations

from stream2gym.fabric.protocol import FabricStats
from stream2gym.monitors.monitor import Sample

SHARES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999}
# Prefix of the metric of a bucket that is not empty; its upper bound in microseconds follows.
BUCKET = "le_"


class LatenessSamples:
    """Samples the packets since the last look: how many are in each bucket of the fabric, and their percentiles.

    Each look samples the time since the look before (``interval_s``, 0 for the first). So packets can be spread over
    that time, and a gap between looks is visible.
    """

    def __init__(self, sample: Sample) -> None:
        self._sample = sample
        self._counts: tuple[int, ...] = ()
        self._looked_ns: int | None = None
        self._causes: set[str] = set()

    def note(self, stats: FabricStats) -> None:
        lateness = stats.lateness
        before_ns, self._looked_ns = self._looked_ns, stats.at_ns
        interval_s = 0.0 if before_ns is None else (stats.at_ns - before_ns) / 1e9
        self._sample("lateness", "interval_s", interval_s, at_ns=stats.at_ns)
        before = self._counts or (0,) * len(lateness.counts)
        self._counts = lateness.counts
        new = [now - then for now, then in zip(lateness.counts, before, strict=True)]
        packets = sum(new)
        self._sample("lateness", "packets", packets, at_ns=stats.at_ns)
        if packets:
            for name, share in SHARES.items():
                value = percentile_us(lateness.bounds_us, new, share, lateness.max_us)
                self._sample("lateness", f"{name}_us", value, at_ns=stats.at_ns)
            for bound, count in zip((*lateness.bounds_us, lateness.max_us), new, strict=False):
                if count:
                    self._sample("lateness", f"{BUCKET}{bound:g}", count, at_ns=stats.at_ns)
        self._sample("lateness", "max_us", lateness.max_us, at_ns=stats.at_ns)
        for cause, count in stats.unasked_drops.items():
            if cause not in self._causes and before_ns is not None:
                # The fabric names only causes of drops, so that a cause without a name had no drops at the last look.
                self._sample("unasked_drops", cause, 0, at_ns=before_ns)
            self._causes.add(cause)
            self._sample("unasked_drops", cause, count, at_ns=stats.at_ns)
        self._sample("engine", "cpu_s", stats.cpu_s, at_ns=stats.at_ns)
        self._sample("engine", "run_delay_s", stats.run_delay_s, at_ns=stats.at_ns)


def percentile_us(bounds_us: tuple[float, ...], counts: list[int], share: float, largest: float) -> float:
    """The upper bound of the bucket that contains this share; beyond the last bound, the largest lateness seen."""
    wanted, seen = share * sum(counts), 0
    for place, count in enumerate(counts):
        seen += count
        if seen >= wanted and count:
            return bounds_us[place] if place < len(bounds_us) and bounds_us[place] != float("inf") else largest
    return largest
