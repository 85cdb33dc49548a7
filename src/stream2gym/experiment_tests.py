"""Test files without Python, ``s2g_*.yaml``: an experiment as it stands, or one at several points.

experiment: pipeline.yaml          # beside this file, or the name of a bundled example
set: {time: 10 s}                  # changes values, as --set does
axes:                              # a test for each combination
  producers.gen.acks: [1, all]
  producers.gen.rate: [100/s, 1000/s]
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from stream2gym.errors import BadInput, Mistake
from stream2gym.spec.findings import did_you_mean

KEYS = ("experiment", "set", "axes", "time", "seed")


@dataclass(frozen=True)
class ExperimentTest:
    """One test: an experiment with changes."""

    name: str
    experiment: Path | str
    settings: Mapping[str, Any]
    time: str | None = None
    seed: int | None = None


def read_tests(file: Path) -> list[ExperimentTest]:
    """The tests of a file. BadInput has all mistakes of the file; those of the experiment show when it runs."""
    try:
        data = yaml.safe_load(file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise BadInput(Mistake("", f"cannot be read: {error}", file=str(file))) from None
    if isinstance(data, dict) and "experiment" not in data and ("s2g" in data or "topology" in data):
        return [ExperimentTest("run", file, {})]
    mistakes = list(_find_mistakes(data, str(file)))
    if mistakes:
        raise BadInput(mistakes)
    named, axes = str(data["experiment"]), data.get("axes") or {}
    experiment: Path | str = file.parent / named if (file.parent / named).exists() or "/" in named else named
    seed, time = data.get("seed"), data.get("time")
    return [
        ExperimentTest(
            name, experiment, {**(data.get("set") or {}), **point}, None if time is None else str(time), seed
        )
        for name, point in _list_points(axes)
    ]


def _list_points(axes: Mapping[str, list[Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every combination of the values of all axes, with the name of its test."""
    for values in itertools.product(*axes.values()):
        point = dict(zip(axes, values, strict=True))
        words = ", ".join(f"{key}={_show(value)}" for key, value in point.items())
        yield (f"run[{words}]" if point else "run"), point


def _show(value: Any) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return text.replace("[", "(").replace("]", ")").replace("::", ":")


def _find_mistakes(data: Any, file: str) -> Iterator[Mistake]:
    if not isinstance(data, dict):
        yield Mistake("", "is neither an experiment nor a test of one", "experiment: PATH, or s2g: 1", file=file)
        return
    for key in data:
        if key not in KEYS:
            yield Mistake(str(key), "unknown key", did_you_mean(str(key), KEYS), file=file)
    if not isinstance(data.get("experiment"), str):
        yield Mistake("experiment", "is missing", "a path beside this file, or a bundled example", file=file)
    for key in ("set", "axes"):
        if not isinstance(data.get(key) or {}, dict):
            yield Mistake(key, "is no mapping", "such as producers.gen.rate: 100/s", file=file)
    axes = data.get("axes")
    for axis, values in axes.items() if isinstance(axes, dict) else ():
        if not isinstance(values, list) or not values:
            yield Mistake(f"axes.{axis}", "has no list of values", "such as [100/s, 1000/s]", file=file)
    if not isinstance(data.get("seed", 0), int):
        yield Mistake("seed", f"{data['seed']!r} is no whole number", "such as 7", file=file)
