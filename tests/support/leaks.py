"""What a machine holds that a run could leave behind: processes, namespaces, interfaces, mounts, files."""

from __future__ import annotations

import os
import time
from pathlib import Path

NAMESPACES = ("net", "mnt", "pid", "uts", "ipc", "user")


def snapshot() -> dict[str, frozenset[str]]:
    """Everything that is compared before and after."""
    return {
        "processes": frozenset(_processes()),
        "namespaces": frozenset(_namespaces()),
        "interfaces": frozenset(os.listdir("/sys/class/net")),
        "mounts": frozenset(Path("/proc/self/mountinfo").read_text().splitlines()),
        "cgroups": frozenset(_folders("/sys/fs/cgroup")),
        "/tmp": frozenset(os.listdir("/tmp")),
        "/dev/shm": frozenset(os.listdir("/dev/shm")),
    }


def left_behind(before: dict[str, frozenset[str]], *, within_s: float = 20.0) -> dict[str, list[str]]:
    """What is there now and was not before, after giving the kernel time to finish; empty when nothing is."""
    deadline = time.monotonic() + within_s
    while True:
        now = snapshot()
        new = {kind: sorted(now[kind] - old) for kind, old in before.items() if now[kind] - old}
        if not new or time.monotonic() > deadline:
            return new
        time.sleep(0.05)


def _processes() -> set[str]:
    """PID, start time and command of every process but kernel threads, whose number changes by itself."""
    found = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
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
    for pid in filter(str.isdigit, os.listdir("/proc")):
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
