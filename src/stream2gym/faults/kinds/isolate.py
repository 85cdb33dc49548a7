"""``isolate``: hosts reach nobody, or are reached by nobody."""

from __future__ import annotations

from stream2gym.faults.action import FaultContext, LinkAction
from stream2gym.faults.link_changes import Change, both_ways, down


class IsolateFault(LinkAction):
    """Hosts reach nobody, or are reached by nobody (``ways``: in, out, both)."""

    def apply(self, context: FaultContext) -> None:
        changes: dict[str, tuple[Change | None, Change | None]] = {}
        for host in self.hit:
            for link in context.links.links_of(host):
                out, into = ("forward", "backward") if link.a == host else ("backward", "forward")
                ways = {"both": "both", "out": out, "in": into}[self.settings.ways]
                there, back = both_ways(down, ways)
                before = changes.get(link.name, (None, None))
                changes[link.name] = (there or before[0], back or before[1])
        context.links.change(self, changes)
