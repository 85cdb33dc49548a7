"""The limits that hosts ask for, and what this machine cannot enforce of them."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping

from stream2gym.hosts import cgroups
from stream2gym.plan.model import Network


def limits_of(network: Network) -> dict[str, cgroups.Limit]:
    """The hosts that ask for a limit."""
    return {
        host.name: cgroups.Limit(host.cpu_share, host.memory_bytes)
        for host in network.hosts
        if host.cpu_share is not None or host.memory_bytes is not None
    }


def with_room(
    limits: Mapping[str, cgroups.Limit], squeezable: Mapping[str, Collection[str]]
) -> dict[str, cgroups.Limit]:
    """Limits as large as the machine where a host has none yet and may get one."""
    whole = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    found = dict(limits)
    for host, names in squeezable.items():
        limit = found.get(host, cgroups.Limit())
        cpu = 1.0 if "cpu" in names and limit.cpu_share is None else limit.cpu_share
        memory = whole if "memory" in names and limit.memory_bytes is None else limit.memory_bytes
        found[host] = cgroups.Limit(cpu, memory)
    return found


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
