"""``move``: a host is plugged into another switch."""

from __future__ import annotations

from stream2gym.faults.base import Action, World


class Move(Action):
    """A host's link leads to another switch, and back again afterwards."""

    def apply(self, world: World) -> None:
        for host in self.hit:
            link = world.links.links_of(host)[0]
            ends = (host, self.settings.to) if link.a == host else (self.settings.to, host)
            world.links.fabric.move(link.name, *ends)

    def undo(self, world: World) -> None:
        for host in self.hit:
            link = world.links.links_of(host)[0]
            world.links.fabric.move(link.name, link.a, link.b)
