"""The load of a producer: when messages are due, their sizes, their keys and their flaws."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from stream2gym.kinds.settings import TEXT, Model, Whole
from stream2gym.units import Duration, Share, Size


class Arrivals(Model):
    """When messages are due: evenly, as a Poisson process, in bursts, or as in a recorded trace."""

    SHORT = (TEXT,)

    kind: Literal["constant", "poisson", "bursts", "trace"] = Field(
        default="constant", description="evenly, at random, in bursts, or as a trace says"
    )
    on: Duration | None = Field(default=None, description="length of a burst")
    off: Duration | None = Field(default=None, description="length of the pause between bursts")
    file: str | None = Field(default=None, description="a file with a time stamp a line")
    speed: float = Field(default=1.0, gt=0, description="how many times faster than it was recorded")

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return {"kind": value} if isinstance(value, str) else value


class Sizes(Model):
    """The sizes of payloads: fixed, or from a distribution."""

    SHORT = (TEXT, {"type": "number"})

    kind: Literal["fixed", "uniform", "normal", "pareto"] = Field(
        default="fixed", description="the distribution of sizes"
    )
    mean: Size | None = Field(default=None, description="mean size")
    low: Size | None = Field(default=None, description="smallest size")
    high: Size | None = Field(default=None, description="largest size")
    deviation: Size | None = Field(default=None, description="standard deviation of a normal distribution")
    shape: float = Field(default=1.5, gt=0, description="tail of a pareto distribution: the smaller, the heavier")

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return value if isinstance(value, dict | Sizes) else {"kind": "fixed", "mean": value}


class Keys(Model):
    """The keys of messages: none, some number of different keys (uniform or Zipf), or one for each message."""

    SHORT = (TEXT, {"type": "integer"})

    kind: Literal["none", "uniform", "zipf", "sequence", "fixed"] = Field(
        default="none", description="the distribution of keys"
    )
    count: Whole = Field(default=100, ge=1, description="how many different keys")
    skew: float = Field(default=1.1, gt=0, description="how uneven zipf is")
    value: str | None = Field(default=None, description="the one key where it is fixed")

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        if isinstance(value, str):
            return {"kind": value}
        if isinstance(value, int) and not isinstance(value, bool):
            return {"kind": "uniform", "count": value}
        return value


class Imperfect(Model):
    """Flaws of a source: shares of events that are late, out of order, duplicated, missing or noisy."""

    late: Share = Field(default=Share(0), description="share of events that come late")
    late_by: Duration = Field(default=Duration(5.0), description="how late they come")
    disordered: Share = Field(default=Share(0), description="share of events that change places")
    disordered_by: Whole = Field(default=10, ge=1, description="by how many places")
    duplicated: Share = Field(default=Share(0), description="share of events that come twice")
    missing: Share = Field(default=Share(0), description="share of events that never come")
    noisy: Share = Field(default=Share(0), description="share of events with a changed value")
