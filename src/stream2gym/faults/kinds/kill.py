"""``kill``: components die at once."""

from __future__ import annotations

from stream2gym.components.unit import Unit
from stream2gym.faults.base import Action, World
from stream2gym.faults.processes import running_units, start_again


class Kill(Action):
    """Dead at once; started again with what it had stored when the fault ends, if it does."""

    HOLDS = True
    SLOW = True
    _units: list[Unit] = []  # noqa: RUF012 (replaced, never changed)

    def apply(self, world: World) -> None:
        self._units = running_units(world, self.hit)
        for unit in self._units:
            unit.strike()

    def undo(self, world: World) -> None:
        start_again(world, self._units)
