"""How many lines a person can tell apart: which series a figure shows, and what it says about the others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from stream2gym.figures.model import Series

MOST = 8


def busiest(
    series: Iterable[Series], most: int = MOST, word: str = "busiest"
) -> tuple[tuple[Series, ...], str]:
    """The series with the most in them, in their own order, and a note about those left out."""
    every = list(series)
    if len(every) <= most:
        return tuple(every), ""
    ranked = sorted(range(len(every)), key=lambda index: (-_weight(every[index]), index))[:most]
    return tuple(every[index] for index in sorted(ranked)), f"The {most} {word} of {len(every)} are drawn."


def _weight(series: Series) -> float:
    return sum(value for value in series.y if value is not None)


def listed(names: Sequence[str], most: int = 5) -> str:
    """Names in a sentence, cut short when there are many."""
    if len(names) <= most:
        return ", ".join(names)
    return f"{', '.join(names[:most])} and {len(names) - most} more"
