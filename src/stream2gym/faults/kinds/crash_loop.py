"""``crash-loop``: components die again and again."""

from __future__ import annotations

from stream2gym.components.component_process import ComponentProcess
from stream2gym.faults.action import Action, FaultContext
from stream2gym.faults.component_processes import running_processes, start_again


class CrashLoopFault(Action):
    """Components are killed, started after ``down``, killed again after ``up``, and so on."""

    HOLDS = True
    SLOW = True
    _units: list[ComponentProcess] = []  # noqa: RUF012 (replaced, never changed)

    def apply(self, context: FaultContext) -> None:
        self._processes = running_processes(context, self.hit)

    def step(self, context: FaultContext, elapsed_s: float) -> float | None:
        down, up = float(self.settings.down), float(self.settings.up)
        number, part = divmod(elapsed_s + 1e-6, down + up)
        if part < down:
            for process in self._processes:
                process.kill()
            return float(number * (down + up) + down)
        start_again(context, [process for process in self._processes if not process.running])
        return float((number + 1) * (down + up))

    def undo(self, context: FaultContext) -> None:
        start_again(context, [process for process in self._processes if not process.running])
