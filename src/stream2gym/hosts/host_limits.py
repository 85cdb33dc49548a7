"""The CPU and memory limits of the hosts of one network while it runs: put in force, changed by faults, removed."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from typing import Any

from stream2gym.errors import CannotHere
from stream2gym.hosts import cgroups
from stream2gym.hosts.limits import limits_of, unenforced_limits, with_room
from stream2gym.plan.planned import Network


class HostLimits:
    """The limits of one network. The supervisor makes their groups and puts the processes of hosts in them."""

    def __init__(self, network: Network, limitable: Mapping[str, Collection[str]]) -> None:
        self._network = network
        self._limits = with_room(limits_of(network), limitable)
        self._controllers = cgroups.find_controllers() if self._limits else {}
        self._owner = cgroups.owner_name(os.getpid())
        # A sentence for each limit of the plan (cpu, memory) that this machine cannot enforce.
        self.unenforced = unenforced_limits(network, self._controllers)
        cgroups.sweep(self._controllers)

    def order(self) -> dict[str, Any]:
        """What the keeper and the supervisor need to make the groups, and to remove them."""
        return {
            "owner": self._owner,
            "limits": {host: limit.to_json() for host, limit in self._limits.items()},
            "controllers": {name: found.to_json() for name, found in self._controllers.items()},
        }

    def change(self, host: str, name: str, wanted: float) -> None:
        """Set a limit of a host: ``name`` is cpu, and ``wanted`` a share; or memory, and bytes.

        CannotHere says that the host has no such limit, or that limits cannot be set here.
        """
        controller = self._controllers.get(name)
        if controller is None or self._planned(host, name) is None:
            raise CannotHere(
                f"{host} has no {name} limit that could change",
                f"give it one in the topology, like {name}: 50 %",
            )
        if not controller.works:
            raise CannotHere(f"no {name} limits: {controller.problem}", controller.remedy)
        cgroups.change(self._owner, host, controller, wanted)

    def restore(self, host: str, name: str) -> None:
        """Restore the planned limit of a host; ``name`` is cpu or memory."""
        wanted = self._planned(host, name)
        if wanted is not None:
            self.change(host, name, wanted)

    def lift_cpu(self) -> None:
        """Let every host use the whole machine; ``restore_cpu`` ends it."""
        for host in self._hosts_with_cpu_limit():
            self.change(host, "cpu", 1.0)

    def restore_cpu(self) -> None:
        """Put the planned CPU limits in force."""
        for host in self._hosts_with_cpu_limit():
            self.restore(host, "cpu")

    def count_throttled(self) -> dict[str, int]:
        """In how many periods of 100 ms each host has reached its CPU limit so far."""
        counted = {
            host: cgroups.count_throttled(self._owner, host, self._controllers["cpu"])
            for host in self._hosts_with_cpu_limit()
        }
        return {host: count for host, count in counted.items() if count is not None}

    def remove(self) -> None:
        """Remove the groups, when the processes in them have ended."""
        if self._limits:
            cgroups.remove(self._owner, self._controllers)

    def _planned(self, host: str, name: str) -> float | None:
        limit = self._limits.get(host, cgroups.Limit())
        return limit.cpu_share if name == "cpu" else limit.memory_bytes

    def _hosts_with_cpu_limit(self) -> list[str]:
        """Hosts whose planned CPU limit this machine can enforce."""
        if "cpu" in self.unenforced:
            return []
        return [host for host, limit in limits_of(self._network).items() if limit.cpu_share is not None]
