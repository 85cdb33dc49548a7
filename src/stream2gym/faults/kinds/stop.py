"""``stop``: components are asked to end."""

from __future__ import annotations

from stream2gym.faults.action import FaultContext
from stream2gym.faults.component_processes import running_processes
from stream2gym.faults.kinds.kill import KillFault


class StopFault(KillFault):
    """Components are asked to end, and killed after ``timeout``."""

    def apply(self, context: FaultContext) -> None:
        self._processes = running_processes(context, self.hit)
        for process in self._processes:
            process.ask_to_stop()

    def step(self, context: FaultContext, elapsed_s: float) -> float | None:
        left = [
            process for process in self._processes if process.handle is not None and process.handle.poll() is None
        ]
        if elapsed_s < float(self.settings.timeout):
            return min(elapsed_s + 1.0, float(self.settings.timeout)) if left else None
        for process in left:
            process.kill()
        return None
