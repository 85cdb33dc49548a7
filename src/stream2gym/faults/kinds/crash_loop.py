"""``crash-loop``: components die again and again."""

from __future__ import annotations

from stream2gym.components.unit import Unit
from stream2gym.faults.base import Action, World
from stream2gym.faults.processes import running_units, start_again


class CrashLoop(Action):
    """Killed, started, killed again: ``down`` after each death, ``up`` after each start."""

    HOLDS = True
    SLOW = True
    _units: list[Unit] = []  # noqa: RUF012 (replaced, never changed)

    def apply(self, world: World) -> None:
        self._units = running_units(world, self.hit)

    def step(self, world: World, elapsed_s: float) -> float | None:
        down, up = float(self.settings.down), float(self.settings.up)
        number, part = divmod(elapsed_s + 1e-6, down + up)
        if part < down:
            for unit in self._units:
                unit.kill()
            return float(number * (down + up) + down)
        start_again(world, [unit for unit in self._units if not unit.running])
        return float((number + 1) * (down + up))

    def undo(self, world: World) -> None:
        start_again(world, [unit for unit in self._units if not unit.running])
