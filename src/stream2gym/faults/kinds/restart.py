"""``restart``: components end and start again, with or without their data."""

from __future__ import annotations

from stream2gym.components.component_process import ComponentProcess
from stream2gym.faults.action import Action, FaultContext
from stream2gym.faults.component_processes import processes_of, start_again

POLL_S = 0.05


class RestartFault(Action):
    """Components end, at once or orderly, and start again after ``down``, with or without their data."""

    HOLDS = True
    SLOW = True
    _units: list[ComponentProcess] = []  # noqa: RUF012 (replaced, never changed)
    _started = False
    _ended_s: float | None = None

    def apply(self, context: FaultContext) -> None:
        self._processes = list(processes_of(context, self.hit))
        for process in self._processes:
            if process.running:
                process.ask_to_stop() if self.settings.orderly else process.send_kill()

    def step(self, context: FaultContext, elapsed_s: float) -> float | None:
        if any(process.handle is not None and process.handle.poll() is None for process in self._processes):
            return elapsed_s + POLL_S
        if self._ended_s is None:
            self._ended_s = elapsed_s
        due = self._ended_s + float(self.settings.down)
        if elapsed_s < due:
            return due
        self._start(context)
        return None

    def undo(self, context: FaultContext) -> None:
        if not self._started:
            self._start(context)

    def _start(self, context: FaultContext) -> None:
        self._started = True
        if self.settings.data == "wipe":
            for name in self.hit:
                context.wipe(name)
        start_again(context, self._processes)
