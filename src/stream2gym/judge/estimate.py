"""A measured figure with the bounds between which the truth lies, and what an expectation says about it. Pure.

An expectation passes when every value within the bounds satisfies it, fails when none does, and is unknown
otherwise. So a doubt matters only where the number that the expectation names lies within the bounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isnan

from stream2gym.judge.verdict import Outcome
from stream2gym.units import Quantity, brief


@dataclass(frozen=True)
class Estimate:
    """A figure. ``measured`` is what the record says. The truth is not below ``low`` and not above ``high``.

    Raises ValueError where these are no numbers, or bounds that nothing lies between: every comparison with such a
    figure would have an answer.
    """

    measured: float
    low: float
    high: float

    def __post_init__(self) -> None:
        if isnan(self.measured) or not self.low <= self.high:
            raise ValueError(f"{self.measured} between {self.low} and {self.high} is no figure")

    @property
    def is_exact(self) -> bool:
        return self.low == self.high

    def show(self, unit: type[Quantity]) -> str:
        """The figure as people write it, with its bounds where they differ."""
        if self.is_exact:
            return show_number(self.measured, unit)
        if self.measured == self.low > unit.LOWEST and self.high == inf:
            return self.show_bounds(unit)
        return f"{show_number(self.measured, unit)} ({self.show_bounds(unit)})"

    def show_bounds(self, unit: type[Quantity]) -> str:
        """The bounds in words: "3 to 10", "at least 3", "at most 10" or "unbounded"."""
        has_low, has_high = self.low > max(-inf, unit.LOWEST), self.high < inf
        if has_low and has_high:
            return f"{show_number(self.low, unit)} to {show_number(self.high, unit)}"
        if has_low:
            return f"at least {show_number(self.low, unit)}"
        return f"at most {show_number(self.high, unit)}" if has_high else "unbounded"


def show_number(value: float, unit: type[Quantity]) -> str:
    """A value in its unit, rounded for people."""
    return "infinite" if value in (inf, -inf) else brief(unit(value))


def decide(op: str, bound: float, estimate: Estimate) -> Outcome:
    """What an expectation ``op bound`` says about an estimate."""
    low, high = estimate.low, estimate.high
    match op:
        case "<":
            holds, fails = high < bound, low >= bound
        case "<=":
            holds, fails = high <= bound, low > bound
        case ">":
            holds, fails = low > bound, high <= bound
        case ">=":
            holds, fails = low >= bound, high < bound
        case "==":
            holds, fails = low == high == bound, not low <= bound <= high
        case "!=":
            holds, fails = not low <= bound <= high, low == high == bound
        case _:
            raise ValueError(f"unknown comparison {op!r}")
    return "pass" if holds else "fail" if fails else "unknown"
