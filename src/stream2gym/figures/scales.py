"""Scales: where a value stands on an axis, and round numbers for its ticks. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from stream2gym.figures.figure import Axis
from stream2gym.figures.number_text import format_tick, pick_prefix, show

_STEPS = (1.0, 2.0, 5.0, 10.0)
_SMALLEST = 1e-290  # below this arithmetic is no longer exact enough for ticks
_SMALLEST_SPAN = 1e-9
_HIGHEST_SHARE = 0.99999
_PERCENTILES = (0.0, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999)


@dataclass(frozen=True)
class Tick:
    value: float
    text: str


@dataclass(frozen=True)
class Scale:
    """An axis with its range. It gives the place of a value between 0 and 1, the ticks and their unit."""

    axis: Axis
    low: float
    high: float

    def place(self, value: float) -> float:
        low, high = self._bend(self.low), self._bend(self.high)
        return min(max((self._bend(value) - low) / (high - low), 0.0), 1.0)

    def _bend(self, value: float) -> float:
        if self.axis.scale == "log":
            return math.log10(max(value, self.low))
        if self.axis.scale == "percentile":
            return -math.log10(max(1.0 - value, 1.0 - self.high))
        return value

    @property
    def caption(self) -> str:
        """The label with the unit that the ticks are in."""
        if self.axis.scale != "linear":
            return self.axis.label
        _, unit = self._prefix()
        return f"{self.axis.label} ({unit})" if unit and unit != "/s" else self.axis.label

    def ticks(self, about: int) -> list[Tick]:
        """About ``about`` ticks, in ascending order. Every category has one."""
        if self.axis.names:
            return [Tick(float(place), name) for place, name in enumerate(self.axis.names)]
        if self.axis.scale == "log":
            return [Tick(value, show(value, self.axis.unit)) for value in log_ticks(self.low, self.high, about)]
        if self.axis.scale == "percentile":
            return [Tick(share, f"{share * 100:.6g} %") for share in _PERCENTILES if share <= self.high]
        factor, _ = self._prefix()
        values = nice_ticks(self.low / factor, self.high / factor, about)
        if self.axis.is_whole:
            values = [value for value in values if float(value * factor).is_integer()]
        step = values[1] - values[0] if len(values) > 1 else 1.0
        return [Tick(value * factor, format_tick(value, step)) for value in values]

    def _prefix(self) -> tuple[float, str]:
        return pick_prefix(max(abs(self.low), abs(self.high)), self.axis.unit)


def make_scale(axis: Axis, values: Iterable[float], *, from_zero: bool = False, tight: bool = False) -> Scale:
    """A scale that holds the values, unless the axis has bounds of its own. ``tight``: its ends are not rounded."""
    there = [value for value in values if math.isfinite(value)]
    low = axis.low if axis.low is not None else min(there, default=0.0)
    high = axis.high if axis.high is not None else max(there, default=1.0)
    if axis.scale == "log":
        return _log_scale(axis, there, low, high)
    if axis.scale == "percentile":
        reached = max((value for value in there if value < 1.0), default=0.0)
        return Scale(axis, 0.0, min(max(reached, 0.9), _HIGHEST_SHARE))
    if from_zero and axis.low is None:
        low = min(low, 0.0)
    if high - low <= max(abs(low), abs(high)) * _SMALLEST_SPAN + _SMALLEST:
        high = low + max(abs(low), 1.0)
    if not tight:
        step = nice_step(low, high, 5)
        low = low if axis.low is not None else math.floor(low / step + 1e-9) * step
        high = high if axis.high is not None else math.ceil(high / step - 1e-9) * step
    return Scale(axis, low, high)


def _log_scale(axis: Axis, there: list[float], low: float, high: float) -> Scale:
    above = [value for value in there if value > _SMALLEST]
    low = low if low > _SMALLEST else min(above, default=1e-3)
    high = high if high > _SMALLEST else low * 10
    low = 10 ** math.floor(math.log10(low) + 1e-9) if axis.low is None else low
    high = 10 ** math.ceil(math.log10(high) - 1e-9) if axis.high is None else high
    return Scale(axis, low, max(high, low * 10))


def nice_step(low: float, high: float, about: int) -> float:
    """1, 2 or 5 times a power of ten, so that about so many steps fit into the range."""
    raw = (high - low) / max(about, 1)
    power = 10.0 ** math.floor(math.log10(raw))
    return next(step * power for step in _STEPS if step * power >= raw * (1 - 1e-9))


def nice_ticks(low: float, high: float, about: int) -> list[float]:
    """Multiples of a nice step from low to high, both included when they are multiples."""
    if high <= low:
        return [low]
    step = nice_step(low, high, about)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [index * step for index in range(first, last + 1)]


def log_ticks(low: float, high: float, about: int) -> list[float]:
    """Powers of ten. Some are left out when there are too many, and 2 and 5 are added when there are few."""
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    decades = list(range(first, last + 1))
    if len(decades) * 3 <= about + 2:
        spread = [factor * 10.0**power for power in range(first - 1, last + 1) for factor in (1, 2, 5)]
        return [value for value in spread if low * (1 - 1e-9) <= value <= high * (1 + 1e-9)]
    every = max(1, math.ceil(len(decades) / max(about, 1)))
    return [10.0**power for power in decades[::every]]
