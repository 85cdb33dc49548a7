"""What a measurement is, and which rows a filter means: shared by the meters of every metric."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from stream2gym.analysis.tables import Analysis
from stream2gym.kinds.expectations import Expectation

Events = Sequence[dict[str, Any]]


@dataclass(frozen=True)
class Measured:
    """Values by the name of what they belong to, all of which must hold; none at all: unknown, see ``why``.

    ``doubt`` counts what nobody observed: the truth lies between a value and that value plus the doubt.
    """

    values: dict[str, float] = field(default_factory=dict)
    doubt: float = 0.0
    why: str = ""


Meter = Callable[[Expectation, Analysis, Events], Measured]


def matches(row: Any, filters: dict[str, str], **renamed: str) -> bool:
    """Whether a row's fields are what the filters ask for; ``renamed`` are fields of other names."""
    return all(
        fnmatchcase(str(getattr(row, renamed.get(name, name))), wanted) for name, wanted in filters.items()
    )


def one(value: float | None, why: str) -> Measured:
    """A single value, or the reason why there is none."""
    return Measured(why=why) if value is None else Measured({"": value})
