"""Samples the CPU time, the waits for a CPU (both cumulative) and the resident memory of every process.

The descendants of a process are included.
"""

from __future__ import annotations

import time

from stream2gym.kinds.monitor_sources import PROCESS
from stream2gym.monitors.monitor import Monitor


class ProcessMonitor(Monitor):
    """Asks the supervisor once a look for all processes."""

    KIND = PROCESS

    def look(self) -> None:
        usage = self.run.network.usage()
        at_ns = time.monotonic_ns()
        for name, process in self.run.processes():
            used = usage.get(process.handle.number) if process.handle else None
            if used is not None:
                for metric, value in used.items():
                    self.run.sample(name, metric, value, at_ns=at_ns)
