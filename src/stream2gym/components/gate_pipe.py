"""The gate that holds the program of an engine until topics and stores are there: a pipe, opened by one byte."""

from __future__ import annotations

import os
from pathlib import Path


class GatePipe:
    """One gate. A program that still waits there when it is closed dies with the network."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fd = -1

    def make(self, *, is_open: bool) -> None:
        """Make the pipe, before the program starts."""
        self.path.parent.mkdir(exist_ok=True)
        os.mkfifo(self.path)
        self._fd = os.open(self.path, os.O_RDWR | os.O_CLOEXEC)
        if is_open:
            self.open()

    def open(self) -> None:
        """Let the program begin its work. Nothing happens where there is no pipe."""
        if self._fd >= 0:
            os.write(self._fd, b"\n")

    def close(self) -> None:
        """Remove the pipe."""
        if self._fd >= 0:
            os.close(self._fd)
            self.path.unlink(missing_ok=True)
            self._fd = -1
