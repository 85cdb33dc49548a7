"""``cpu``: a host's processes share less CPU."""

from __future__ import annotations

from stream2gym.faults.action import Action, FaultContext


class CpuFault(Action):
    """The processes of a host share less CPU."""

    def apply(self, context: FaultContext) -> None:
        for host in self.hit:
            context.limits().limit(host, cpu_share=float(self.settings.share))

    def undo(self, context: FaultContext) -> None:
        for host in self.hit:
            context.limits().unlimit(host, "cpu")
