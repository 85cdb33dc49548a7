"""Downloading many files over a few connections at once.

The usual variables of the environment count (``https_proxy``, ``no_proxy``, ``SSL_CERT_FILE``), because Python's own
client reads them.
"""

from __future__ import annotations

import queue
import threading
import urllib.request
from collections.abc import Mapping
from http.client import HTTPException
from pathlib import Path
from types import TracebackType
from typing import Self

CONNECTIONS = 6
STALL_TIMEOUT_S = 30.0  # what a connection may take to bring anything
_CHUNK = 1 << 18


class Downloads:
    """Files that are on their way; a target appears when it is whole. They are given up when the block ends.

    The threads are daemons, because one that waits for a stalled server cannot be stopped: the end of the block does
    not wait for it.
    """

    def __init__(self, targets: Mapping[str, Path]) -> None:
        """``targets`` says for every address which file it becomes; the first ones start first."""
        self.received = 0  # bytes so far, of all files
        self.errors: list[Exception] = []  # of the network, of HTTP and of the disk
        self._waiting: queue.SimpleQueue[tuple[str, Path]] = queue.SimpleQueue()
        for item in targets.items():
            self._waiting.put(item)
        self._given_up = threading.Event()
        self._lock = threading.Lock()
        self._threads = [
            threading.Thread(target=self._work, daemon=True) for _ in range(min(CONNECTIONS, len(targets)))
        ]

    def are_over(self) -> bool:
        """Whether every file is there or has been given up."""
        return not any(thread.is_alive() for thread in self._threads)

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._given_up.set()

    def _work(self) -> None:
        while not self._given_up.is_set():
            try:
                address, target = self._waiting.get_nowait()
            except queue.Empty:
                return
            try:
                self._download(address, target)
            except (OSError, HTTPException) as error:
                self.errors.append(error)

    def _download(self, address: str, target: Path) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        part = target.with_name(target.name + ".part")
        with urllib.request.urlopen(address, timeout=STALL_TIMEOUT_S) as answer, part.open("wb") as file:
            while chunk := answer.read(_CHUNK):
                if self._given_up.is_set():
                    return
                file.write(chunk)
                with self._lock:
                    self.received += len(chunk)
        part.replace(target)
