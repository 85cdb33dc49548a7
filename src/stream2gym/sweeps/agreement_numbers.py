"""The numbers of the table of agreement as text. Pure."""

from __future__ import annotations

from collections.abc import Callable

from stream2gym.judge.estimate import Estimate


def show_estimate(estimate: Estimate, shown: Callable[[float], str]) -> str:
    """A value with its bounds, if it has any."""
    if estimate.is_exact:
        return shown(estimate.measured)
    return f"{shown(estimate.measured)} [{shown(estimate.low)} to {shown(estimate.high)}]"


def show_number(value: float) -> str:
    return f"{value:.3g}"


def show_r2(value: float) -> str:
    return f"{value:.4f}"


def show_percent(value: float) -> str:
    return f"{100 * value:.2g} %"


def show_difference(value: float) -> str:
    return f"{100 * value:+.1f} %"
