"""Limits of a host's CPU and memory: those of the plan, those that faults may set, what cannot be enforced."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from fnmatch import fnmatchcase

from stream2gym.errors import CannotHere
from stream2gym.hosts import cgroups
from stream2gym.kinds.registry import registry
from stream2gym.kinds.targets import parse_target
from stream2gym.plan.planned import Network, Plan


def limits_of(network: Network) -> dict[str, cgroups.Limit]:
    """The limits of the plan, by host; hosts without a limit are left out."""
    return {
        host.name: cgroups.Limit(host.cpu_share, host.memory_bytes)
        for host in network.hosts
        if host.cpu_share is not None or host.memory_bytes is not None
    }


def with_room(
    limits: Mapping[str, cgroups.Limit], limitable: Mapping[str, Collection[str]]
) -> dict[str, cgroups.Limit]:
    """Add a limit as large as the machine where a host has none and a fault may set one."""
    whole = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    found = dict(limits)
    for host, names in limitable.items():
        limit = found.get(host, cgroups.Limit())
        cpu = 1.0 if "cpu" in names and limit.cpu_share is None else limit.cpu_share
        memory = whole if "memory" in names and limit.memory_bytes is None else limit.memory_bytes
        found[host] = cgroups.Limit(cpu, memory)
    return found


def unenforced_limits(
    network: Network, controllers: Mapping[str, cgroups.Controller] | None = None
) -> dict[str, str]:
    """A sentence for each limit of the plan (cpu, memory) that this machine cannot enforce."""
    if not limits_of(network):
        return {}
    found = cgroups.find_controllers() if controllers is None else controllers
    warnings = {}
    for name, asked in (("cpu", "cpu_share"), ("memory", "memory_bytes")):
        hosts = [host.name for host in network.hosts if getattr(host, asked) is not None]
        if hosts and not found[name].works:
            why = f"{found[name].problem}; {found[name].remedy}"
            warnings[name] = f"the {name} limit of {', '.join(hosts)} is not in force: {why}"
    return warnings


def limitable_hosts(plan: Plan) -> dict[str, set[str]]:
    """The limits (cpu, memory) that faults may set, by host. A target that is a role may be on any host."""
    found: dict[str, set[str]] = {}
    for fault in plan.faults:
        kind = registry("fault").find(fault.kind)
        if kind is not None and kind.limits:
            for host in plan.network.hosts:
                if any(not _is_name(text) or fnmatchcase(host.name, text) for text in fault.on):
                    found.setdefault(host.name, set()).update(kind.limits)
    return found


def _is_name(text: str) -> bool:
    return parse_target(text).form == "name"


def missing_limits(plan: Plan) -> list[CannotHere]:
    """An error with its remedy for each limit that faults of the plan set and this machine cannot enforce."""
    wanted = sorted(set().union(*limitable_hosts(plan).values()))
    controllers = cgroups.find_controllers() if wanted else {}
    return [
        CannotHere(f"a fault needs {name} limits: {controllers[name].problem}", controllers[name].remedy)
        for name in wanted
        if not controllers[name].works
    ]
