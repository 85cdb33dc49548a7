"""A private view of a folder for all hosts of a run: programs read its files, and what they write goes elsewhere.

The view is an overlay at the path of the folder, inside the run's mount namespace only. So programs find their files
by whatever path they use, and the user's files do not change. What programs write is held in memory and copied at the
end. The supervisor mounts the view before it builds hosts, and collects what was written before it ends.
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
class PrivateView(Jsonable):
    """The view of one folder. All paths are absolute."""

    folder: str
    # An empty folder that holds what is written.
    scratch: str
    # Folders below the folder that stay the real ones.
    shared: tuple[str, ...] = ()
    # Folders below the folder that are replaced by other folders.
    instead: dict[str, str] = field(default_factory=dict)

    def mount(self) -> str:
        """Mount the view. Returns why it could not be mounted, or an empty text."""
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
        # In memory, because the kernel does not allow it below the folder, where run folders usually are.
        linux.mount("tmpfs", self.scratch, "tmpfs", linux.MS_NOSUID | linux.MS_NODEV, "mode=700")
        for name in ("written", "kernel"):
            os.mkdir(Path(self.scratch, name))
        held = _open(self.scratch, undo)
        # Descriptors instead of paths, because characters of a path could be taken for separators.
        lower = f"/proc/self/fd/{_open(here, undo)}"
        data = f"lowerdir={lower},upperdir=/proc/self/fd/{held}/written,workdir=/proc/self/fd/{held}/kernel"
        try:
            linux.mount("s2g", here, "overlay", linux.MS_NODEV, f"{data},userxattr")
        except OSError:
            # Kernels before 5.11 do not know the option; root does not need it.
            linux.mount("s2g", here, "overlay", linux.MS_NODEV, data)

    def collect(self, target: str) -> list[str]:
        """Copy the files that programs made or changed to ``target``. Returns their paths below the folder."""
        top = Path(self.scratch, "written")
        found = []
        for folder, names, files in os.walk(top):
            names[:] = [name for name in names if name != _CLUTTER]
            for name in files:
                path = Path(folder, name)
                # A deleted file is marked by something that is no regular file.
                if stat.S_ISREG(path.lstat().st_mode):
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
