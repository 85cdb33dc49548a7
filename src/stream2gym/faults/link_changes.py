"""The changes of links that faults have in force, in the order in which they began.

The settings of a link are the planned ones with all these changes applied. So faults of one link add up, and when one
of them ends, the changes of the others stay. Pairs of hosts that faults keep apart are handled in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from stream2gym.fabric.protocol import Fabric
from stream2gym.link import LinkSettings
from stream2gym.plan.planned import Network, PlannedLink

Change = Callable[[LinkSettings], LinkSettings]
Changes = Mapping[str, tuple[Change | None, Change | None]]  # by link: forward, backward
Pair = tuple[str, str]  # source and target host
Settings = tuple[LinkSettings, LinkSettings]


class ActiveLinkChanges:
    """The changes of links and the blocked pairs of hosts in one run, and the fabric that they are applied to."""

    def __init__(self, network: Network, fabric: Fabric) -> None:
        self._fabric = fabric
        self.links: dict[str, PlannedLink] = {link.name: link for link in network.links}
        self._in_force = {name: (link.forward, link.backward) for name, link in self.links.items()}
        self._changes: dict[object, Changes] = {}
        self._blocks: dict[object, frozenset[Pair]] = {}
        self._blocked: frozenset[Pair] = frozenset()

    @property
    def fabric(self) -> Fabric:
        return self._fabric

    def change(self, owner: object, changes: Changes) -> None:
        """Apply the changes of an owner (a fault). They replace the owner's earlier ones and keep their order."""
        touched = {*self._changes.get(owner, ()), *changes}
        self._changes[owner] = dict(changes)
        self._update_links(touched)

    def restore(self, owner: object) -> None:
        """Remove the changes of an owner."""
        touched = self._changes.pop(owner, {})
        self._update_links(touched)

    def block(self, owner: object, pairs: Iterable[Pair]) -> None:
        """Drop every packet between these pairs of source and target."""
        self._blocks[owner] = frozenset(pairs)
        self._update_blocks()

    def unblock(self, owner: object) -> None:
        """Remove the blocked pairs of an owner."""
        self._blocks.pop(owner, None)
        self._update_blocks()

    def settings(self, link: str) -> Settings:
        """The settings that a link should have now, forward and backward."""
        planned = self.links[link]
        forward, backward = planned.forward, planned.backward
        for changes in self._changes.values():
            there, back = changes.get(link, (None, None))
            forward = forward if there is None else there(forward)
            backward = backward if back is None else back(backward)
        return forward, backward

    def links_of(self, node: str) -> list[PlannedLink]:
        """The links of a host or a switch."""
        return [link for link in self.links.values() if node in (link.a, link.b)]

    def _update_links(self, links: Iterable[str]) -> None:
        """Apply the settings of these links to the fabric where they have changed."""
        wanted = {link: self.settings(link) for link in links}
        changed = {link: pair for link, pair in wanted.items() if pair != self._in_force[link]}
        if changed:
            self._fabric.set_links({link: (pair[0], pair[1]) for link, pair in changed.items()})
            self._in_force |= changed

    def _update_blocks(self) -> None:
        """Apply the blocked pairs to the fabric if they have changed."""
        wanted = frozenset(pair for pairs in self._blocks.values() for pair in pairs)
        if wanted != self._blocked:
            self._fabric.block(wanted)
            self._blocked = wanted


def down(settings: LinkSettings) -> LinkSettings:
    """The settings of the link while it carries nothing."""
    return replaced(settings, up=False)


def replaced(settings: LinkSettings, **changes: object) -> LinkSettings:
    """A copy of the settings with some values changed."""
    values = {name: getattr(settings, name) for name in LinkSettings.__dataclass_fields__}
    return LinkSettings(**(values | changes))


def both_ways(change: Change, ways: str) -> tuple[Change | None, Change | None]:
    """The change for each direction that ``ways`` names (both, forward, backward); None for the other."""
    return (None if ways == "backward" else change, None if ways == "forward" else change)
