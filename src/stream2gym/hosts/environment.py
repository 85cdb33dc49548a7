"""The environment variables that programs inherit: few, so that a run depends on its experiment and no secret leaks.

These are the variables that say where software and the user's files are, and how text and time are written. Programs
also get the documented ``S2G_*`` variables and those that the experiment names under ``env``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from stream2gym.own_python import holds_package

# Where programs and libraries are (Python itself may need them), the user, the language, the time zone, the terminal.
_KEPT = frozenset((
    "PATH", "LD_LIBRARY_PATH", "LD_PRELOAD", "JAVA_HOME", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE",
    "TZ", "TERM",
))  # fmt: skip
_KEPT_PREFIX = "LC_"
_PYTHON_PATH = "PYTHONPATH"


def clean_environment(caller: Mapping[str, str]) -> dict[str, str]:
    """The variables of the caller that a program inherits."""
    kept = {name: value for name, value in caller.items() if name in _KEPT or name.startswith(_KEPT_PREFIX)}
    # Without it, our own clients could not be imported.
    if holds_package(caller.get(_PYTHON_PATH, "").split(os.pathsep)):
        kept[_PYTHON_PATH] = caller[_PYTHON_PATH]
    return kept
