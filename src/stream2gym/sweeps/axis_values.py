"""The values of an axis as numbers: which quantity they are, and values between two of them. Pure.

A value is what ``--set`` takes: a number, a text with a unit ("5 ms"), or any other text. Values that are all numbers
or all quantities of one kind have a place on a number line. Others are categories.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from stream2gym.units import Bandwidth, ByteRate, Duration, Quantity, Rate, Share, Size, UnitError

Scale = Literal["linear", "log"]
# The kinds of quantities in the order in which they are tried, with their unit in figures.
FIGURE_UNITS: dict[type[Quantity], str] = {
    Duration: "s", Rate: "/s", Bandwidth: "bps", Size: "B", ByteRate: "B/s", Share: "share",
}  # fmt: skip
_NUMBER_AND_UNIT = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(\D.*?)?\s*")


@dataclass(frozen=True)
class NumberLine:
    """The numbers of an axis in a base unit, which figures call ``unit`` ("" for plain numbers)."""

    numbers: tuple[float, ...]
    unit: str = ""
    quantity: type[Quantity] | None = None

    def read(self, value: Any) -> float:
        """Another value of the same kind, in the base unit. Raises ValueError."""
        if self.quantity is not None:
            return float(self.quantity.parse(value))
        if is_number(value):
            return float(value)
        return float(str(value))


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def read_number_line(values: Sequence[Any]) -> NumberLine | None:
    """The values as numbers. None: some are no numbers, so that the values are categories."""
    if all(is_number(value) for value in values):
        numbers = tuple(float(value) for value in values)
        return NumberLine(numbers) if all(map(math.isfinite, numbers)) else None
    for quantity, unit in FIGURE_UNITS.items():
        try:
            numbers = tuple(float(quantity.parse(value)) for value in values)
        except UnitError:
            continue
        if all(map(math.isfinite, numbers)):
            return NumberLine(numbers, unit, quantity)
    return None


@dataclass(frozen=True)
class ValueRange:
    """All values from ``low`` to ``high``. Bounds that are whole numbers without a unit give whole numbers."""

    low: Any
    high: Any
    scale: Scale = "linear"

    def problem(self) -> str:
        """Why no value lies between the bounds; empty if the range is sound."""
        line = read_number_line([self.low, self.high])
        if line is None:
            return f"{self.low!r} and {self.high!r} are not two quantities of one kind"
        low, high = line.numbers
        if low >= high:
            return f"{self.high!r} is not more than {self.low!r}"
        if self.scale == "log" and low <= 0:
            return f"a log scale cannot begin at {self.low!r}"
        return ""

    def value_at(self, share: float) -> Any:
        """The value at a share of the way from low (0) to high (1)."""
        if share <= 0:
            return self.low
        if share >= 1:
            return self.high
        if isinstance(self.low, int) and isinstance(self.high, int):
            return round(self._between(self.low, self.high, share))
        one = _NUMBER_AND_UNIT.fullmatch(str(self.low))
        other = _NUMBER_AND_UNIT.fullmatch(str(self.high))
        if one is not None and other is not None and one[2] == other[2]:
            number = float(f"{self._between(float(one[1]), float(other[1]), share):.6g}")
            return f"{number:.10g}{_gap(one[2])}{one[2]}" if one[2] else number
        line = read_number_line([self.low, self.high])
        assert line is not None, "a range is checked before it is used"
        low, high = line.numbers
        number = float(f"{self._between(low, high, share):.6g}")
        return number if line.quantity is None else str(line.quantity(number))

    def _between(self, low: float, high: float, share: float) -> float:
        if self.scale == "log":
            return math.exp(math.log(low) + share * (math.log(high) - math.log(low)))
        return low + share * (high - low)


def _gap(unit: str) -> str:
    return "" if unit.startswith("/") else " "


def spread_values(bounds: ValueRange, steps: int) -> list[Any]:
    """So many values from low to high, both included, at equal distances on the scale. Equal values are kept once."""
    values = [bounds.value_at(index / (steps - 1)) for index in range(steps)]
    return list(dict.fromkeys(values))
