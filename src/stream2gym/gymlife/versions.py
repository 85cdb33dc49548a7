"""What run.json says about the software and the machine around a run."""

from __future__ import annotations

import os
import platform
import shlex
import sys
from pathlib import Path
from typing import Any

from stream2gym import __version__


def versions() -> dict[str, str]:
    return {
        "stream2gym": __version__,
        "python": platform.python_version(),
        "kernel": platform.release(),
    }


def machine() -> dict[str, Any]:
    return {
        "architecture": platform.machine(),
        "cpus": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
    }


def command() -> str:
    """The command line as given, without naming places of this machine."""
    words = [word if not word.startswith("/") else Path(word).name for word in sys.argv[1:]]
    return shlex.join(["s2g", *words])
