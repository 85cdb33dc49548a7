"""Runs the traffic programs of ``clients/network_probes.py`` on emulated hosts and reads what they print."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import sys
import time
from pathlib import Path
from typing import Any

from stream2gym.closing import ClosedOnExit
from stream2gym.errors import Defect
from stream2gym.hosts.emulation import EmulatedNetwork

# It is run by its path: it needs only Python itself, and starts sooner this way.
PROGRAM = Path(__file__).parents[1] / "clients" / "network_probes.py"


class Probe(ClosedOnExit):
    """One probe program on a host, which prints lines of JSON; ``text`` is the source of another program."""

    def __init__(
        self, network: EmulatedNetwork, host: str, *words: object, text: str | None = None, **options: Any
    ) -> None:
        self._words = " ".join(map(str, words))
        self._read, write = os.pipe()
        null = os.open(os.devnull, os.O_RDONLY)
        what = [str(PROGRAM)] if text is None else ["-c", text]
        argv = [sys.executable, "-I", "-S", *what, *map(str, words)]
        try:
            self.process = network.spawn(host, argv, stdio=(null, write, 2), cwd="/", **options)
        except BaseException:
            os.close(self._read)
            raise
        finally:
            os.close(write)
            os.close(null)
        self._pending = b""

    def line(self, timeout_s: float = 30.0) -> dict[str, Any]:
        """Wait for the next line that it prints."""
        deadline = time.monotonic() + timeout_s
        while b"\n" not in self._pending:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._read], [], [], left)[0]:
                raise Defect(f"waited {timeout_s:g} s for an answer of the probe {self._words!r}")
            part = os.read(self._read, 1 << 16)
            if not part:
                raise Defect(f"the probe {self._words!r} ended without an answer")
            self._pending += part
        text, _, self._pending = self._pending.partition(b"\n")
        return dict(json.loads(text))

    def close(self) -> None:
        """End the program; may be called twice."""
        if self._read >= 0:
            with contextlib.suppress(Defect):
                self.process.signal(signal.SIGKILL)
            os.close(self._read)
            self._read = -1
