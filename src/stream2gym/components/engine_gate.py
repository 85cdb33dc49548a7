"""The gate of an engine: a named pipe at which its program waits until topics and stores are there.

So the slow start of an engine overlaps with that of the brokers. One byte in the pipe opens the gate.
"""

from __future__ import annotations

import os
from pathlib import Path

from stream2gym.components.engine import EngineComponent, EngineSetting
from stream2gym.components.run_context import RunContext


class EngineGate:
    """The gate of one engine. It is made before the first start and removed when the run is over."""

    def __init__(self, context: RunContext, engine: str) -> None:
        self.path: Path = context.folder.path.absolute() / ".gates" / engine
        self._fd = -1

    def make(self, *, is_open: bool) -> None:
        """Make the pipe, with the gate open or closed."""
        self.path.parent.mkdir(exist_ok=True)
        os.mkfifo(self.path)
        self._fd = os.open(self.path, os.O_RDWR | os.O_CLOEXEC)
        if is_open:
            self.open()

    def open(self) -> None:
        """Open the gate if it has been made."""
        if self._fd >= 0:
            os.write(self._fd, b"\n")

    def remove(self) -> None:
        """Remove the pipe. A program that still waits there dies with the network."""
        if self._fd >= 0:
            os.close(self._fd)
            self.path.unlink(missing_ok=True)
            self._fd = -1


class GatedEngine(EngineComponent):
    """An engine whose program waits at a gate when it is started for the first time."""

    def __init__(self, setting: EngineSetting) -> None:
        self._gate = EngineGate(setting.context, setting.name)
        super().__init__(setting)

    def start(self) -> None:
        self._gate.make(is_open=self.gate_open)
        super().start()

    def open_gate(self) -> None:
        super().open_gate()
        self._gate.open()

    def close(self) -> None:
        self._gate.remove()
