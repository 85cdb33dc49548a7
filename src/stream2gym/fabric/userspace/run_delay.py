"""How long the fabric process has waited for a CPU, as the kernel counts it."""

from __future__ import annotations

import os


def open_run_delay() -> int:
    """A descriptor of the kernel's count for this process; -1 where the kernel keeps none."""
    try:
        return os.open("/proc/self/schedstat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return -1


def read_run_delay_ns(fd: int) -> int:
    """How long this process has waited for a CPU since it began, in nanoseconds; 0 where it is not counted."""
    return int(os.pread(fd, 64, 0).split()[1]) if fd >= 0 else 0
