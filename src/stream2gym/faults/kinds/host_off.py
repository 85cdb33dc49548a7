"""``host-off``: hosts lose power and come back."""

from __future__ import annotations

from contextlib import suppress

from stream2gym.components.unit import Unit
from stream2gym.faults.base import Action, CannotApply, World
from stream2gym.faults.linkbook import down
from stream2gym.faults.processes import running_on, start_again


class HostOff(Action):
    """Everything on the host dies and its links are down; later it comes back, with or without its data."""

    HOLDS = True
    SLOW = True
    _units: list[Unit] = []  # noqa: RUF012 (replaced, never changed)

    def apply(self, world: World) -> None:
        names = [link.name for host in self.hit for link in world.links.links_of(host)]
        world.links.change(self, dict.fromkeys(names, (down, down)))
        self._units = running_on(world, self.hit)
        for unit in self._units:
            unit.strike()

    def undo(self, world: World) -> None:
        world.links.restore(self)
        if self.settings.data == "wipe":
            for unit in self._units:
                unit.kill()  # gone for sure before its data are
            for name in dict.fromkeys(unit.component for unit in self._units):
                with suppress(CannotApply):  # not everything on a host keeps data
                    world.wipe(name)
        start_again(world, self._units)

    def held(self, world: World) -> frozenset[str]:
        return frozenset(unit.component for unit in self._units)
