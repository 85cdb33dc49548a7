"""The points of a sweep and the order of their runs, decided from the sweep file and its seed alone. Pure.

Runs are ordered in rounds: every round holds each point once, in an order of its own that the seed decides. So a
machine that changes in the course of the sweep changes all points alike, and an interrupted sweep has seen as many
repeats of each point as of any other.
"""

from __future__ import annotations

import itertools
import math
import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from stream2gym.jsonable import Jsonable
from stream2gym.sweeps.sweep_file import AxisSettings, Sample, SweepFile

# Of a coarse pass (--quick): values of each axis, and drawn points.
QUICK_VALUES = 3
QUICK_SAMPLES = 5
MOST_LETTERS = 32  # of a value in one line
_PLACEHOLDER = re.compile(r"\{([^{}]+)\}")


@dataclass(frozen=True)
class PlannedPointRun(Jsonable):
    """One run: a point (from 1) with the values of its axes, and which repeat of it (from 1)."""

    point: int
    repeat: int
    seed: int
    values: dict[str, Any]
    # All settings of the run, as --set takes them.
    overrides: dict[str, Any]

    @property
    def name(self) -> str:
        """The name of its folder."""
        return f"p{self.point:04d}-r{self.repeat}"

    @property
    def words(self) -> str:
        """The point in one line: ``delay=5 ms acks=all, repeat 2``. Of a long value it has the beginning."""
        return f"{self.point_words}, repeat {self.repeat}"

    @property
    def point_words(self) -> str:
        """The values of the point: ``delay=5 ms acks=all``."""
        return describe_values({name: _shorten(str(value)) for name, value in self.values.items()})


@dataclass(frozen=True)
class SweepPlan(Jsonable):
    """All runs of a sweep, in their order."""

    runs: tuple[PlannedPointRun, ...] = ()
    axes: tuple[str, ...] = ()
    repeats: int = 1
    is_quick: bool = False
    seed: int = field(default=1)

    def points(self) -> list[PlannedPointRun]:
        """The first run of every point, in the order of the points."""
        return sorted((run for run in self.runs if run.repeat == 1), key=lambda run: run.point)


def describe_values(values: Mapping[str, Any]) -> str:
    return " ".join(f"{name}={value}" for name, value in values.items())


def has_values(values: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether these values of axes are the wanted ones, as far as they name the same axes."""
    return all(str(values[name]) == str(value) for name, value in wanted.items() if name in values)


def _shorten(text: str) -> str:
    return text if len(text) <= MOST_LETTERS else text[: MOST_LETTERS - 1] + "…"


def thin_for_quick(file: SweepFile) -> SweepFile:
    """The sweep of a coarse pass: a few values of each axis, few samples, one repeat."""
    axes = {name: _thin_axis(axis) for name, axis in file.axes.items()}
    sample = file.sample
    if sample is not None:
        sample = Sample(by=sample.by, points=min(sample.points, QUICK_SAMPLES))
    return file.model_copy(update={"axes": axes, "sample": sample, "repeats": 1})


def _thin_axis(axis: AxisSettings) -> AxisSettings:
    """The axis with its values of a coarse pass, or with the first, the last and the middle one of all."""
    if axis.quick is not None:
        return axis.model_copy(update={"values": axis.quick, "from_": None, "to": None, "steps": None})
    if axis.values is None:
        return axis.model_copy(update={"steps": None if axis.steps is None else min(axis.steps, QUICK_VALUES)})
    last = len(axis.values) - 1
    places = sorted({round(index * last / (QUICK_VALUES - 1)) for index in range(QUICK_VALUES)})
    return axis.model_copy(update={"values": [axis.values[place] for place in places]})


def count_points(file: SweepFile, where: Mapping[str, Any] | None = None) -> int:
    """The number of points (with these values), without making them; those that are left out are counted, too."""
    if file.sample is not None:
        return file.sample.points
    return math.prod(sum(has_values(row, where or {}) for row in rows) for rows in _group_values(file))


def make_sweep_plan(file: SweepFile, *, is_quick: bool = False) -> SweepPlan:
    """All runs in their order."""
    thinned = thin_for_quick(file) if is_quick else file
    points = list(_sample_points(thinned, thinned.sample) if thinned.sample is not None else _grid_points(thinned))
    chance = random.Random(f"order {thinned.seed}")
    runs = []
    for repeat in range(1, thinned.repeats + 1):
        order = list(range(len(points)))
        chance.shuffle(order)
        for index in order:
            values = points[index]
            overrides = {**thinned.fixed_settings(), **_make_overrides(thinned, values)}
            runs.append(PlannedPointRun(index + 1, repeat, thinned.seed + repeat - 1, values, overrides))
    return SweepPlan(tuple(runs), tuple(thinned.axes), thinned.repeats, is_quick, thinned.seed)


def _group_values(file: SweepFile) -> list[list[dict[str, Any]]]:
    """The values of each group of axes that vary together, group by group. An axis that is not zipped is a group."""
    zipped = {name: tuple(group) for group in file.zip_ for name in group}
    groups = list(dict.fromkeys(zipped.get(name, (name,)) for name in file.axes))
    found = []
    for group in groups:
        columns = [file.axes[name].list_values() for name in group]
        found.append([dict(zip(group, row, strict=True)) for row in zip(*columns, strict=True)])
    return found


def _grid_points(file: SweepFile) -> Iterator[dict[str, Any]]:
    """The combinations of the groups, the last one varying fastest; the axes in the order of the file."""
    for rows in itertools.product(*_group_values(file)):
        merged = {name: value for row in rows for name, value in row.items()}
        if not file.is_left_out(merged):
            yield {name: merged[name] for name in file.axes}


def _sample_points(file: SweepFile, sample: Sample) -> Iterator[dict[str, Any]]:
    columns = {name: _sample_axis(name, axis, sample, file.seed) for name, axis in file.axes.items()}
    for index in range(sample.points):
        yield {name: column[index] for name, column in columns.items()}


def _sample_axis(name: str, axis: AxisSettings, sample: Sample, seed: int) -> list[Any]:
    """One value for each point. In a Latin hypercube every one of equally likely intervals is hit once."""
    chance = random.Random(f"{sample.by} {seed} {name}")
    count = sample.points
    if sample.by == "latin":
        strata = list(range(count))
        chance.shuffle(strata)
        shares = [(stratum + chance.random()) / count for stratum in strata]
    else:
        shares = [chance.random() for _ in range(count)]
    bounds = axis.range
    if bounds is not None:
        return [bounds.value_at(share) for share in shares]
    values = axis.list_values()
    return [values[min(int(share * len(values)), len(values) - 1)] for share in shares]


def _make_overrides(file: SweepFile, values: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, axis in file.axes.items():
        for target in [name] if axis.set_ is None else axis.set_:
            found[_PLACEHOLDER.sub(lambda match: str(values[match[1]]), target)] = values[name]
    return found
