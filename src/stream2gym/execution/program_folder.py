"""The working directory of the user's programs, where they read their own files and write to ``logs/output``.

Published programs write to ``logs/output/`` below the folder in which they start, and expect it to be there and
empty. Some write next to their own file. Therefore all hosts see a private view of that folder, whose ``logs`` is in
the run folder. Other files that programs write are kept in ``work/files``. If the kernel refuses such a view, a
folder of symbolic links is used instead, which keeps only ``logs`` apart.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from stream2gym.hosts.private_view import PrivateView
from stream2gym.record.folder import RUNS, RunFolder

_OUTPUTS = ("output/prod", "output/cons")
_HIDDEN = ("logs", RUNS)
FILES = "files"


def make_private_view(folder: RunFolder, base: Path, shared: list[Path]) -> PrivateView:
    """A private view of ``base`` for the hosts. ``shared`` are folders that stay the real ones."""
    logs = make_logs(folder)
    scratch = folder.path.absolute() / ".private"
    scratch.mkdir()
    kept = (str(folder.path.absolute()), *map(str, shared))
    return PrivateView(str(base), str(scratch), kept, {str(base.resolve() / "logs"): str(logs)})


def make_logs(folder: RunFolder) -> Path:
    """Make the folder that programs see as ``logs``, and return its path."""
    logs = (folder.work / "logs").absolute()
    for output in _OUTPUTS:
        (logs / output).mkdir(parents=True, exist_ok=True)
    return logs


def make_root(folder: RunFolder, base: Path) -> Path:
    """Make the folder of symbolic links to what is in ``base``, and return its path."""
    logs = make_logs(folder)
    root = root_of(folder)
    root.mkdir()
    (root / "logs").symlink_to(logs)
    for entry in os.scandir(base):
        if entry.name not in _HIDDEN:
            (root / entry.name).symlink_to(Path(entry.path).absolute())
    return root


def root_of(folder: RunFolder) -> Path:
    """The path of the folder of symbolic links."""
    return folder.path.absolute() / ".root"


def remove_root(folder: RunFolder) -> None:
    """Remove the symbolic links and the scratch folder of the view. What programs wrote stays in ``work/``."""
    for path in (root_of(folder), folder.path.absolute() / ".private"):
        shutil.rmtree(path, ignore_errors=True)
