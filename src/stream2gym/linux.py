"""The few Linux calls that Python 3.11 does not offer: namespaces, mounts, prctl, pidfds."""

from __future__ import annotations

import ctypes
import os
import signal

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

_SYS_PIDFD_SEND_SIGNAL = 424

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
    """Move this process (or, for PID, its children) into new namespaces."""
    _check(_libc.unshare(flags), f"unshare({flags:#x})")


def setns(fd: int, flags: int) -> None:
    """Move this thread into the namespace that ``fd`` refers to."""
    _check(_libc.setns(fd, flags), f"setns({flags:#x})")


def mount(source: str, target: str, kind: str = "", flags: int = 0, data: str = "") -> None:
    """mount(2)."""
    result = _libc.mount(
        source.encode(), os.fsencode(target), kind.encode() or None, flags, data.encode() or None
    )
    _check(result, f"mount {kind or 'bind'} on {target}")


def prctl(option: int, argument: int) -> None:
    """prctl(2) with one argument."""
    _check(_libc.prctl(option, argument, 0, 0, 0), f"prctl({option})")


def name_process(name: str) -> None:
    """Show ``name`` (15 bytes at most) in process lists."""
    buffer = ctypes.create_string_buffer(name.encode()[:15])
    _check(_libc.prctl(PR_SET_NAME, ctypes.addressof(buffer), 0, 0, 0), "prctl(PR_SET_NAME)")


def die_with_parent() -> None:
    """Have the kernel kill this process when the thread that forked it ends."""
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
