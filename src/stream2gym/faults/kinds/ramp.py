"""``ramp``: links change slowly from one setting to another."""

from __future__ import annotations

from stream2gym.faults.base import Action, World
from stream2gym.faults.linkbook import Change
from stream2gym.kinds.links import LinkChange
from stream2gym.link import LinkSettings

NUMBERS = ("latency_ms", "jitter_ms", "bandwidth_bps", "loss", "duplicate", "reorder", "corrupt")


class Ramp(Action):
    """Numbers of a link move from one setting to another, a step at a time, over the fault's time;
    without an end there is one step."""

    def apply(self, world: World) -> None:
        self._set(world, 0.0)

    def step(self, world: World, elapsed_s: float) -> float | None:
        share = 1.0 if not self.lasts_s else min(1.0, elapsed_s / self.lasts_s)
        self._set(world, share)
        return None if share >= 1 else elapsed_s + float(self.settings.step)

    def undo(self, world: World) -> None:
        world.links.restore(self)

    def _set(self, world: World, share: float) -> None:
        change = between(self.settings.start, self.settings.to, share)
        world.links.change(self, dict.fromkeys(self.hit, (change, change)))


def between(start: LinkChange | None, to: LinkChange, share: float) -> Change:
    """The change that lies this far between two: numbers in proportion, everything else at the end."""

    def change(base: LinkSettings) -> LinkSettings:
        first = base if start is None else start.apply(base)
        last = to.apply(first)
        if share >= 1:
            return last
        values = {name: getattr(first, name) for name in LinkSettings.__dataclass_fields__}
        for name in NUMBERS:
            low, high = values[name], getattr(last, name)
            if low is not None and high is not None:
                values[name] = low + (high - low) * share
        return LinkSettings(**values)

    return change
