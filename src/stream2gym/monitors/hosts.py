"""Samples what each emulated host uses: its network, TCP connections, threads and open files; and its memory.

The memory is proportional: a page that several processes share is divided among them, so that hosts add up to what
the machine really needs. It has a monitor of its own, because the kernel takes long to tell it.
"""

from __future__ import annotations

import time

from stream2gym.kinds.monitor_sources import HOST, MEMORY
from stream2gym.monitors.monitor import Monitor, MonitoredRun

# Counters of a host that are sampled as rates, in bits a second.
_RATES = {"received_bytes": "received_bps", "sent_bytes": "sent_bps"}


class HostMonitor(Monitor):
    """Asks the supervisor once a look for all hosts on which something runs."""

    KIND = HOST

    def __init__(self, run: MonitoredRun) -> None:
        super().__init__(run)
        self._before: dict[str, dict[str, float]] = {}
        self._looked_s = 0.0

    def look(self) -> None:
        found = self.run.network.host_usage()
        now_s = time.monotonic()
        for host, used in found.items():
            for metric, value in host_numbers(self._before.get(host), used, now_s - self._looked_s).items():
                self.run.sample(host, metric, value)
        self._before, self._looked_s = found, now_s


def host_numbers(before: dict[str, float] | None, now: dict[str, float], took_s: float) -> dict[str, float]:
    """The numbers to sample of a host: rates since the look before, if there was one, and the others as they are."""
    numbers = {metric: value for metric, value in now.items() if metric not in _RATES}
    if before is not None and took_s > 0:
        for counter, rate in _RATES.items():
            numbers[rate] = max(0.0, now[counter] - before[counter]) * 8 / took_s
    return numbers


class MemoryMonitor(Monitor):
    """Asks the supervisor once a look for all hosts on which something runs."""

    KIND = MEMORY

    def look(self) -> None:
        for host, pss_bytes in self.run.network.host_memory().items():
            self.run.sample(host, "pss_bytes", pss_bytes)
