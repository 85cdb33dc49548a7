"""What a monitor is: a class that looks at a run at regular times and samples what it sees.

Its ``KIND`` says how often; an experiment may set another time, or switch it off. The built-in monitors and those of
plug-ins have the same form. A plug-in is a ``Monitor`` whose ``KIND`` declares it; an entry point of the group
``stream2gym.monitors`` names the class, and from then on it looks at every run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from stream2gym.components.component_process import ComponentProcess, Tell
from stream2gym.hosts.emulation import EmulatedNetwork
from stream2gym.kinds.kind import Kind
from stream2gym.kinds.registry import registry
from stream2gym.plan.planned import Plan

# Writes a number down: sample(object, metric, value, at_ns=...). The source is the name of the monitor.
Sample = Callable[..., None]


@dataclass(frozen=True)
class MonitoredRun:
    """What a monitor can look at, and where it writes what it sees."""

    plan: Plan
    network: EmulatedNetwork
    # Every process with the name under which it is sampled.
    processes: Callable[[], Iterable[tuple[str, ComponentProcess]]]
    sample: Sample
    # Records an event: tell("clock-stepped", by_s=...).
    tell: Tell
    # The folder of the run.
    folder: Path = Path()


class Monitor:
    """Looks at a run. Each monitor has a thread of its own, so that a slow one delays no other.

    An exception of ``look`` is an event. The monitor is asked again after its interval.
    """

    KIND: ClassVar[Kind]

    def __init__(self, run: MonitoredRun) -> None:
        self.run = run

    def look(self) -> None:
        """Look once, and sample what is seen."""
        raise NotImplementedError


def make_sample(monitor: type[Monitor], write: Callable[..., Any]) -> Sample:
    """The function with which a monitor writes samples: their source is the name of the monitor."""
    return partial(write, monitor.KIND.name)


def find_plug_in_monitors() -> tuple[list[type[Monitor]], dict[str, str]]:
    """The monitors of installed packages; and why others cannot be used, by the name of their entry point."""
    known = registry("monitor")
    found: list[type[Monitor]] = []
    unusable = dict(known.broken)
    for name in known.plug_ins.declared:
        monitor = known.plug_in_class(name, Monitor)
        if monitor is None:
            unusable[name] = "its entry point names no class of stream2gym.monitors.monitor.Monitor"
        else:
            found.append(monitor)
    return found, unusable
