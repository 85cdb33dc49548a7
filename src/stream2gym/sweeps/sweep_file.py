"""The sweep file: a base experiment, axes over its settings, repeats, responses and expectations on their shapes.

``load_sweep`` reads it, ``sweep_problems`` checks it, and ``check_points`` compares it with the experiment.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationInfo, model_validator

from stream2gym.judge.compare import parse_metric
from stream2gym.kinds.metrics import Count
from stream2gym.kinds.settings import Model, Name, Strings, Whole
from stream2gym.sweeps.agreement_grammar import Agreement
from stream2gym.sweeps.axis_values import FIGURE_UNITS, ValueRange, spread_values
from stream2gym.sweeps.shape_grammar import ShapeExpectation, parse_shape
from stream2gym.units import Duration, Quantity, Share

# Columns of the table of responses before those of the axes, and after them. No axis may have their names.
FIRST_COLUMNS = ("point", "repeat", "seed")
LAST_COLUMNS = ("response", "item", "value", "low", "high", "state", "verdict", "reason", "run")
MOST_STEPS = 10_000
MOST_SAMPLES = 1_000_000
# The word for all values of an axis in a coarse pass.
ALL = "all"


def _list_all(value: Any, info: ValidationInfo) -> Any:
    """``quick: all`` as the values of the axis."""
    if value != ALL:
        return value
    if not info.data.get("values"):
        raise ValueError("only an axis with values has all of them; name the values of the coarse pass")
    return info.data["values"]


class AxisSettings(Model):
    """One axis: what it sets, and its values. A list is short for its ``values``."""

    SHORT = ({"type": "array"},)

    set_: Strings | None = Field(
        default=None,
        alias="set",
        description="dotted names as --set takes them, all set to one value; {AXIS} stands for a value of another "
        "axis; default: the name of the axis; an empty list sets nothing",
    )
    values: list[Any] | None = Field(default=None, description="the values, one by one")
    from_: Any = Field(default=None, alias="from", description="the lowest value of a range")
    to: Any = Field(default=None, description="the highest value of a range")
    steps: Annotated[Whole, Field(ge=2, le=MOST_STEPS)] | None = Field(
        default=None, description="number of values of a range, both ends included; not needed for samples"
    )
    scale: Literal["linear", "log"] = Field(default="linear", description="how the values of a range are spread")
    quick: (
        Annotated[list[Any], BeforeValidator(_list_all, json_schema_input_type=list[Any] | Literal["all"])] | None
    ) = Field(
        default=None, description="the values of a coarse pass (--quick), or all; default: the ends and the middle"
    )

    @model_validator(mode="before")
    @classmethod
    def _widen(cls, value: Any) -> Any:
        return {"values": value} if isinstance(value, list) else value

    @property
    def range(self) -> ValueRange | None:
        return None if self.values is not None else ValueRange(self.from_, self.to, self.scale)

    def list_values(self) -> list[Any]:
        """The values of a grid; those of a range without ``steps`` are its ends."""
        if self.values is not None:
            return self.values
        assert self.range is not None, "an axis without values is a range"
        return spread_values(self.range, self.steps or 2)


class Sample(Model):
    """Points that are drawn instead of a grid."""

    by: Literal["random", "latin"] = Field(
        description="random: independent draws; latin: Latin hypercube, each axis is covered evenly"
    )
    points: Annotated[Whole, Field(ge=1, le=MOST_SAMPLES)] = Field(description="how many points are drawn")


class Response(Model):
    """One response: a metric as expectations write it, without the comparison."""

    SHORT = ({"type": "string"},)

    name: str = Field(default="", description="what tables, figures and expectations call it; default: its metric")
    metric: str = Field(description="metric[.stat][(filter=value, ...)], such as latency.p99(topic=in)")
    combine: Literal["each", "sum", "max", "min", "spread"] = Field(
        default="each",
        description="what is done with a metric of several things, such as links: each is a series of its own, "
        "or their sum, largest, smallest, or largest divided by smallest",
    )
    unit: str = Field(
        default="", description="the unit in which a program or a check states its numbers, such as ms or MiB"
    )
    about: Literal["system", "machine"] = Field(
        default="system",
        description="machine: what the gym takes of this machine (cpu, memory, startup, first_receipt), which counts "
        "as it was measured whether or not the machine kept up",
    )

    @model_validator(mode="before")
    @classmethod
    def _widen(cls, value: Any) -> Any:
        return {"metric": value} if isinstance(value, str) else value

    @property
    def label(self) -> str:
        return self.name or self.metric

    @property
    def quantity(self) -> type[Quantity]:
        """What kind of quantity its values are."""
        if self.combine == "spread":
            return Count
        if self.unit:
            return find_quantity(self.unit)[0]
        return parse_metric(self.metric).definition.unit

    @property
    def scale(self) -> float:
        """What a stated number is multiplied with to be in the base unit."""
        return find_quantity(self.unit)[1] if self.unit else 1.0


def find_quantity(unit: str) -> tuple[type[Quantity], float]:
    """The kind of quantity that has a unit, and how many base units the unit is. Raises ValueError."""
    for quantity in FIGURE_UNITS:
        if unit in quantity.UNITS:
            return quantity, float(quantity.UNITS[unit])
    raise ValueError(f"{unit!r} is no unit; such as ms, MiB, Mbps, /s or %")


class PointFigure(Model):
    """A figure of single runs: of each point with these values, from the first repeat that went through."""

    figure: str = Field(
        description="a figure of the report, as s2g report --figure takes it, such as delivery-matrix"
    )
    where: dict[str, Any] = Field(
        default_factory=dict,
        description="values of axes that the points have, such as {acks: all}; default: all points",
    )


def _join_shape(value: Any) -> Any:
    """``- latency.mean over delay: increasing`` is a mapping to YAML; here it is one text."""
    if isinstance(value, dict) and len(value) == 1:
        ((left, right),) = value.items()
        return f"{left}: {right}"
    return value


def _group_zips(value: Any) -> Any:
    """One group may be written without its outer list."""
    is_group = isinstance(value, list) and value and all(isinstance(item, str) for item in value)
    return [value] if is_group else value


class SweepFile(Model):
    """A sweep as its file describes it."""

    sweep: Literal[1] = Field(default=1, description="format version, always 1")
    name: Name = Field(default="sweep", description="name of the sweep; its folder is called after it")
    experiment: str = Field(default="", description="the base: a path relative to this file, or a bundled example")
    set_: dict[str, Any] = Field(default_factory=dict, alias="set", description="settings of every point, as --set")
    warmup: Duration | None = Field(
        default=None, description="the warm-up of every point; short for set: {warmup: 10 s}"
    )
    axes: dict[str, AxisSettings] = Field(default_factory=dict, description="what varies, by the name of the axis")
    zip_: Annotated[list[list[str]], BeforeValidator(_group_zips)] = Field(
        default_factory=list, alias="zip", description="groups of axes that take their values together, one by one"
    )
    without: list[dict[str, Any]] = Field(
        default_factory=list,
        description="combinations of axis values that are no points, such as {acks: 0, brokers: 3}",
    )
    sample: Sample | None = Field(default=None, description="draw points instead of taking every combination")
    repeats: Annotated[Whole, Field(ge=1, le=10_000)] = Field(default=1, description="runs of every point")
    seed: Whole = Field(default=1, description="seed of order and samples; repeat N runs with seed + N - 1")
    responses: list[Response] = Field(default_factory=list, description="what is measured at every point")
    expect: list[Annotated[str, BeforeValidator(_join_shape, json_schema_input_type=str | dict[str, str])]] = Field(
        default_factory=list, description="shapes, such as 'latency.mean over delay: linear(r2 > 0.98)'"
    )
    published: str = Field(default="", description="a CSV file with published values; a path relative to this file")
    agreement: list[Agreement] = Field(
        default_factory=list, description="which quantities are compared with which published values"
    )
    figures: list[PointFigure] = Field(
        default_factory=list, description="figures of single runs that the report of the sweep shows"
    )
    interval: Share = Field(
        default=Share(0.1),
        description="a value whose bounds are farther apart than this share of it is unknown to shapes",
    )

    def fixed_settings(self) -> dict[str, Any]:
        """What every point sets, by dotted names."""
        return self.set_ if self.warmup is None else {**self.set_, "warmup": str(self.warmup)}

    def shapes(self) -> list[ShapeExpectation]:
        """The expectations on shapes, parsed. They were checked when the file was loaded."""
        return [parse_shape(text, self.response_names(), self.axes) for text in self.expect]

    def moving_with(self, axis: str) -> frozenset[str]:
        """The axes that are zipped with this one: they change whenever it does."""
        return frozenset(name for group in self.zip_ if axis in group for name in group if name != axis)

    def is_left_out(self, values: Mapping[str, Any]) -> bool:
        """Whether these values of axes are among the combinations that are no points."""
        return any(
            all(str(values.get(name)) == str(value) for name, value in combination.items())
            for combination in self.without
        )

    def response_names(self) -> list[str]:
        return [response.label for response in self.responses]
