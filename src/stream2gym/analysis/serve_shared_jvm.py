"""Starts a JVM that the analyses of several commands share: ``python -m stream2gym.analysis.serve_shared_jvm FILE``.

It opens a Spark session, writes to FILE where its JVM listens, and keeps the session until its standard input ends.
The tests use it, because starting a JVM takes most of the time of a small analysis.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from stream2gym.analysis.session import open_session
from stream2gym.analysis.shared_jvm import VARIABLE, JvmAddress


def serve(file: Path) -> None:
    """Open a session, say in ``file`` where its JVM listens, and keep it until the standard input ends."""
    with open_session(listening=lambda address: write_address(file, address)):
        sys.stdin.buffer.read()


def write_address(file: Path, address: JvmAddress) -> None:
    """Write the file at once, so that nobody reads half of it, and for nobody else."""
    unfinished = file.with_suffix(".new")
    with open(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as stream:
        json.dump(vars(address), stream)
    unfinished.rename(file)


if __name__ == "__main__":
    os.environ.pop(VARIABLE, None)
    serve(Path(sys.argv[1]))
