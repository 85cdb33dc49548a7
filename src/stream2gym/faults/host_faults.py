"""Faults of hosts: without power, squeezed, short of memory, without room on the disk."""

from __future__ import annotations

from stream2gym.components.unit import Unit
from stream2gym.faults.base import Action, CannotApply, Machines, World
from stream2gym.faults.linkbook import down
from stream2gym.faults.process_faults import start_again


def machines_of(world: World) -> Machines:
    if world.machines is None:
        raise CannotApply("hosts cannot be limited here")
    return world.machines


class HostOff(Action):
    """Everything on the host dies and its links are down; later it comes back, with or without its data."""

    HOLDS = True
    _units: list[Unit] = []  # noqa: RUF012 (replaced, never changed)

    def apply(self, world: World) -> None:
        names = [link.name for host in self.hit for link in world.links.links_of(host)]
        world.links.change(self, dict.fromkeys(names, (down, down)))
        parts = [part for host in self.hit for part in world.on_host(host)]
        self._units = [unit for part in parts for unit in part.units if unit.running]
        for unit in self._units:
            unit.kill()

    def undo(self, world: World) -> None:
        world.links.restore(self)
        if self.settings.data == "wipe":
            for name in dict.fromkeys(unit.component for unit in self._units):
                world.wipe(name)
        start_again(world, self._units)

    def held(self, world: World) -> frozenset[str]:
        return frozenset(unit.component for unit in self._units)


class Cpu(Action):
    """A host's processes share less CPU."""

    def apply(self, world: World) -> None:
        for host in self.hit:
            machines_of(world).limit(host, cpu_share=float(self.settings.share))

    def undo(self, world: World) -> None:
        for host in self.hit:
            machines_of(world).unlimit(host, "cpu")


class _Deadly(Action):
    """What processes may die of: their end is no surprise meanwhile, and they are started again afterwards."""

    _units: list[Unit] = []  # noqa: RUF012 (replaced, never changed)

    def apply(self, world: World) -> None:
        parts = [part for host in self.hit for part in world.on_host(host)]
        self._units = [unit for part in parts for unit in part.units if unit.running]
        for unit in self._units:
            unit.expect_end("fault")

    def undo(self, world: World) -> None:
        for unit in self._units:
            unit.expect_life()
        start_again(world, [unit for unit in self._units if not unit.running])


class Memory(_Deadly):
    """A host's processes share less memory; the kernel kills what needs more."""

    def apply(self, world: World) -> None:
        super().apply(world)
        for host in self.hit:
            machines_of(world).limit(host, memory_bytes=int(self.settings.limit))

    def undo(self, world: World) -> None:
        for host in self.hit:
            machines_of(world).unlimit(host, "memory")
        super().undo(world)


class DiskFull(_Deadly):
    """A host's storage has no room left, or only so much."""

    def apply(self, world: World) -> None:
        super().apply(world)
        for host in self.hit:
            machines_of(world).fill_disk(host, int(self.settings.leave))

    def undo(self, world: World) -> None:
        for host in self.hit:
            machines_of(world).free_disk(host)
        super().undo(world)
