"""Faults of components: killed, stopped, paused, started again, dying again and again."""

from __future__ import annotations

from collections.abc import Iterator

from stream2gym.components.unit import Unit
from stream2gym.errors import S2gError
from stream2gym.faults.base import Action, CannotApply, World

POLL_S = 0.05


def units_of(world: World, names: tuple[str, ...]) -> Iterator[Unit]:
    for name in names:
        yield from world.component(name).units


def running_units(world: World, names: tuple[str, ...]) -> list[Unit]:
    """The processes of the components; a component that has none running cannot be hit."""
    units = []
    for name in names:
        alive = [unit for unit in world.component(name).units if unit.running]
        if not alive:
            raise CannotApply(f"{name} is not running")
        units += alive
    return units


def start_again(world: World, units: list[Unit]) -> None:
    """Start what has ended; every one is tried. After the load nobody needs a producer."""
    problems = []
    for unit in units:
        if world.load_over and world.component(unit.component).kind == "producer":
            continue
        try:
            if unit.process is not None and unit.process.poll() is None:
                unit.kill()
            unit.restart()
        except (S2gError, TimeoutError, OSError) as error:
            problems.append(f"{unit.component}: {error}")
    if problems:
        raise CannotApply("; ".join(problems))


class Kill(Action):
    """Dead at once; started again with what it had stored when the fault ends, if it does."""

    HOLDS = True
    _units: list[Unit] = []  # noqa: RUF012 (replaced, never changed)

    def apply(self, world: World) -> None:
        self._units = running_units(world, self.hit)
        for unit in self._units:
            unit.kill()

    def undo(self, world: World) -> None:
        start_again(world, self._units)


class Stop(Kill):
    """Asked to end; killed when it takes too long."""

    def apply(self, world: World) -> None:
        self._units = running_units(world, self.hit)
        for unit in self._units:
            unit.ask_to_stop()

    def step(self, world: World, elapsed_s: float) -> float | None:
        left = [unit for unit in self._units if unit.process is not None and unit.process.poll() is None]
        if elapsed_s < float(self.settings.timeout):
            return min(elapsed_s + 1.0, float(self.settings.timeout)) if left else None
        for unit in left:
            unit.kill()
        return None


class Pause(Action):
    """Stands still, its connections open, and goes on when the fault ends."""

    _units: list[Unit] = []  # noqa: RUF012 (replaced, never changed)

    def apply(self, world: World) -> None:
        self._units = running_units(world, self.hit)
        for unit in self._units:
            unit.pause()

    def undo(self, world: World) -> None:
        for unit in self._units:
            unit.resume()


class Restart(Action):
    """Ended, at once or orderly, and started again after a while, with or without its data."""

    HOLDS = True
    _units: list[Unit] = []  # noqa: RUF012 (replaced, never changed)
    _started = False
    _ended_s: float | None = None

    def apply(self, world: World) -> None:
        self._units = list(units_of(world, self.hit))
        for unit in self._units:
            if unit.running:
                unit.ask_to_stop() if self.settings.orderly else unit.kill()

    def step(self, world: World, elapsed_s: float) -> float | None:
        if any(unit.process is not None and unit.process.poll() is None for unit in self._units):
            return elapsed_s + POLL_S
        if self._ended_s is None:
            self._ended_s = elapsed_s
        due = self._ended_s + float(self.settings.down)
        if elapsed_s < due:
            return due
        self._start(world)
        return None

    def undo(self, world: World) -> None:
        if not self._started:
            self._start(world)

    def _start(self, world: World) -> None:
        self._started = True
        if self.settings.data == "wipe":
            for name in self.hit:
                world.wipe(name)
        start_again(world, self._units)


class CrashLoop(Action):
    """Killed, started, killed again: ``down`` after each death, ``up`` after each start."""

    HOLDS = True
    _units: list[Unit] = []  # noqa: RUF012 (replaced, never changed)

    def apply(self, world: World) -> None:
        self._units = running_units(world, self.hit)

    def step(self, world: World, elapsed_s: float) -> float | None:
        down, up = float(self.settings.down), float(self.settings.up)
        number, part = divmod(elapsed_s + 1e-6, down + up)
        if part < down:
            for unit in self._units:
                unit.kill()
            return float(number * (down + up) + down)
        start_again(world, [unit for unit in self._units if not unit.running])
        return float((number + 1) * (down + up))

    def undo(self, world: World) -> None:
        start_again(world, [unit for unit in self._units if not unit.running])
