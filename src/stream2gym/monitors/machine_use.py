"""Samples how much of the machine is in use: its memory, its disk, its CPUs and what others take of them (steal)."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

from stream2gym.kinds.monitor_sources import MACHINE_USE
from stream2gym.monitors.monitor import Monitor, MonitoredRun

PROC = Path("/proc")
KIB = 1024
# Fields of the first line of /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal. What follows (guest)
# is part of user.
_FIELDS = 8
_IDLE, _IO_WAIT, _STEAL = 3, 4, 7


class MachineUseMonitor(Monitor):
    """Reads three files of the kernel a look. Shares and rates are of the time since the look before."""

    KIND = MACHINE_USE

    def __init__(self, run: MonitoredRun, proc: Path = PROC) -> None:
        super().__init__(run)
        self._proc = proc
        self._cpu: CpuTimes | None = None
        self._moved: tuple[float, tuple[int, int]] | None = None

    def look(self) -> None:
        for metric, value in read_memory((self._proc / "meminfo").read_text("ascii")).items():
            self.run.sample("memory", metric, value)
        self._look_at_cpus()
        self._look_at_disk()

    def _look_at_cpus(self) -> None:
        with (self._proc / "stat").open("r", encoding="ascii") as file:
            times = read_cpu_times(file.readline())
        before, self._cpu = self._cpu, times
        if before is not None:
            for metric, value in cpu_shares(before, times).items():
                self.run.sample("cpu", metric, value)

    def _look_at_disk(self) -> None:
        room = os.statvfs(self.run.folder)
        self.run.sample("disk", "free_bytes", room.f_bavail * room.f_frsize)
        now_s = time.monotonic()
        moved = read_moved_bytes((self._proc / "vmstat").read_text("ascii"))
        before, self._moved = self._moved, (now_s, moved)
        if before is not None and now_s > before[0]:
            for metric, old, new in zip(("read_Bps", "written_Bps"), before[1], moved, strict=True):
                self.run.sample("disk", metric, max(0, new - old) / (now_s - before[0]))


@dataclass(frozen=True)
class CpuTimes:
    """Ticks of all CPUs together since the machine was started."""

    total: int
    idle: int
    io_wait: int
    steal: int


def read_cpu_times(line: str) -> CpuTimes:
    """The times in the first line of ``/proc/stat``. Kernels without a field have no ticks in it."""
    name, *words = line.split()
    if name != "cpu":
        raise ValueError(f"the first line of /proc/stat does not begin with cpu: {line[:40]!r}")
    ticks = [int(word) for word in words[:_FIELDS]]
    ticks += [0] * (_FIELDS - len(ticks))
    return CpuTimes(sum(ticks), ticks[_IDLE], ticks[_IO_WAIT], ticks[_STEAL])


def cpu_shares(before: CpuTimes, now: CpuTimes) -> dict[str, float]:
    """Shares of all CPUs together between two looks; nothing if no tick has passed."""
    total = now.total - before.total
    if total <= 0:
        return {}
    idle, io_wait, steal = (
        max(0, getattr(now, name) - getattr(before, name)) / total for name in ("idle", "io_wait", "steal")
    )
    return {"busy": max(0.0, 1.0 - idle - io_wait - steal), "io_wait": io_wait, "steal": steal}


def read_memory(text: str) -> dict[str, float]:
    """What ``/proc/meminfo`` says: memory that programs cannot get without swapping, all memory, and used swap."""
    found = {}
    for line in text.splitlines():
        name, _, rest = line.partition(":")
        words = rest.split()
        if words:
            found[name] = int(words[0]) * KIB
    total, available = found["MemTotal"], found["MemAvailable"]
    swap = found.get("SwapTotal", 0) - found.get("SwapFree", 0)
    return {"used_bytes": total - available, "total_bytes": total, "swap_used_bytes": swap}


def read_moved_bytes(text: str) -> tuple[int, int]:
    """What ``/proc/vmstat`` says: bytes read from and written to all disks since the machine was started."""
    found = {"pgpgin": 0, "pgpgout": 0}
    for line in text.splitlines():
        name, _, value = line.partition(" ")
        if name in found:
            found[name] = int(value) * KIB
    return found["pgpgin"], found["pgpgout"]
