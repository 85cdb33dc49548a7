"""``disk-full``: the storage of a host is full."""

from __future__ import annotations

from stream2gym.faults.action import FaultContext
from stream2gym.faults.component_processes import DeadlyAction


class DiskFullFault(DeadlyAction):
    """The storage of a host has no room left, or only as much as ``leave`` says."""

    def apply(self, context: FaultContext) -> None:
        super().apply(context)
        for host in self.hit:
            context.limits().fill_disk(host, int(self.settings.leave))

    def undo(self, context: FaultContext) -> None:
        for host in self.hit:
            context.limits().free_disk(host)
        super().undo(context)
