"""``pause``: components are suspended and go on later."""

from __future__ import annotations

from stream2gym.components.component_process import ComponentProcess
from stream2gym.faults.action import Action, FaultContext
from stream2gym.faults.component_processes import running_processes


class PauseFault(Action):
    """Components are suspended, with their connections open, and go on when the fault ends."""

    _units: list[ComponentProcess] = []  # noqa: RUF012 (replaced, never changed)

    def apply(self, context: FaultContext) -> None:
        self._processes = running_processes(context, self.hit)
        for process in self._processes:
            process.pause()

    def undo(self, context: FaultContext) -> None:
        for process in self._processes:
            process.resume()
