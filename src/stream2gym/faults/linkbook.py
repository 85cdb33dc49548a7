"""What faults have done to links: every active change in the order in which it came.

The settings in force are the planned ones under all active changes, so faults on one link add up, and whichever is
undone first, what remains is what the others say. Pairs of hosts that no longer reach each other are kept likewise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from stream2gym.fabric.protocol import Fabric
from stream2gym.link import LinkSettings
from stream2gym.plan.model import Network, PlannedLink

Change = Callable[[LinkSettings], LinkSettings]
Changes = Mapping[str, tuple[Change | None, Change | None]]  # by link: forward, backward
Pair = tuple[str, str]  # source and target host
Settings = tuple[LinkSettings, LinkSettings]


class LinkBook:
    """One for a run."""

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
        """Put these changes in force; those that the owner had before are replaced and keep their place."""
        touched = {*self._changes.get(owner, ()), *changes}
        self._changes[owner] = dict(changes)
        self._settle(touched)

    def restore(self, owner: object) -> None:
        """Take back what the owner changed."""
        touched = self._changes.pop(owner, {})
        self._settle(touched)

    def block(self, owner: object, pairs: Iterable[Pair]) -> None:
        """Drop what these sources send to these targets."""
        self._blocks[owner] = frozenset(pairs)
        self._settle_blocks()

    def unblock(self, owner: object) -> None:
        self._blocks.pop(owner, None)
        self._settle_blocks()

    def settings(self, link: str) -> Settings:
        """What should be in force."""
        planned = self.links[link]
        forward, backward = planned.forward, planned.backward
        for changes in self._changes.values():
            there, back = changes.get(link, (None, None))
            forward = forward if there is None else there(forward)
            backward = backward if back is None else back(backward)
        return forward, backward

    def links_of(self, node: str) -> list[PlannedLink]:
        return [link for link in self.links.values() if node in (link.a, link.b)]

    def _settle(self, links: Iterable[str]) -> None:
        wanted = {link: self.settings(link) for link in links}
        news = {link: pair for link, pair in wanted.items() if pair != self._in_force[link]}
        if news:
            self._fabric.set_links({link: (pair[0], pair[1]) for link, pair in news.items()})
            self._in_force |= news

    def _settle_blocks(self) -> None:
        wanted = frozenset(pair for pairs in self._blocks.values() for pair in pairs)
        if wanted != self._blocked:
            self._fabric.block(wanted)
            self._blocked = wanted


def down(settings: LinkSettings) -> LinkSettings:
    """The same link, carrying nothing."""
    return replaced(settings, up=False)


def replaced(settings: LinkSettings, **changes: object) -> LinkSettings:
    values = {name: getattr(settings, name) for name in LinkSettings.__dataclass_fields__}
    return LinkSettings(**(values | changes))


def both_ways(change: Change, ways: str) -> tuple[Change | None, Change | None]:
    """The change on the directions that ``ways`` names: both, forward, backward."""
    return (None if ways == "backward" else change, None if ways == "forward" else change)
