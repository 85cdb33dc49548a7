"""How our own processes start Python: never with a folder of the caller on the import path.

A folder with an experiment may contain a ``copy.py`` or a ``json.py``. Therefore neither the working directory nor
the folder of a script is on the import path of our processes (``-P``); the user's own programs have it. PYTHONPATH
and the user's site folder are ignored, too (``-E``, ``-s``), unless this package is imported from there. We use flags
instead of variables, because the user's programs would inherit variables.

This module imports only modules that every interpreter has loaded when it starts, because the command calls it before
its import path is safe.
"""

import os
import site
import sys

PACKAGE = os.path.dirname(os.path.realpath(__file__))


def own_python(*words: str) -> list[str]:
    """The argument list of a Python process of ours, for example ``own_python("-m", "stream2gym")``."""
    return [sys.executable, *interpreter_flags(), *words]


def interpreter_flags() -> list[str]:
    """``-P``, and the other flags that keep modules of the caller away but not this package."""
    flags = ["-P"]
    if not holds_package(os.environ.get("PYTHONPATH", "").split(os.pathsep)):
        flags.append("-E")
    if not holds_package([site.getusersitepackages()]):
        flags.append("-s")
    # The caller's settings of bytecode apply to all our processes.
    if sys.dont_write_bytecode:
        flags.append("-B")
    if sys.pycache_prefix:
        flags += ["-X", f"pycache_prefix={sys.pycache_prefix}"]
    return flags


def leave_out_callers_folders() -> None:
    """Remove the working directory and the folder of the script from the import path of this process."""
    unsafe = {_resolved("")}
    if not sys.flags.safe_path and sys.path:
        unsafe.add(_resolved(sys.path[0]))
    sys.path[:] = [entry for entry in sys.path if _resolved(entry) not in unsafe or holds_package([entry])]


def holds_package(folders: list[str]) -> bool:
    """Whether this package is imported from one of these folders."""
    root = os.path.dirname(PACKAGE)
    return any(folder and _resolved(folder) == root for folder in folders)


def _resolved(folder: str) -> str:
    try:
        return os.path.realpath(folder or os.getcwd())
    except OSError:
        return folder
