"""``stop``: components are asked to end."""

from __future__ import annotations

from stream2gym.faults.base import World
from stream2gym.faults.kinds.kill import Kill
from stream2gym.faults.processes import running_units


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
