"""``degrade``: links get other settings: slower, narrower, lossy."""

from __future__ import annotations

from stream2gym.faults.action import FaultContext, LinkAction
from stream2gym.faults.link_changes import both_ways


class DegradeFault(LinkAction):
    """Links get other settings while the fault is in force."""

    def apply(self, context: FaultContext) -> None:
        change = self.settings.apply
        context.links.change(self, {link: both_ways(change, self.settings.ways) for link in self.hit})
