"""Samples the fabric: counters of both directions of every link, cumulative since the start, and its lateness."""

from __future__ import annotations

from stream2gym.fabric.protocol import FabricStats, LinkCounters
from stream2gym.kinds.monitor_sources import FABRIC
from stream2gym.monitors.lateness_samples import LatenessSamples
from stream2gym.monitors.monitor import Monitor, MonitoredRun, Sample

COUNTERS = (
    "entered_packets",
    "entered_bytes",
    "delivered_packets",
    "delivered_bytes",
    "queue_bytes",
    "queue_bytes_max",
)


class FabricMonitor(Monitor):
    """Asks the fabric once a look, and samples the links and the lateness from the answer."""

    KIND = FABRIC

    def __init__(self, run: MonitoredRun) -> None:
        super().__init__(run)
        self._every_device = False
        # What the last look read, for others who need it.
        self.latest: FabricStats | None = None
        self._links = LinkSamples(run.sample)
        self._lateness = LatenessSamples(run.sample)

    def end_load(self) -> None:
        """Let the next look read the drops of every device. Otherwise those of a large network are read in turn."""
        self._every_device = True

    def look(self) -> None:
        every_device, self._every_device = self._every_device, False
        stats = self.run.network.fabric.stats(every_device=every_device)
        self.latest = stats
        self._links.note(stats)
        self._lateness.note(stats)


class LinkSamples:
    """Samples the counters of a direction when they have changed since the last look."""

    def __init__(self, sample: Sample) -> None:
        self._sample = sample
        self._known: dict[tuple[str, str], LinkCounters] = {}

    def note(self, stats: FabricStats) -> None:
        for link in stats.links:
            place = (link.link, link.direction)
            if self._known.get(place) == link:
                continue
            self._known[place] = link
            name = f"{link.link} {link.direction}"
            for metric in COUNTERS:
                self._sample(name, metric, getattr(link, metric), at_ns=stats.at_ns)
            for cause, count in link.dropped.items():
                self._sample(name, f"dropped.{cause}", count, at_ns=stats.at_ns)
