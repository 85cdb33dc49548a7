"""Samples what the kernel says about CPUs: the pressure of the machine, and how often hosts reached their limit.

The pressure is for how long, in total, some program had to wait for a CPU. A host with a CPU limit reached it in a
period of the limit, or it did not.
"""

from __future__ import annotations

from pathlib import Path

from stream2gym.kinds.monitor_sources import MACHINE
from stream2gym.monitors.monitor import Monitor

PRESSURE = Path("/proc/pressure/cpu")


class MachineMonitor(Monitor):
    """Reads the kernel's counts; it samples nothing where the kernel does not count."""

    KIND = MACHINE

    def look(self) -> None:
        stalled_s = read_pressure_s()
        if stalled_s is not None:
            self.run.sample("cpu", "pressure_s", stalled_s)
        for host, count in self.run.network.limits.count_throttled().items():
            self.run.sample(host, "limit_reached", count)


def read_pressure_s(path: Path = PRESSURE) -> float | None:
    """Seconds since the machine was started in which some program waited for a CPU; None if it is not counted.

    The line reads ``some avg10=0.00 avg60=0.00 avg300=0.00 total=MICROSECONDS``.
    """
    try:
        lines = path.read_text("ascii").splitlines()
        some = next(line for line in lines if line.startswith("some "))
        return int(some.rpartition("total=")[2]) / 1e6
    except (OSError, StopIteration, ValueError):
        return None
