"""``restart``: components end and start again, with or without their data."""

from __future__ import annotations

from stream2gym.components.unit import Unit
from stream2gym.faults.base import Action, World
from stream2gym.faults.processes import start_again, units_of

POLL_S = 0.05


class Restart(Action):
    """Ended, at once or orderly, and started again after a while, with or without its data."""

    HOLDS = True
    SLOW = True
    _units: list[Unit] = []  # noqa: RUF012 (replaced, never changed)
    _started = False
    _ended_s: float | None = None

    def apply(self, world: World) -> None:
        self._units = list(units_of(world, self.hit))
        for unit in self._units:
            if unit.running:
                unit.ask_to_stop() if self.settings.orderly else unit.strike()

    def step(self, world: World, elapsed_s: float) -> float | None:
        if any(unit.process is not None and unit.process.poll() is None for unit in self._units):
            return elapsed_s + POLL_S
        if self._ended_s is None:
            self._ended_s = elapsed_s
        due = self._ended_s + float(self.settings.down)
        if elapsed_s < due:
            return due
        self._start(world)
        return None

    def undo(self, world: World) -> None:
        if not self._started:
            self._start(world)

    def _start(self, world: World) -> None:
        self._started = True
        if self.settings.data == "wipe":
            for name in self.hit:
                world.wipe(name)
        start_again(world, self._units)
