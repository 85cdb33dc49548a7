"""``isolate``: hosts reach nobody, or are reached by nobody."""

from __future__ import annotations

from stream2gym.faults.base import Action, World
from stream2gym.faults.linkbook import Change, both_ways, down


class Isolate(Action):
    """Hosts reach nobody, or are reached by nobody (``ways``: in, out, both)."""

    def apply(self, world: World) -> None:
        changes: dict[str, tuple[Change | None, Change | None]] = {}
        for host in self.hit:
            for link in world.links.links_of(host):
                out, into = ("forward", "backward") if link.a == host else ("backward", "forward")
                ways = {"both": "both", "out": out, "in": into}[self.settings.ways]
                there, back = both_ways(down, ways)
                before = changes.get(link.name, (None, None))
                changes[link.name] = (there or before[0], back or before[1])
        world.links.change(self, changes)

    def undo(self, world: World) -> None:
        world.links.restore(self)
