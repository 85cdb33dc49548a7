"""Reads what the processes of a run print, line by line; one thread reads every pipe.

A line goes to its listener without its line end. The length of lines is bounded, so that a program that prints a
gigabyte without a line end costs no memory.
"""

from __future__ import annotations

import os
import selectors
import threading
from collections.abc import Callable

LONGEST = 1 << 20
Listener = Callable[[bytes], None]


class LineReader:
    """Reads pipes until they end. ``open`` makes a pipe and returns the end that a process writes to."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._wake_read, self._wake_write = os.pipe()
        self._selector.register(self._wake_read, selectors.EVENT_READ, None)
        self._parts: dict[int, bytearray] = {}
        self._lock = threading.Lock()
        self._new: list[tuple[int, Listener]] = []
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="s2g-lines", daemon=True)
        self._thread.start()

    def open(self, listener: Listener) -> int:
        """Make a pipe whose lines go to ``listener``.

        Returns the descriptor for the process. The caller closes its own copy when the process has it.
        """
        read, write = os.pipe()
        os.set_blocking(read, False)
        with self._lock:
            self._new.append((read, listener))
        os.write(self._wake_write, b"+")
        return write

    def close(self) -> None:
        """Read every pipe to its end, then stop. Call it when the writers have ended."""
        if not self._thread.is_alive():
            return
        self._closing = True
        os.write(self._wake_write, b".")
        self._thread.join(5.0)

    def _run(self) -> None:
        while not (self._closing and not self._parts and not self._new):
            for key, _ in self._selector.select(0.2 if self._closing else None):
                if key.fd == self._wake_read:
                    os.read(self._wake_read, 4096)
                    self._take_new()
                else:
                    self._read(key.fd, key.data)
        self._selector.close()
        os.close(self._wake_read)
        os.close(self._wake_write)

    def _take_new(self) -> None:
        with self._lock:
            new, self._new = self._new, []
        for fd, listener in new:
            self._parts[fd] = bytearray()
            self._selector.register(fd, selectors.EVENT_READ, listener)

    def _read(self, fd: int, listener: Listener) -> None:
        data = os.read(fd, 65536)
        part = self._parts[fd]
        part += data
        *whole, rest = bytes(part).split(b"\n")
        for line in whole:
            listener(line)
        if not data or len(rest) > LONGEST:
            if rest:
                listener(rest)
            rest = b""
        part[:] = rest
        if not data:
            self._selector.unregister(fd)
            del self._parts[fd]
            os.close(fd)
