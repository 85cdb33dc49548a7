"""The working directory of the user's programs: their own files to read, ``logs/output`` of this run to write.

Published programs write to ``logs/output/`` below the folder they start in and expect it there, empty; some write
beside their own file. All hosts therefore see a private view of that folder whose ``logs`` lies in the run folder;
other files that programs wrote are kept in ``work/files``. Where the kernel refuses such a view, a folder of links
stands in, which keeps ``logs`` apart and nothing else.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from stream2gym.hosts.private import Private
from stream2gym.record.folder import RUNS, RunFolder

_OUTPUTS = ("output/prod", "output/cons")
_HIDDEN = ("logs", RUNS)
FILES = "files"


def private_view(folder: RunFolder, base: Path, shared: list[Path]) -> Private:
    """The order for a private view of ``base``."""
    logs = make_logs(folder)
    scratch = folder.path.absolute() / ".private"
    scratch.mkdir()
    kept = (str(folder.path.absolute()), *map(str, shared))
    return Private(str(base), str(scratch), kept, {str(base.resolve() / "logs"): str(logs)})


def make_logs(folder: RunFolder) -> Path:
    logs = (folder.work / "logs").absolute()
    for output in _OUTPUTS:
        (logs / output).mkdir(parents=True, exist_ok=True)
    return logs


def make_root(folder: RunFolder, base: Path) -> Path:
    """The folder of links, fresh for this run."""
    logs = make_logs(folder)
    root = root_of(folder)
    root.mkdir()
    (root / "logs").symlink_to(logs)
    for entry in os.scandir(base):
        if entry.name not in _HIDDEN:
            (root / entry.name).symlink_to(Path(entry.path).absolute())
    return root


def root_of(folder: RunFolder) -> Path:
    return folder.path.absolute() / ".root"


def remove_root(folder: RunFolder) -> None:
    """Only links and the place of the view go; what programs wrote stays in ``work/``."""
    for path in (root_of(folder), folder.path.absolute() / ".private"):
        shutil.rmtree(path, ignore_errors=True)
