"""Links at their best, for a quick start: what is configured comes into force before the load. Pure."""

from __future__ import annotations

from stream2gym.link import LinkSettings
from stream2gym.plan.model import Network

Settings = dict[str, tuple[LinkSettings | None, LinkSettings | None]]


def configured(network: Network) -> Settings:
    return {link.name: (link.forward, link.backward) for link in network.links}


def unshaped(network: Network) -> Settings:
    """No latency, no limit, no loss; packet sizes stay, and what is down stays down."""
    return {link.name: (_best(link.forward), _best(link.backward)) for link in network.links}


def _best(settings: LinkSettings) -> LinkSettings:
    return LinkSettings(mtu=settings.mtu, up=settings.up)
