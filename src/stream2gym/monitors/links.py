"""Both directions of every link, from the fabric's own counters (cumulative since the start)."""

from __future__ import annotations

from stream2gym.fabric.protocol import Fabric, FabricStats, LinkCounters
from stream2gym.monitors.lateness import LatenessMonitor
from stream2gym.monitors.sampler import Sample

COUNTERS = (
    "entered_packets",
    "entered_bytes",
    "delivered_packets",
    "delivered_bytes",
    "queue_bytes",
    "queue_bytes_max",
)


class FabricMonitor:
    """Asks the fabric once and hands its answer to the links and the lateness."""

    def __init__(self, fabric: Fabric, sample: Sample) -> None:
        self._fabric = fabric
        self._links = LinksMonitor(sample)
        self._lateness = LatenessMonitor(sample)

    def look(self) -> None:
        stats = self._fabric.stats()
        self._links.note(stats)
        self._lateness.note(stats)


class LinksMonitor:
    """Writes a direction's counters down when they have changed since the last look."""

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
                self._sample("fabric", name, metric, getattr(link, metric), at_ns=stats.at_ns)
            for cause, count in link.dropped.items():
                self._sample("fabric", name, f"dropped.{cause}", count, at_ns=stats.at_ns)
