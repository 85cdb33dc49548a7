"""What a measurement is, and what the meters of all metrics share: filters of rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from stream2gym.analysis.result_tables import Analysis
from stream2gym.judge.estimate import Estimate
from stream2gym.kinds.expectation_grammar import Expectation

Events = Sequence[dict[str, Any]]


@dataclass(frozen=True)
class Measurement:
    """The values of a metric, by the name of what they belong to. An expectation must hold for all of them.

    Without values the figure is unknown, and ``why`` says why. ``doubt`` counts what nobody observed: the truth lies
    between a value and that value plus the doubt. ``bounds`` gives other bounds of single values. ``why`` also says
    what the doubt or the bounds rest on.
    """

    values: dict[str, float] = field(default_factory=dict)
    doubt: float = 0.0
    why: str = ""
    bounds: dict[str, tuple[float, float]] = field(default_factory=dict)

    def estimates(self) -> dict[str, Estimate]:
        """Each value with the bounds between which the truth lies."""
        return {
            name: Estimate(value, *self.bounds.get(name, (value, value + self.doubt)))
            for name, value in self.values.items()
        }


Meter = Callable[[Expectation, Analysis, Events], Measurement]


def matches(row: Any, filters: dict[str, str], **renamed: str) -> bool:
    """Whether the fields of a row match the filters. ``renamed`` gives the field of a filter with another name."""
    return all(fnmatchcase(str(getattr(row, renamed.get(name, name))), wanted) for name, wanted in filters.items())


def measure_one(value: float | None, why: str) -> Measurement:
    """A single value, or the reason why there is none."""
    return Measurement(why=why) if value is None else Measurement({"": value})
