"""The limits that hosts ask for, and what this machine cannot enforce of them."""

from __future__ import annotations

from collections.abc import Mapping

from stream2gym.hosts import cgroups
from stream2gym.plan.model import Network


def limits_of(network: Network) -> dict[str, cgroups.Limit]:
    """The hosts that ask for a limit."""
    return {
        host.name: cgroups.Limit(host.cpu_share, host.memory_bytes)
        for host in network.hosts
        if host.cpu_share is not None or host.memory_bytes is not None
    }


def warnings_of(network: Network, controllers: Mapping[str, cgroups.Controller] | None = None) -> list[str]:
    """What the experiment asks for and this machine cannot enforce."""
    if not limits_of(network):
        return []
    found = cgroups.find_controllers() if controllers is None else controllers
    warnings = []
    for name, asked in (("cpu", "cpu_share"), ("memory", "memory_bytes")):
        hosts = [host.name for host in network.hosts if getattr(host, asked) is not None]
        if hosts and not found[name].works:
            why = f"{found[name].problem}; {found[name].remedy}"
            warnings.append(f"the {name} limit of {', '.join(hosts)} is not in force: {why}")
    return warnings
