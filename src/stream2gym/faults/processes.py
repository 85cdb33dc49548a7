"""What faults of components share: which processes are meant, and how they are started again."""

from __future__ import annotations

from collections.abc import Iterator

from stream2gym.components.unit import Unit
from stream2gym.errors import S2gError
from stream2gym.faults.base import Action, CannotApply, World


def units_of(world: World, names: tuple[str, ...]) -> Iterator[Unit]:
    """The processes of the components; those that are being started are there first."""
    for name in names:
        for unit in world.component(name).units:
            unit.settle()
            yield unit


def running_units(world: World, names: tuple[str, ...]) -> list[Unit]:
    """The processes of the components; a component that has none running cannot be hit."""
    units = []
    for name in names:
        alive = [unit for unit in units_of(world, (name,)) if unit.running]
        if not alive:
            raise CannotApply(f"{name} is not running")
        units += alive
    return units


def running_on(world: World, hosts: tuple[str, ...]) -> list[Unit]:
    """Every process that runs on these hosts."""
    names = tuple(part.name for host in hosts for part in world.on_host(host))
    return [unit for unit in units_of(world, names) if unit.running]


def start_again(world: World, units: list[Unit]) -> None:
    """Start what has ended; every one is tried. After the load nobody needs a producer.

    A start takes milliseconds that other faults do not have, so nobody waits for it here.
    """
    problems = []
    for unit in units:
        if world.load_over and world.component(unit.component).kind == "producer":
            continue
        try:
            if unit.process is not None and unit.process.poll() is None:
                unit.kill()
            unit.revive()
        except (S2gError, TimeoutError, OSError) as error:
            problems.append(f"{unit.component}: {error}")
    if problems:
        raise CannotApply("; ".join(problems))


class Deadly(Action):
    """What processes may die of: their end is no surprise meanwhile, and they are started again afterwards."""

    SLOW = True
    _units: list[Unit] = []  # noqa: RUF012 (replaced, never changed)

    def apply(self, world: World) -> None:
        self._units = running_on(world, self.hit)
        for unit in self._units:
            unit.expect_end("fault")

    def undo(self, world: World) -> None:
        for unit in self._units:
            unit.expect_life()
        start_again(world, [unit for unit in self._units if not unit.running])
