"""The settings of links during a fast start, when they are unshaped, and before the load, as configured. Pure."""

from __future__ import annotations

from stream2gym.link import LinkSettings
from stream2gym.plan.planned import Network

LinkChanges = dict[str, tuple[LinkSettings | None, LinkSettings | None]]


def configured_links(network: Network) -> LinkChanges:
    """Both directions of every link as the plan says."""
    return {link.name: (link.forward, link.backward) for link in network.links}


def unshaped_links(network: Network) -> LinkChanges:
    """Both directions of every link without latency, limit and loss; packet sizes and links that are down stay."""
    return {link.name: (_unshaped(link.forward), _unshaped(link.backward)) for link in network.links}


def _unshaped(settings: LinkSettings) -> LinkSettings:
    return LinkSettings(mtu=settings.mtu, up=settings.up)
