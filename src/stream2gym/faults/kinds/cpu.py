"""``cpu``: a host's processes share less CPU."""

from __future__ import annotations

from stream2gym.faults.base import Action, World


class Cpu(Action):
    """A host's processes share less CPU."""

    def apply(self, world: World) -> None:
        for host in self.hit:
            world.limits().limit(host, cpu_share=float(self.settings.share))

    def undo(self, world: World) -> None:
        for host in self.hit:
            world.limits().unlimit(host, "cpu")
