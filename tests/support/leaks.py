"""What a machine holds that a run could leave behind: processes, namespaces, interfaces, mounts, files.

On a machine of our own (``CI`` is set) everything is compared. Elsewhere other people's processes come and go: there
only what carries the mark of the command under test, in its environment or its name, counts.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

NAMESPACES = ("net", "mnt", "pid", "uts", "ipc", "user")
MARK = "S2G_UNDER_TEST=1"  # in the environment of every command that tests start
ALONE = bool(os.environ.get("CI"))

Holdings = dict[str, frozenset[str]]


def snapshot() -> Holdings:
    """Everything that is compared before and after."""
    holdings = {
        "processes": frozenset(_processes()),
        "namespaces": frozenset(_namespaces()),
        "interfaces": frozenset(os.listdir("/sys/class/net")),
        "mounts": frozenset(Path("/proc/self/mountinfo").read_text().splitlines()),
        "cgroups": frozenset(_folders("/sys/fs/cgroup")),
        "/tmp": frozenset(os.listdir("/tmp")),
        "/dev/shm": frozenset(os.listdir("/dev/shm")),
    }
    if ALONE:
        return holdings
    files = ("cgroups", "/tmp", "/dev/shm")
    return holdings | {kind: frozenset(name for name in holdings[kind] if "s2g" in name) for kind in files}


def left_behind(before: Holdings, *, within_s: float = 20.0) -> dict[str, list[str]]:
    """What is there now and was not before, after giving the kernel time to finish; empty when nothing is."""
    deadline = time.monotonic() + within_s
    while True:
        now = snapshot()
        new = {kind: sorted(now[kind] - old) for kind, old in before.items() if now[kind] - old}
        if not new or time.monotonic() > deadline:
            return new
        time.sleep(0.05)


def _ours(pid: str) -> bool:
    if ALONE:
        return True
    try:
        return int(pid) == os.getpid() or MARK.encode() in Path("/proc", pid, "environ").read_bytes()
    except OSError:
        return False


def _processes() -> set[str]:
    """PID, start time and command of every process but kernel threads, whose number changes by itself."""
    found = set()
    for pid in filter(_ours, filter(str.isdigit, os.listdir("/proc"))):
        try:
            command = Path("/proc", pid, "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            fields = Path("/proc", pid, "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if command or fields[0] == "Z":
            found.add(f"{pid} {fields[19]} {command}")
    return found


def _namespaces() -> set[str]:
    """Namespaces that a process lives in or holds open."""
    found = set()
    for pid in filter(_ours, filter(str.isdigit, os.listdir("/proc"))):
        for kind in NAMESPACES:
            try:
                found.add(os.readlink(f"/proc/{pid}/ns/{kind}"))
            except OSError:
                continue
        try:
            for fd in os.listdir(f"/proc/{pid}/fd"):
                target = os.readlink(f"/proc/{pid}/fd/{fd}")
                if target.split(":")[0] in NAMESPACES:
                    found.add(target)
        except OSError:
            continue
    return found


def _folders(top: str) -> set[str]:
    return {folder for folder, _subfolders, _files in os.walk(top)}
