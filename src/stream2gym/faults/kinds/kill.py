"""``kill``: components die at once."""

from __future__ import annotations

from stream2gym.components.component_process import ComponentProcess
from stream2gym.faults.action import Action, FaultContext
from stream2gym.faults.component_processes import running_processes, start_again


class KillFault(Action):
    """Components die at once. When the fault ends they are started again and find what they had stored."""

    HOLDS = True
    SLOW = True
    _units: list[ComponentProcess] = []  # noqa: RUF012 (replaced, never changed)

    def apply(self, context: FaultContext) -> None:
        self._processes = running_processes(context, self.hit)
        for process in self._processes:
            process.send_kill()

    def undo(self, context: FaultContext) -> None:
        start_again(context, self._processes)
