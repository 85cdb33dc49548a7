"""CPU and memory limits of hosts through cgroups: find where they can be set, set them, remove them.

For each controller, the groups of a run are in one folder that is named after the process which owns the run. So the
keeper can remove them, and a later start can remove what dead owners left. Version 1 has a tree for each controller,
version 2 has one for all.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from stream2gym.jsonable import Jsonable

PERIOD_US = 100_000
_MINE = re.compile(r"^s2g-(\d+)-(\d+)-(\d+)$")
_REMEDY_V2 = "start it under your user manager: systemd-run --user --scope -p Delegate=yes ./s2g ..."


@dataclass(frozen=True)
class Limit(Jsonable):
    """What one host may use; None means no limit."""

    # Share of all CPUs of the machine.
    cpu_share: float | None = None
    memory_bytes: int | None = None


@dataclass(frozen=True)
class Controller(Jsonable):
    """Where groups of one controller can be made, or the problem and its remedy."""

    name: str
    version: int
    base: str = ""
    problem: str = ""
    remedy: str = ""

    @property
    def works(self) -> bool:
        return not self.problem


def find_controllers(proc: Path = Path("/proc")) -> dict[str, Controller]:
    """The cpu and memory controllers as this process may use them."""
    mounts = (proc / "self/mountinfo").read_text().splitlines()
    own = dict(_own_groups((proc / "self/cgroup").read_text()))
    return {name: _find(name, mounts, own) for name in ("cpu", "memory")}


def _own_groups(text: str) -> list[tuple[str, str]]:
    pairs = []
    for line in text.splitlines():
        _number, names, path = line.split(":", 2)
        pairs += [(name or "v2", path) for name in names.split(",")]
    return pairs


def _find(name: str, mounts: list[str], own: Mapping[str, str]) -> Controller:
    for line in mounts:
        fields, _, rest = line.partition(" - ")
        kind, _source, options = (*rest.split(" ", 2), "", "")[:3]
        root, point = fields.split()[3:5]
        if kind == "cgroup" and name in options.split(","):
            return _usable_v1(name, _below(point, root, own.get(name, "/")))
    for line in mounts:
        fields, _, rest = line.partition(" - ")
        if rest.startswith("cgroup2 "):
            root, point = fields.split()[3:5]
            found = _usable_v2(name, Path(point), _below(point, root, own.get("v2", "/")))
            if found is not None:
                return found
    return Controller(name, 2, problem=f"the kernel offers no {name} controller", remedy="none on this kernel")


def _below(point: str, root: str, group: str) -> Path:
    """The folder of our own group; the mount point itself if our group is not below it."""
    relative = os.path.relpath(group, root)
    folder = Path(point) / relative
    return folder if not relative.startswith("..") and folder.is_dir() else Path(point)


def _usable_v1(name: str, base: Path) -> Controller:
    if os.access(base, os.W_OK):
        return Controller(name, 1, base=str(base))
    return Controller(name, 1, problem=f"{base} is not writable", remedy="run as root, or use cgroup v2")


def _usable_v2(name: str, top: Path, own: Path) -> Controller | None:
    """The highest group, from our own upwards, that is writable and gives the controller to its children."""
    if name not in _words(top / "cgroup.controllers"):
        return None
    best = None
    for folder in (own, *own.parents):
        if not os.access(folder, os.W_OK) or not os.access(folder / "cgroup.procs", os.W_OK):
            break
        if name in _words(folder / "cgroup.subtree_control"):
            best = folder
        if folder == top:
            break
    if best is None:
        return Controller(name, 2, problem=f"no writable group hands on {name}", remedy=_REMEDY_V2)
    return Controller(name, 2, base=str(best))


def _words(path: Path) -> list[str]:
    try:
        return path.read_text().split()
    except OSError:
        return []


def owner_name(pid: int) -> str:
    """The name of the folder of a run's groups: the owner's PID, PID namespace and start time."""
    return f"s2g-{os.stat('/proc/self/ns/pid').st_ino}-{pid}-{_start_time(pid)}"


def _start_time(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])


def make(owner: str, limits: Mapping[str, Limit], controllers: Mapping[str, Controller]) -> dict[str, list[str]]:
    """Make the group of every limited host and read it back. Returns the folders that processes of a host join."""
    joins: dict[str, list[str]] = {}
    for host, limit in limits.items():
        folders = []
        for name, wanted in (("cpu", limit.cpu_share), ("memory", limit.memory_bytes)):
            controller = controllers[name]
            if wanted is None or not controller.works:
                continue
            folder = _group(controller, owner, host)
            (_limit_cpu if name == "cpu" else _limit_memory)(folder, controller.version, wanted)
            folders.append(str(folder))
        joins[host] = list(dict.fromkeys(folders))
    return joins


def change(owner: str, host: str, controller: Controller, wanted: float) -> None:
    """Set the limit of an existing group, and read it back."""
    folder = Path(controller.base) / owner / host
    (_limit_cpu if controller.name == "cpu" else _limit_memory)(folder, controller.version, wanted)


def count_throttled(owner: str, host: str, controller: Controller) -> int | None:
    """In how many periods a host has reached its CPU limit since its group was made. None: it cannot be read."""
    try:
        lines = (Path(controller.base) / owner / host / "cpu.stat").read_text("ascii").splitlines()
        return int(dict(line.split() for line in lines)["nr_throttled"])
    except (OSError, ValueError, KeyError):
        return None


def _group(controller: Controller, owner: str, host: str) -> Path:
    run = Path(controller.base) / owner
    run.mkdir(exist_ok=True)
    if controller.version == 2:
        (run / "cgroup.subtree_control").write_text(f"+{controller.name}")
    folder = run / host
    folder.mkdir(exist_ok=True)
    return folder


def _limit_cpu(folder: Path, version: int, share: float) -> None:
    quota = max(1000, round(share * (os.cpu_count() or 1) * PERIOD_US))
    if version == 2:
        _set(folder / "cpu.max", f"{quota} {PERIOD_US}")
    else:
        _set(folder / "cpu.cfs_period_us", str(PERIOD_US))
        _set(folder / "cpu.cfs_quota_us", str(quota))


def _limit_memory(folder: Path, version: int, size: float) -> None:
    pages = int(size) // os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PAGE_SIZE")
    _set(folder / ("memory.max" if version == 2 else "memory.limit_in_bytes"), str(pages))


def _set(path: Path, value: str) -> None:
    path.write_text(value)
    seen = path.read_text().strip()
    if seen != value:
        raise OSError(f"{path} holds {seen!r} after {value!r} was written")


def remove(owner: str, controllers: Mapping[str, Controller]) -> bool:
    """Remove the groups of a run that have no processes. Returns True when none is left."""
    gone = True
    for controller in controllers.values():
        if not controller.works:
            continue
        run = Path(controller.base) / owner
        for folder in (*_children(run), run):
            with contextlib.suppress(OSError):
                folder.rmdir()
        gone = gone and not run.exists()
    return gone


def sweep(controllers: Mapping[str, Controller]) -> None:
    """Remove groups whose owner is dead, because all processes of its run were killed."""
    here = os.stat("/proc/self/ns/pid").st_ino
    for controller in controllers.values():
        if not controller.works:
            continue
        for folder in _children(Path(controller.base)):
            match = _MINE.match(folder.name)
            if match and int(match[1]) == here and not _alive(int(match[2]), int(match[3])):
                remove(folder.name, {controller.name: controller})


def _children(folder: Path) -> list[Path]:
    try:
        return [child for child in folder.iterdir() if child.is_dir()]
    except OSError:
        return []


def _alive(pid: int, started: int) -> bool:
    try:
        return _start_time(pid) == started
    except (OSError, IndexError):
        return False
