"""Scheduling priority of the fabric process: the best that this machine grants. It decides fidelity more than speed.

SCHED_FIFO, else a negative nice value; both need privilege. Where neither is granted, a short slice of the fair
scheduler (Linux 6.12 and later) at least brings the process back to the CPU sooner; components are put lower by
those who start them.
"""

from __future__ import annotations

import ctypes
import os
import struct

from stream2gym.linux import PR_SET_TIMERSLACK, prctl

_FIFO_PRIORITY, _NICE = 10, -15
_SYS_SCHED_SETATTR = {"x86_64": 314, "aarch64": 274}
_SLICE_NS = 100_000


def take_priority(wanted: str = "auto") -> str:
    """Take the best priority allowed, down from ``wanted`` (auto, nice, slice, none); returns what it is now."""
    prctl(PR_SET_TIMERSLACK, 1)
    if wanted == "auto":
        try:
            os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(_FIFO_PRIORITY))
            return "fifo"
        except OSError:
            wanted = "nice"
    if wanted == "nice":
        try:
            os.setpriority(os.PRIO_PROCESS, 0, _NICE)
            return "nice"
        except OSError:
            wanted = "slice"
    if wanted == "slice" and _short_slice():
        return "slice"
    return "none"


def _short_slice() -> bool:
    number = _SYS_SCHED_SETATTR.get(os.uname().machine)
    if number is None or tuple(map(int, os.uname().release.split(".")[:2])) < (6, 12):
        return False
    nice = os.getpriority(os.PRIO_PROCESS, 0)
    attributes = ctypes.create_string_buffer(struct.pack("=IIQiIQQQ", 48, 0, 0, nice, 0, _SLICE_NS, 0, 0))
    libc = ctypes.CDLL(None, use_errno=True)
    return int(libc.syscall(number, 0, attributes, 0)) == 0
