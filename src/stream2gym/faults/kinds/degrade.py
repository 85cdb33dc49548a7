"""``degrade``: links get other settings: slower, narrower, lossy."""

from __future__ import annotations

from stream2gym.faults.base import Action, World
from stream2gym.faults.linkbook import both_ways


class Degrade(Action):
    """Links get other settings."""

    def apply(self, world: World) -> None:
        change = self.settings.apply
        world.links.change(self, {link: both_ways(change, self.settings.ways) for link in self.hit})

    def undo(self, world: World) -> None:
        world.links.restore(self)
