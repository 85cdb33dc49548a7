"""Samples the links as rates: bits a second, the share of the bandwidth, and how fast the queue grows.

It takes the counters that the monitor of the fabric has read, because the fabric should not be asked more often.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping

from stream2gym.errors import Defect
from stream2gym.fabric.protocol import FabricStats, LinkCounters
from stream2gym.kinds.monitor_sources import LINK
from stream2gym.monitors.monitor import Monitor, MonitoredRun
from stream2gym.plan.planned import Network

# The monitor of the fabric looks every half second. Counters older than this mean that it hangs or fails.
OLD_S = 2.0


class LinkRateMonitor(Monitor):
    """Compares the latest counters of the fabric with those of the look before.

    A direction without traffic is sampled once, and then only when it has traffic again.
    """

    KIND = LINK

    def __init__(self, run: MonitoredRun, latest: Callable[[], FabricStats | None]) -> None:
        super().__init__(run)
        self._latest = latest
        self._bandwidths = find_bandwidths(run.plan.network)
        self._before: FabricStats | None = None
        self._is_quiet: dict[tuple[str, str], bool] = {}

    def look(self) -> None:
        now, before = self._latest(), self._before
        if now is None:
            return
        age_s = (time.monotonic_ns() - now.at_ns) / 1e9
        if age_s > OLD_S:
            raise Defect(f"the last counters of the fabric are {age_s:.1f} s old")
        self._before = now
        if before is None or now.at_ns == before.at_ns:
            return
        for place, numbers in link_rates(before, now, self._bandwidths):
            is_quiet = not any(numbers.values())
            if not (is_quiet and self._is_quiet.get(place)):
                for metric, value in numbers.items():
                    self.run.sample(" ".join(place), metric, value, at_ns=now.at_ns)
            self._is_quiet[place] = is_quiet


def find_bandwidths(network: Network) -> dict[tuple[str, str], float | None]:
    """The configured bandwidth of each direction in bits a second; None where it is unlimited."""
    return {
        (link.name, direction): settings.bandwidth_bps
        for link in network.links
        for direction, settings in (("forward", link.forward), ("backward", link.backward))
    }


def link_rates(
    before: FabricStats, now: FabricStats, bandwidths: Mapping[tuple[str, str], float | None]
) -> Iterator[tuple[tuple[str, str], dict[str, float]]]:
    """Every direction with its rates between two snapshots. ``use`` is missing where the bandwidth is unlimited."""
    took_s = (now.at_ns - before.at_ns) / 1e9
    earlier = {(link.link, link.direction): link for link in before.links}
    for link in now.links:
        place = (link.link, link.direction)
        old = earlier.get(place, LinkCounters(*place))
        bps = (link.delivered_bytes - old.delivered_bytes) * 8 / took_s
        rates = {"bps": bps, "queue_growth_Bps": (link.queue_bytes - old.queue_bytes) / took_s}
        if bandwidth := bandwidths.get(place):
            rates["use"] = bps / bandwidth
        yield place, rates
