"""``down``: links carry nothing, in both directions or in one."""

from __future__ import annotations

from stream2gym.faults.action import FaultContext, LinkAction
from stream2gym.faults.link_changes import both_ways, down


class DownFault(LinkAction):
    """Links carry nothing."""

    def apply(self, context: FaultContext) -> None:
        context.links.change(self, {link: both_ways(down, self.settings.ways) for link in self.hit})
