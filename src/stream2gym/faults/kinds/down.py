"""``down``: links carry nothing, in both directions or in one."""

from __future__ import annotations

from stream2gym.faults.base import Action, World
from stream2gym.faults.linkbook import both_ways, down


class Down(Action):
    """Links carry nothing."""

    def apply(self, world: World) -> None:
        world.links.change(self, {link: both_ways(down, self.settings.ways) for link in self.hit})

    def undo(self, world: World) -> None:
        world.links.restore(self)
