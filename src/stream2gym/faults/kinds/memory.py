"""``memory``: a host's processes share less memory."""

from __future__ import annotations

from stream2gym.faults.base import World
from stream2gym.faults.processes import Deadly


class Memory(Deadly):
    """A host's processes share less memory; the kernel kills what needs more."""

    def apply(self, world: World) -> None:
        super().apply(world)
        for host in self.hit:
            world.limits().limit(host, memory_bytes=int(self.settings.limit))

    def undo(self, world: World) -> None:
        for host in self.hit:
            world.limits().unlimit(host, "memory")
        super().undo(world)
