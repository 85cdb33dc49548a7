"""The working directory of the user's programs: their own files to read, ``logs/output`` of this run to write.

Published programs write to ``logs/output/`` below the folder they start in and expect it there, empty. The folder
made here shows every entry of the real one through a link, except ``logs``, which lies in the run folder.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from stream2gym.record.folder import RUNS, RunFolder

_OUTPUTS = ("output/prod", "output/cons")
_HIDDEN = ("logs", RUNS)


def make_root(folder: RunFolder, base: Path) -> Path:
    """The folder, fresh for this run."""
    logs = folder.work / "logs"
    for output in _OUTPUTS:
        (logs / output).mkdir(parents=True, exist_ok=True)
    root = root_of(folder)
    root.mkdir()
    (root / "logs").symlink_to(logs.absolute())
    for entry in os.scandir(base):
        if entry.name not in _HIDDEN:
            (root / entry.name).symlink_to(Path(entry.path).absolute())
    return root


def root_of(folder: RunFolder) -> Path:
    return folder.path.absolute() / ".root"


def remove_root(folder: RunFolder) -> None:
    """Only links go; what programs wrote stays in ``work/``."""
    shutil.rmtree(root_of(folder), ignore_errors=True)
