"""Statistics of plain lists, by their names in expectations."""

from __future__ import annotations

import math
from collections.abc import Sequence


def statistic(values: Sequence[float], stat: str) -> float | None:
    """A statistic of values in the order of time; None without values."""
    if not values:
        return None
    if stat == "mean":
        return sum(values) / len(values)
    if stat == "total":
        return float(sum(values))
    if stat == "last":
        return values[-1]
    ordered = sorted(values)
    if stat in ("min", "max"):
        return ordered[0 if stat == "min" else -1]
    rank = math.ceil(len(ordered) * float(stat.removeprefix("p")) / 100 - 1e-9)
    return ordered[max(0, rank - 1)]
