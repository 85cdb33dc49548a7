"""CPU seconds (cumulative) and resident memory of every process of a component."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from stream2gym.components.unit import Unit
from stream2gym.hosts.emulation import EmulatedNetwork
from stream2gym.monitors.sampler import Sample


class ProcessMonitor:
    """One question to the supervisor for all of them."""

    def __init__(
        self, network: EmulatedNetwork, units: Callable[[], Iterable[tuple[str, Unit]]], sample: Sample
    ) -> None:
        self._network = network
        self._units = units
        self._sample = sample

    def look(self) -> None:
        usage = self._network.usage()
        at_ns = time.monotonic_ns()
        for name, unit in self._units():
            used = usage.get(unit.process.number) if unit.process else None
            if used is not None:
                for metric, value in used.items():
                    self._sample("process", name, metric, value, at_ns=at_ns)
