"""``ramp``: links change gradually from one setting to another."""

from __future__ import annotations

from stream2gym.faults.action import FaultContext, LinkAction
from stream2gym.faults.link_changes import Change
from stream2gym.kinds.link_settings import LinkChange
from stream2gym.link import LinkSettings

NUMBERS = ("latency_ms", "jitter_ms", "bandwidth_bps", "loss", "duplicate", "reorder", "corrupt")


class RampFault(LinkAction):
    """The numbers of links move from one setting to another in steps, over the duration of the fault.

    A fault without an end sets the final numbers at once.
    """

    def apply(self, context: FaultContext) -> None:
        self._set(context, 0.0)

    def step(self, context: FaultContext, elapsed_s: float) -> float | None:
        share = 1.0 if not self.lasts_s else min(1.0, elapsed_s / self.lasts_s)
        self._set(context, share)
        return None if share >= 1 else elapsed_s + float(self.settings.step)

    def _set(self, context: FaultContext, share: float) -> None:
        change = between(self.settings.start, self.settings.to, share)
        context.links.change(self, dict.fromkeys(self.hit, (change, change)))


def between(start: LinkChange | None, to: LinkChange, share: float) -> Change:
    """The change that lies a share of the way between two. Other settings than numbers change at the end."""

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
