"""``pause``: components stand still and go on."""

from __future__ import annotations

from stream2gym.components.unit import Unit
from stream2gym.faults.base import Action, World
from stream2gym.faults.processes import running_units


class Pause(Action):
    """Stands still, its connections open, and goes on when the fault ends."""

    _units: list[Unit] = []  # noqa: RUF012 (replaced, never changed)

    def apply(self, world: World) -> None:
        self._units = running_units(world, self.hit)
        for unit in self._units:
            unit.pause()

    def undo(self, world: World) -> None:
        for unit in self._units:
            unit.resume()
