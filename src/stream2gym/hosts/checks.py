"""What this machine allows: each need of a run is tried in a child process, and has a remedy in one line."""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from stream2gym import linux
from stream2gym.fabric.chosen import open_device
from stream2gym.hosts import cgroups, keeper
from stream2gym.hosts.refusals import remedy_for
from stream2gym.jsonable import Jsonable

State = Literal["ok", "limited", "missing"]


@dataclass(frozen=True)
class Check(Jsonable):
    """The state of one need. Without a ``missing`` one nothing runs; a ``limited`` one makes runs less exact."""

    name: str
    state: State
    detail: str
    remedy: str = ""


def machine_checks() -> list[Check]:
    """Check everything that hosts and the fabric need of the machine."""
    namespaces = _namespaces()
    checks = [namespaces]
    if namespaces.state == "ok":
        checks.append(_devices())
    return [*checks, *_limits(), _priority(), _open_files(), _memory()]


def attempt(deed: Callable[[], None]) -> OSError | None:
    """Try a step in a forked child, so that nothing of it stays. Returns its error, or None."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        code = 0
        try:
            deed()
        except OSError as error:
            os.write(write, f"{error.errno or 0}\0{error.strerror or error}\0{error.filename or ''}".encode())
            code = 1
        finally:
            os._exit(code)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        report = pipe.read().decode(errors="replace")
    _pid, status = os.waitpid(child, 0)
    if report:
        number, text, step = report.split("\0")
        return OSError(int(number), text, step)
    return None if status == 0 else OSError(0, f"the attempt ended with status {status}")


def _make_namespaces() -> None:
    keeper.become_root_of_new_namespaces()
    inner = os.fork()
    if inner == 0:
        try:
            linux.mount("none", "/", flags=linux.MS_REC | linux.MS_PRIVATE)
            linux.mount("proc", "/proc", "proc", linux.MS_NOSUID | linux.MS_NODEV | linux.MS_NOEXEC)
            linux.mount("tmpfs", "/tmp", "tmpfs", linux.MS_NOSUID | linux.MS_NODEV)
        except OSError as error:
            os._exit(error.errno or 1)
        os._exit(0)
    _pid, status = os.waitpid(inner, 0)
    code = os.waitstatus_to_exitcode(status)
    if code:
        raise OSError(code, os.strerror(code), "mount proc")


def _namespaces() -> Check:
    error = attempt(_make_namespaces)
    who = "as root" if os.geteuid() == 0 else "as an ordinary user"
    if error is None:
        return Check("namespaces", "ok", f"user, network, mount and PID namespaces work {who}")
    return Check("namespaces", "missing", f"{error.filename}: {error.strerror} {who}", remedy_for(error))


def _devices() -> Check:
    def make_tun() -> None:
        keeper.become_root_of_new_namespaces()
        os.close(open_device("tun", "s2g-check", "10.0.0.1", 8, 1500))

    error = attempt(make_tun)
    if error is None:
        return Check("devices", "ok", "TUN: /dev/net/tun can be opened")
    return Check(
        "devices",
        "limited",
        f"veth and packet sockets are used, somewhat slower: /dev/net/tun: {error.strerror}",
        "sudo chmod 666 /dev/net/tun (in a container: --device /dev/net/tun)",
    )


def _limits() -> list[Check]:
    checks = []
    for name, found in cgroups.find_controllers().items():
        if found.works:
            checks.append(Check(f"{name} limits", "ok", f"cgroup v{found.version}"))
        else:
            detail = f"limits of hosts are not in force: {found.problem}"
            checks.append(Check(f"{name} limits", "limited", detail, found.remedy))
    return checks


def _priority() -> Check:
    def take() -> None:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))

    if attempt(take) is None:
        return Check("priority", "ok", "the fabric runs with real-time priority")
    return Check(
        "priority",
        "limited",
        "no real-time priority: the run's components give way to the fabric instead, other programs do not",
        "run as root, or allow it: rtprio 10 for your user in /etc/security/limits.conf",
    )


def _open_files() -> Check:
    _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    hosts = max(0, (hard - 200) // 4)
    if hosts >= 200:
        return Check("open files", "ok", f"{hard} descriptors: enough for {hosts} hosts")
    return Check("open files", "limited", f"{hard} descriptors: enough for {hosts} hosts", "ulimit -Hn 65536")


def _memory() -> Check:
    available = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    with contextlib.suppress(OSError), open("/proc/meminfo") as info:
        line = next(line for line in info if line.startswith("MemAvailable"))
        available = int(line.split()[1]) / 2**20
    disk = shutil.disk_usage(".").free / 2**30
    return Check("memory", "ok", f"{available:.1f} GiB free, {os.cpu_count()} cores, {disk:.0f} GiB of disk free")
