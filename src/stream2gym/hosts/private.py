"""A private view of a folder for all hosts of a run: its files to read, and whatever is written goes elsewhere.

An overlay at the folder's own path, seen only inside the run's mount namespace, so that programs find their files
whatever path they use while the user's tree stays as it was. What they write is held in memory and copied out at the
end. ``Private`` is the order; the supervisor mounts it before it builds hosts, and collects before it ends.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from stream2gym import linux
from stream2gym.jsonable import Jsonable

_OF_THE_SYSTEM = ("/", "/tmp", "/dev", "/proc", "/sys", "/etc", "/run", "/usr", "/var")
_CLUTTER = "__pycache__"


@dataclass(frozen=True)
class Private(Jsonable):
    """What to make private. All paths are absolute."""

    folder: str
    scratch: str  # an empty folder to hold what is written
    shared: tuple[str, ...] = ()  # folders that stay the real ones where they lie below
    instead: dict[str, str] = field(default_factory=dict)  # folders below it that another one stands in for

    def mount(self) -> str:
        """Mount it. What kept it from being made, or nothing."""
        here = os.path.realpath(self.folder)
        shared = [path for path in map(os.path.realpath, self.shared) if path.startswith(f"{here}/")]
        if reason := _unfit(here):
            return reason
        try:
            with contextlib.ExitStack() as undo:
                places = {path: _open(path, undo) for path in _outermost(shared) if os.path.isdir(path)}
                places = {path: _open(other, undo) for path, other in self.instead.items()} | places
                self._overlay(here, undo)
                for path, fd in places.items():
                    os.makedirs(path, exist_ok=True)
                    linux.mount(f"/proc/self/fd/{fd}", path, flags=linux.MS_BIND | linux.MS_REC)
        except OSError as error:
            return f"{error.filename or 'overlay'}: {error.strerror}"
        return ""

    def _overlay(self, here: str, undo: contextlib.ExitStack) -> None:
        # In memory: what is written may not lie below what is shown, where run folders usually are.
        linux.mount("tmpfs", self.scratch, "tmpfs", linux.MS_NOSUID | linux.MS_NODEV, "mode=700")
        for name in ("written", "kernel"):
            os.mkdir(Path(self.scratch, name))
        held = _open(self.scratch, undo)
        # Descriptors in place of paths: no sign in a name can be taken for a separator.
        lower = f"/proc/self/fd/{_open(here, undo)}"
        data = f"lowerdir={lower},upperdir=/proc/self/fd/{held}/written,workdir=/proc/self/fd/{held}/kernel"
        try:
            linux.mount("s2g", here, "overlay", linux.MS_NODEV, f"{data},userxattr")
        except OSError:
            linux.mount("s2g", here, "overlay", linux.MS_NODEV, data)  # kernels before 5.11, as root

    def collect(self, target: str) -> list[str]:
        """Copy the files that programs made or changed; gives their paths below the folder."""
        top = Path(self.scratch, "written")
        found = []
        for folder, names, files in os.walk(top):
            names[:] = [name for name in names if name != _CLUTTER]
            for name in files:
                path = Path(folder, name)
                if stat.S_ISREG(path.lstat().st_mode):  # a mark of deletion is none
                    kept = Path(target, path.relative_to(top))
                    kept.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(path, kept)
                    found.append(str(path.relative_to(top)))
        return sorted(found)


def _unfit(here: str) -> str:
    if here in _OF_THE_SYSTEM:
        return f"{here} is a folder of the system"
    with open("/proc/self/mountinfo") as table:
        points = [line.split()[4].replace("\\040", " ") for line in table]
    below = [point for point in points if point.startswith(f"{here}/")]
    return f"{below[0]} is mounted below it" if below else ""


def _open(path: str, undo: contextlib.ExitStack) -> int:
    fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    undo.callback(os.close, fd)
    return fd


def _outermost(paths: Sequence[str]) -> list[str]:
    return [path for path in sorted(set(paths)) if not any(path.startswith(f"{other}/") for other in paths)]
