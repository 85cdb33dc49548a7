"""``flap``: links go down and up in turn."""

from __future__ import annotations

from stream2gym.faults.base import World
from stream2gym.faults.kinds.down import Down


class Flap(Down):
    """Down and up in turn: down for its share of every period."""

    def step(self, world: World, elapsed_s: float) -> float | None:
        period, duty = float(self.settings.period), float(self.settings.duty)
        number, part = divmod(elapsed_s + 1e-6, period)
        if part < duty * period:
            super().apply(world)
            return float(number * period + duty * period)
        world.links.change(self, {})
        return float((number + 1) * period)
