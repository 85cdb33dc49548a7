"""What a producer's load looks like: when messages are due, how large they are, their keys, their flaws."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from stream2gym.kinds.base import TEXT, Model, Whole
from stream2gym.units import Duration, Share, Size


class Arrivals(Model):
    """When messages are due: evenly, as a Poisson process, in bursts, or as a recorded trace says."""

    SHORT = (TEXT,)

    kind: Literal["constant", "poisson", "bursts", "trace"] = "constant"
    on: Duration | None = None  # bursts: length of a burst
    off: Duration | None = None  # bursts: pause between bursts
    file: str | None = None  # trace: a file with a time stamp a line
    speed: float = Field(default=1.0, gt=0)

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return {"kind": value} if isinstance(value, str) else value


class Sizes(Model):
    """Payload sizes: fixed, or drawn from a distribution."""

    SHORT = (TEXT, {"type": "number"})

    kind: Literal["fixed", "uniform", "normal", "pareto"] = "fixed"
    mean: Size | None = None
    low: Size | None = None
    high: Size | None = None
    deviation: Size | None = None
    shape: float = Field(default=1.5, gt=0)

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return value if isinstance(value, dict | Sizes) else {"kind": "fixed", "mean": value}


class Keys(Model):
    """Record keys: none, a fixed number of them (uniform or Zipf), or one a message."""

    SHORT = (TEXT, {"type": "integer"})

    kind: Literal["none", "uniform", "zipf", "sequence", "fixed"] = "none"
    count: Whole = Field(default=100, ge=1)
    skew: float = Field(default=1.1, gt=0)
    value: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        if isinstance(value, str):
            return {"kind": value}
        if isinstance(value, int) and not isinstance(value, bool):
            return {"kind": "uniform", "count": value}
        return value


class Imperfect(Model):
    """A source that is not clean: shares of events late, out of order, doubled, missing, noisy."""

    late: Share = Share(0)
    late_by: Duration = Duration(5.0)
    disordered: Share = Share(0)
    disordered_by: Whole = Field(default=10, ge=1)
    duplicated: Share = Share(0)
    missing: Share = Share(0)
    noisy: Share = Share(0)
