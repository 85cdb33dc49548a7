"""One emulated host, as the supervisor sees it: its namespaces, made where it is called, and entering them.

The network namespace exists from the start; hostname and mounts (``/tmp``, ``/dev/shm``, ``/etc/hosts``) are made
when the first process comes, because most hosts of a large topology only forward or never run anything.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from stream2gym import linux

WORK = "/tmp/work"
_PRIVATE = "/tmp/.s2g"


def open_namespace(kind: str) -> int:
    """A descriptor of the namespace this process is in."""
    return os.open(f"/proc/self/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC)


@dataclass
class Home:
    """Where the supervisor itself lives, to return to after visiting a host."""

    net: int = field(default_factory=lambda: open_namespace("net"))
    mnt: int = field(default_factory=lambda: open_namespace("mnt"))
    uts: int = field(default_factory=lambda: open_namespace("uts"))


@dataclass
class Machine:
    """A host's namespaces and what its processes join."""

    name: str
    address: str
    net: int
    mnt: int = -1
    uts: int = -1
    groups: list[str] = field(default_factory=list)
    disk_bytes: int | None = None

    def furnish(self, home: Home, hosts_file: str, keep: Sequence[str]) -> None:
        """Make hostname and mounts once; the caller is back home afterwards."""
        if self.mnt >= 0:
            return
        linux.unshare(linux.CLONE_NEWNS | linux.CLONE_NEWUTS)
        try:
            socket.sethostname(self.name)
            furnish_mounts(hosts_file, keep, self.disk_bytes)
            self.mnt, self.uts = open_namespace("mnt"), open_namespace("uts")
        finally:
            linux.setns(home.uts, linux.CLONE_NEWUTS)
            linux.setns(home.mnt, linux.CLONE_NEWNS)

    def resize(self, home: Home, leave_bytes: int | None) -> int:
        """Leave the storage only so much room, or None: its planned size; gives back the size. Back home after."""
        if self.mnt < 0:
            raise OSError(f"{self.name} has no storage yet")
        linux.setns(self.mnt, linux.CLONE_NEWNS)
        try:
            return resize_storage(leave_bytes, self.disk_bytes)
        finally:
            linux.setns(home.mnt, linux.CLONE_NEWNS)

    def enter(self) -> None:
        """Move this (forked) process onto the host, limits first, so that nothing escapes them."""
        for folder in self.groups:
            Path(folder, "cgroup.procs").write_text("0")
        linux.setns(self.net, linux.CLONE_NEWNET)
        linux.setns(self.uts, linux.CLONE_NEWUTS)
        linux.setns(self.mnt, linux.CLONE_NEWNS)


def furnish_mounts(hosts_file: str, keep: Sequence[str], disk_bytes: int | None) -> None:
    """Private ``/tmp`` and ``/dev/shm`` on memory, our ``/etc/hosts``, no name server.

    Folders to keep that lie under ``/tmp`` (an experiment tried out there) stay visible at their path.
    """
    kept = [(path, os.open(path, os.O_PATH | os.O_CLOEXEC)) for path in _under_tmp(keep)]
    size = f",size={disk_bytes}" if disk_bytes else ""
    linux.mount("tmpfs", "/tmp", "tmpfs", linux.MS_NOSUID | linux.MS_NODEV, f"mode=1777{size}")
    for folder in (_PRIVATE, f"{_PRIVATE}/shm", WORK):
        os.mkdir(folder)
    os.chmod(f"{_PRIVATE}/shm", 0o1777)
    os.chmod(WORK, 0o777)
    for name, text in (("hosts", hosts_file), ("resolv.conf", "")):
        Path(_PRIVATE, name).write_text(text)
        if os.path.exists(f"/etc/{name}"):
            linux.mount(f"{_PRIVATE}/{name}", f"/etc/{name}", flags=linux.MS_BIND)
    if os.path.isdir("/dev/shm"):
        linux.mount(f"{_PRIVATE}/shm", "/dev/shm", flags=linux.MS_BIND)
    for path, fd in kept:
        os.makedirs(path, exist_ok=True)
        linux.mount(f"/proc/self/fd/{fd}", path, flags=linux.MS_BIND | linux.MS_REC)
        os.close(fd)


def resize_storage(leave_bytes: int | None, planned_bytes: int | None) -> int:
    """Set the size of the memory-backed storage of the mount namespace that we are in."""
    if leave_bytes is None:
        size = str(planned_bytes) if planned_bytes else "50%"
    else:
        now = os.statvfs("/tmp")
        used = (now.f_blocks - now.f_bfree) * now.f_frsize
        size = str(max(used + leave_bytes, now.f_frsize))  # a size of 0 would mean no limit
    flags = linux.MS_REMOUNT | linux.MS_NOSUID | linux.MS_NODEV
    linux.mount("tmpfs", "/tmp", "tmpfs", flags, f"size={size}")
    after = os.statvfs("/tmp")
    return after.f_blocks * after.f_frsize


def _under_tmp(keep: Sequence[str]) -> list[str]:
    """The outermost kept folders below /tmp; /tmp itself cannot be kept, it is private."""
    inside = sorted({path for path in map(os.path.realpath, keep) if path.startswith("/tmp/")})
    return [
        path
        for path in inside
        if not any(path.startswith(f"{other}/") for other in inside) and os.path.isdir(path)
    ]
