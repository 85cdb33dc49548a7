"""What a machine holds that a run could leave behind: processes, namespaces, interfaces, mounts, files.

All of /proc is looked at. A process is ours when it carries the mark of the command under test in its environment, or
lives in a namespace that was not there before: those of others come and go and do neither. On a machine of our
own (``CI`` is set) every new file, cgroup and namespace counts, elsewhere only those with our name or in our hands.
Where tests run side by side, nobody can tell whose a file is: only processes and namespaces that carry the mark of
this worker count.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

NAMESPACES = ("net", "mnt", "pid", "uts", "ipc", "user")
# In the environment of every command that these tests start. Programs on hosts inherit it as a setting of the locale.
MARK = f"LC_S2G_UNDER_TEST={os.getpid()}"
BESIDE_OTHERS = "PYTEST_XDIST_WORKER" in os.environ
ALONE = bool(os.environ.get("CI")) and not BESIDE_OTHERS


@dataclass(frozen=True)
class Holder:
    """A process: who it is, whether it carries the mark, the namespaces it lives in or holds open."""

    name: str
    marked: bool
    namespaces: frozenset[str]


@dataclass(frozen=True)
class Holdings:
    """Everything that is compared before and after."""

    processes: dict[str, Holder]
    things: dict[str, frozenset[str]]

    @property
    def namespaces(self) -> frozenset[str]:
        return frozenset(one for holder in self.processes.values() for one in holder.namespaces)


def snapshot() -> Holdings:
    return Holdings({holder.name: holder for holder in _holders()}, {} if BESIDE_OTHERS else _things())


def _things() -> dict[str, frozenset[str]]:
    things = {
        "interfaces": frozenset(os.listdir("/sys/class/net")),
        "mounts": frozenset(Path("/proc/self/mountinfo").read_text().splitlines()),
        "cgroups": frozenset(folder for folder, _, _ in os.walk("/sys/fs/cgroup")),
        "/tmp": frozenset(os.listdir("/tmp")),
        "/dev/shm": frozenset(os.listdir("/dev/shm")),
    }
    if not ALONE:
        for kind in ("cgroups", "/tmp", "/dev/shm"):
            things[kind] = frozenset(name for name in things[kind] if "s2g" in name)
    return things


def left_behind(before: Holdings, *, within_s: float = 20.0) -> dict[str, list[str]]:
    """What is there now and was not before, after giving the kernel time to finish; empty when nothing is."""
    deadline = time.monotonic() + within_s
    while True:
        new = _new(before, snapshot())
        if not new or time.monotonic() > deadline:
            return new
        time.sleep(0.05)


def _new(before: Holdings, now: Holdings) -> dict[str, list[str]]:
    known = before.namespaces
    new = {kind: sorted(now.things[kind] - old) for kind, old in before.things.items()}
    fresh = [holder for name, holder in now.processes.items() if name not in before.processes]
    new["processes"] = sorted(
        holder.name for holder in fresh if holder.marked or (ALONE and not holder.namespaces <= known)
    )
    ours = [holder for holder in now.processes.values() if ALONE or holder.marked or _is_me(holder)]
    held = frozenset(one for holder in ours for one in holder.namespaces)
    new["namespaces"] = sorted(held - known)
    return {kind: found for kind, found in new.items() if found}


def _is_me(holder: Holder) -> bool:
    return holder.name.startswith(f"{os.getpid()} ")


def _holders() -> list[Holder]:
    """Every process but kernel threads, whose number changes by itself."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            command = Path("/proc", pid, "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            fields = Path("/proc", pid, "stat").read_text().rpartition(")")[2].split()
            marked = MARK.encode() + b"\0" in Path("/proc", pid, "environ").read_bytes()
        except OSError:
            continue
        if command or fields[0] == "Z":
            found.append(Holder(f"{pid} {fields[19]} {command}", marked, frozenset(_namespaces(pid))))
    return found


def _namespaces(pid: str) -> set[str]:
    found = set()
    for kind in NAMESPACES:
        try:
            found.add(os.readlink(f"/proc/{pid}/ns/{kind}"))
        except OSError:
            continue
    try:
        targets = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
    except OSError:
        targets = []
    return found | {target for target in targets if target.split(":")[0] in NAMESPACES}
