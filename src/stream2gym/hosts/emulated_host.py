"""One emulated host, as the supervisor holds it: its namespaces, and how a process enters them.

The network namespace exists from the start. Hostname, mounts (``/tmp``, ``/dev/shm``, ``/etc/hosts``) and the PID
namespace are made when the first process starts on the host, because most hosts of a large topology run nothing.
"""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from stream2gym import linux
from stream2gym.hosts.host_init import start_host_init

WORK = "/tmp/work"
_PRIVATE = "/tmp/.s2g"


def open_namespace(kind: str) -> int:
    """A descriptor of the namespace of this kind that this process is in."""
    return os.open(f"/proc/self/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC)


@dataclass
class OwnNamespaces:
    """The supervisor's own namespaces: it returns to them after it has worked in those of a host."""

    net: int = field(default_factory=lambda: open_namespace("net"))
    mnt: int = field(default_factory=lambda: open_namespace("mnt"))
    uts: int = field(default_factory=lambda: open_namespace("uts"))
    pid: int = field(default_factory=lambda: open_namespace("pid"))


@dataclass
class EmulatedHost:
    """A host: descriptors of its namespaces (-1 until they are made), its limits and the size of its storage."""

    name: str
    address: str
    net: int
    mnt: int = -1
    uts: int = -1
    pid: int = -1
    # The first process of the PID namespace, by the supervisor's number; 0 while nothing runs on the host.
    init: int = 0
    # Folders of the cgroups that limit the host.
    groups: list[str] = field(default_factory=list)
    disk_bytes: int | None = None

    def set_up(self, own: OwnNamespaces, hosts_file: str, keep: Sequence[str]) -> None:
        """Make hostname and mounts if they are not made yet, and start an init if none runs.

        The calling process is in its own namespaces afterwards.
        """
        if self.mnt < 0:
            self._make_mounts(own, hosts_file, keep)
        if not self.init:
            self.init, self.pid = start_host_init(self.mnt, own.pid)

    def power_off(self) -> int:
        """Kill every process of the host at once. Returns the PID of the init, which ends last, or 0 if none ran."""
        init = self.init
        if init:
            os.kill(init, signal.SIGKILL)
            self.forget_init()
        return init

    def forget_init(self) -> None:
        """Note that the init has ended, and with it every process of the host."""
        os.close(self.pid)
        self.init = 0
        self.pid = -1

    def _make_mounts(self, own: OwnNamespaces, hosts_file: str, keep: Sequence[str]) -> None:
        linux.unshare(linux.CLONE_NEWNS | linux.CLONE_NEWUTS)
        try:
            socket.sethostname(self.name)
            mount_storage(hosts_file, keep, self.disk_bytes)
            self.mnt = open_namespace("mnt")
            self.uts = open_namespace("uts")
        finally:
            linux.setns(own.uts, linux.CLONE_NEWUTS)
            linux.setns(own.mnt, linux.CLONE_NEWNS)

    def resize(self, own: OwnNamespaces, leave_bytes: int | None) -> int:
        """Resize the host's storage so that only ``leave_bytes`` stay free; None restores the planned size.

        Returns the new size in bytes. The calling process is in its own mount namespace afterwards.
        """
        if self.mnt < 0:
            raise OSError(f"{self.name} has no storage yet")
        linux.setns(self.mnt, linux.CLONE_NEWNS)
        try:
            return resize_storage(leave_bytes, self.disk_bytes)
        finally:
            linux.setns(own.mnt, linux.CLONE_NEWNS)

    def rewrite_hosts_file(self, own: OwnNamespaces, text: str) -> None:
        """Replace the text of ``/etc/hosts``, if it is mounted already. The file stays the same one.

        The calling process is in its own mount namespace afterwards.
        """
        if self.mnt < 0:
            return
        linux.setns(self.mnt, linux.CLONE_NEWNS)
        try:
            fd = os.open(f"{_PRIVATE}/hosts", os.O_WRONLY | os.O_CLOEXEC)
            try:
                os.ftruncate(fd, os.pwrite(fd, text.encode(), 0))
            finally:
                os.close(fd)
        finally:
            linux.setns(own.mnt, linux.CLONE_NEWNS)

    def enter(self) -> None:
        """Move this process, a fork of the supervisor, into the host. It enters the limits first, so they hold."""
        for folder in self.groups:
            Path(folder, "cgroup.procs").write_text("0")
        linux.setns(self.net, linux.CLONE_NEWNET)
        linux.setns(self.uts, linux.CLONE_NEWUTS)
        linux.setns(self.mnt, linux.CLONE_NEWNS)


def mount_storage(hosts_file: str, keep: Sequence[str], disk_bytes: int | None) -> None:
    """Mount a private ``/tmp`` and ``/dev/shm`` in memory, our ``/etc/hosts``, and a list of no name servers.

    Folders of ``keep`` that lie under ``/tmp`` (an experiment may be there) stay visible at their path.
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
    """Set the size of the storage in the mount namespace of this process, and return the new size in bytes.

    ``leave_bytes`` stay free beyond what is stored now; None sets the planned size, or the kernel's default.
    """
    if leave_bytes is None:
        size = str(planned_bytes) if planned_bytes else "50%"
    else:
        now = os.statvfs("/tmp")
        used = (now.f_blocks - now.f_bfree) * now.f_frsize
        # At least one block, because a size of 0 would mean no limit.
        size = str(max(used + leave_bytes, now.f_frsize))
    flags = linux.MS_REMOUNT | linux.MS_NOSUID | linux.MS_NODEV
    linux.mount("tmpfs", "/tmp", "tmpfs", flags, f"size={size}")
    after = os.statvfs("/tmp")
    return after.f_blocks * after.f_frsize


def _under_tmp(keep: Sequence[str]) -> list[str]:
    """The outermost folders of ``keep`` below ``/tmp``. ``/tmp`` itself cannot be kept, because it is private."""
    inside = sorted({path for path in map(os.path.realpath, keep) if path.startswith("/tmp/")})
    return [
        path for path in inside if not any(path.startswith(f"{other}/") for other in inside) and os.path.isdir(path)
    ]
