"""``move``: a host is connected to another switch."""

from __future__ import annotations

from stream2gym.faults.action import FaultContext, LinkAction


class MoveFault(LinkAction):
    """The link of a host leads to another switch while the fault is in force."""

    def apply(self, context: FaultContext) -> None:
        for host in self.hit:
            link = context.links.links_of(host)[0]
            ends = (host, self.settings.to) if link.a == host else (self.settings.to, host)
            context.links.fabric.move(link.name, *ends)

    def undo(self, context: FaultContext) -> None:
        for host in self.hit:
            link = context.links.links_of(host)[0]
            context.links.fabric.move(link.name, link.a, link.b)
