"""``disk-full``: a host's storage has no room left."""

from __future__ import annotations

from stream2gym.faults.base import World
from stream2gym.faults.processes import Deadly


class DiskFull(Deadly):
    """A host's storage has no room left, or only so much."""

    def apply(self, world: World) -> None:
        super().apply(world)
        for host in self.hit:
            world.limits().fill_disk(host, int(self.settings.leave))

    def undo(self, world: World) -> None:
        for host in self.hit:
            world.limits().free_disk(host)
        super().undo(world)
