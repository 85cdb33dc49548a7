"""``switch-down``: switches forward nothing."""

from __future__ import annotations

from stream2gym.faults.base import Action, World
from stream2gym.faults.linkbook import down


class SwitchDown(Action):
    """Switches forward nothing: all their links are down."""

    def apply(self, world: World) -> None:
        names = [link.name for switch in self.hit for link in world.links.links_of(switch)]
        world.links.change(self, dict.fromkeys(names, (down, down)))

    def undo(self, world: World) -> None:
        world.links.restore(self)
