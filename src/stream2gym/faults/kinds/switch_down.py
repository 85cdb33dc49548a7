"""``switch-down``: switches forward nothing."""

from __future__ import annotations

from stream2gym.faults.action import FaultContext, LinkAction
from stream2gym.faults.link_changes import down


class SwitchDownFault(LinkAction):
    """Switches forward nothing: all their links are down."""

    def apply(self, context: FaultContext) -> None:
        names = [link.name for switch in self.hit for link in context.links.links_of(switch)]
        context.links.change(self, dict.fromkeys(names, (down, down)))
