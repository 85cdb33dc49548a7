"""The few Linux calls that Python 3.11 does not offer: namespaces, mounts, prctl, scheduling."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import struct
import time

CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT = 1 << 1, 1 << 2, 1 << 3, 1 << 5
MS_BIND, MS_REC, MS_PRIVATE = 1 << 12, 1 << 14, 1 << 18

PR_SET_PDEATHSIG = 1
PR_SET_NAME = 15
PR_SET_TIMERSLACK = 29
PR_SET_CHILD_SUBREAPER = 36

_SYS_CLOSE_RANGE = 436
_SYS_SCHED_SETATTR = {"x86_64": 314, "aarch64": 274}

_FIFO_PRIORITY = 10
_NICENESS = -15
_SLICE_NS = 100_000

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mount.argtypes = (
    ctypes.c_char_p,
    ctypes.c_char_p,
    ctypes.c_char_p,
    ctypes.c_ulong,
    ctypes.c_char_p,
)
_libc.prctl.argtypes = (ctypes.c_int, ctypes.c_ulong, ctypes.c_ulong, ctypes.c_ulong, ctypes.c_ulong)


def _check(result: int, what: str) -> None:
    if result == -1:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)


def unshare(flags: int) -> None:
    """Move this process into new namespaces; into a new PID namespace, only its children are moved."""
    _check(_libc.unshare(flags), f"unshare({flags:#x})")


def setns(fd: int, flags: int) -> None:
    """Move this thread into the namespace of the descriptor ``fd``."""
    _check(_libc.setns(fd, flags), f"setns({flags:#x})")


def mount(source: str, target: str, kind: str = "", flags: int = 0, data: str = "") -> None:
    """Call mount(2)."""
    result = _libc.mount(source.encode(), os.fsencode(target), kind.encode() or None, flags, data.encode() or None)
    _check(result, f"mount {kind or 'bind'} on {target}")


def prctl(option: int, argument: int) -> None:
    """Call prctl(2) with one argument."""
    _check(_libc.prctl(option, argument, 0, 0, 0), f"prctl({option})")


def name_process(name: str) -> None:
    """Show ``name`` (15 bytes at most) in process lists."""
    buffer = ctypes.create_string_buffer(name.encode()[:15])
    _check(_libc.prctl(PR_SET_NAME, ctypes.addressof(buffer), 0, 0, 0), "prctl(PR_SET_NAME)")


def die_with_parent() -> None:
    """Let the kernel kill this process when the thread that forked it ends."""
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def find_process_start_ns() -> int:
    """When this process began, on the monotonic clock, to a hundredth of a second. Exec does not change it."""
    with open("/proc/self/stat", "rb") as file:
        ticks = int(file.read().rpartition(b")")[2].split()[19])
    boot_ns = time.monotonic_ns() - time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    return boot_ns + ticks * 1_000_000_000 // os.sysconf("SC_CLK_TCK")


def close_all_but(kept: int = -1) -> None:
    """Close every descriptor of this process except ``kept``."""
    last = ctypes.c_uint(-1).value
    ranges = [(0, kept - 1), (kept + 1, last)] if kept > 0 else [(kept + 1, last)]
    for first, end in ranges:
        result = _libc.syscall(_SYS_CLOSE_RANGE, ctypes.c_uint(first), ctypes.c_uint(end), ctypes.c_uint(0))
        if result == -1:  # kernels before 5.9
            for name in os.listdir("/proc/self/fd"):
                if first <= int(name) <= end:
                    with contextlib.suppress(OSError):
                        os.close(int(name))


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends."""
    prctl(PR_SET_CHILD_SUBREAPER, 1)


def take_priority() -> str:
    """Give this thread the best priority that this machine grants, and return which: fifo, nice, slice or none.

    SCHED_FIFO and a negative niceness need privilege. Without it, a short slice of the fair scheduler (Linux 6.12 and
    later) at least brings the thread back to a CPU sooner.
    """
    prctl(PR_SET_TIMERSLACK, 1)
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(_FIFO_PRIORITY))
        return "fifo"
    except OSError:
        pass
    try:
        os.setpriority(os.PRIO_PROCESS, 0, _NICENESS)
        return "nice"
    except OSError:
        return "slice" if _take_short_slice() else "none"


def _take_short_slice() -> bool:
    """Ask for short slices of the fair scheduler; False where the kernel has none."""
    number = _SYS_SCHED_SETATTR.get(os.uname().machine)
    if number is None or tuple(map(int, os.uname().release.split(".")[:2])) < (6, 12):
        return False
    nice = os.getpriority(os.PRIO_PROCESS, 0)
    attributes = ctypes.create_string_buffer(struct.pack("=IIQiIQQQ", 48, 0, 0, nice, 0, _SLICE_NS, 0, 0))
    return int(_libc.syscall(number, 0, attributes, 0)) == 0
