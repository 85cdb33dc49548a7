"""``flap``: links go down and up in turn."""

from __future__ import annotations

from stream2gym.faults.action import FaultContext
from stream2gym.faults.kinds.down import DownFault


class FlapFault(DownFault):
    """Links go down and up in turn. ``duty`` is the share of each period that they are down."""

    def step(self, context: FaultContext, elapsed_s: float) -> float | None:
        period, duty = float(self.settings.period), float(self.settings.duty)
        number, part = divmod(elapsed_s + 1e-6, period)
        if part < duty * period:
            super().apply(context)
            return float(number * period + duty * period)
        context.links.change(self, {})
        return float((number + 1) * period)
