"""Where temporary files go.

Python looks for that place when it is first needed, by writing a file there and deleting it. A process that a signal
ends in between leaves that file behind. So it is chosen here, without writing.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping

_NAMED_BY = ("TMPDIR", "TEMP", "TMP")
_USUAL = ("/tmp", "/var/tmp")


def choose_temporary_folder(environment: Mapping[str, str] = os.environ) -> None:
    """Let ``tempfile`` use the first folder of those that Python would try in which files can be made.

    Without such a folder ``tempfile`` goes on looking by itself. A folder that was chosen before stays.
    """
    if tempfile.tempdir is not None:
        return
    named = [environment[name] for name in _NAMED_BY if environment.get(name)]
    for folder in (*map(os.path.abspath, named), *_USUAL):
        if os.path.isdir(folder) and os.access(folder, os.W_OK | os.X_OK):
            tempfile.tempdir = folder
            return
