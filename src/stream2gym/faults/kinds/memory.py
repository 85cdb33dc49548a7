"""``memory``: a host's processes share less memory."""

from __future__ import annotations

from stream2gym.faults.action import FaultContext
from stream2gym.faults.component_processes import DeadlyAction


class MemoryFault(DeadlyAction):
    """The processes of a host share less memory. The kernel kills those that need more."""

    def apply(self, context: FaultContext) -> None:
        super().apply(context)
        for host in self.hit:
            context.limits().limit(host, memory_bytes=int(self.settings.limit))

    def undo(self, context: FaultContext) -> None:
        for host in self.hit:
            context.limits().unlimit(host, "memory")
        super().undo(context)
