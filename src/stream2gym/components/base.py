"""What a component is to the rest of the house: something that starts, says when it is ready, and stops.

What else can be done to one is a capability of its own, so that a fault asks for exactly what it needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from stream2gym.components.unit import Unit


class Component(Protocol):
    """One piece of real software on a host, in one or more processes."""

    name: str
    kind: str  # broker, producer, consumer ...
    host: str
    units: list[Unit]

    def start(self) -> None:
        """Start its processes; returns at once."""

    def ready(self) -> bool:
        """Whether it has been seen to do what others wait for."""

    def stop(self) -> None:
        """Ask its processes to end; those that do not are killed."""


@runtime_checkable
class CanKill(Protocol):
    """Can be killed without warning; ``restart`` brings it back with what it had stored."""

    def kill(self) -> None: ...

    def restart(self) -> None: ...


@runtime_checkable
class CanPause(Protocol):
    """Can be frozen and thawed (SIGSTOP, SIGCONT)."""

    def pause(self) -> None: ...

    def resume(self) -> None: ...


class ProcessComponent:
    """What every component made of processes of ours has in common."""

    def __init__(self, name: str, kind: str, host: str, units: list[Unit]) -> None:
        self.name = name
        self.kind = kind
        self.host = host
        self.units = units

    def start(self) -> None:
        for unit in self.units:
            unit.start()

    def ready(self) -> bool:
        return all(unit.running for unit in self.units)

    def stop(self) -> None:
        for unit in self.units:
            unit.ask_to_stop()
        for unit in self.units:
            unit.wait_for_stop()

    def kill(self) -> None:
        for unit in self.units:
            unit.kill()

    def restart(self) -> None:
        for unit in self.units:
            unit.restart()

    def pause(self) -> None:
        for unit in self.units:
            unit.pause()

    def resume(self) -> None:
        for unit in self.units:
            unit.resume()

    @property
    def hopeless(self) -> bool:
        """Whether it will not get ready any more."""
        return any(unit.state == "died" for unit in self.units)

    @property
    def over(self) -> bool:
        """Whether every process has ended for good."""
        return all(unit.over for unit in self.units)


def stop_together(components: Sequence[ProcessComponent]) -> None:
    """Ask all of them first, so that they end at the same time."""
    for component in components:
        for unit in component.units:
            unit.ask_to_stop()
    for component in components:
        component.stop()
