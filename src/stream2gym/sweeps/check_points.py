"""Compares a sweep with its experiment before anything runs: every axis, every value, every response.

Each point is prepared as ``validate`` would do it. Mistakes are told with the axis that makes them. Of very many
points a part is prepared, which the seed chooses; the rest is checked when it runs.
"""

from __future__ import annotations

import difflib
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from stream2gym.errors import BadInput, CannotHere, Mistake
from stream2gym.judge.compare import parse_metric
from stream2gym.judge.undecidable import find_undecidable
from stream2gym.prepare import Prepared, prepare_experiment
from stream2gym.spec.checks.experiment_checks import check_experiment
from stream2gym.spec.findings import brief, item_name
from stream2gym.spec.model import Experiment
from stream2gym.sweeps.job_limits import estimate_run_bytes
from stream2gym.sweeps.load_sweep import LoadedSweep
from stream2gym.sweeps.sweep_plan import PlannedPointRun, SweepPlan, describe_values

MOST_PREPARED = 1000
MOST_TOLD = 50
# Runs that start without being asked twice, and runs that are never planned.
MOST_UNASKED = 1000
MOST_RUNS = 1_000_000
_NEAR = 0.45


@dataclass(frozen=True)
class CheckedPoints:
    """What the experiment of a sweep says before anything runs."""

    # The first point as it was prepared: its files, its time, its components.
    first: Prepared
    # Every text in the settings of the points, names of files among them.
    texts: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    # About how much memory the largest of them takes.
    run_bytes: int = 0


def check_size(count: int, repeats: int, *, is_agreed: bool) -> None:
    """BadInput for a sweep of very many runs, unless the user agreed to it."""
    runs = count * repeats
    if runs > MOST_RUNS:
        hint = "fewer values, or sample: {by: latin, points: 100}"
        raise BadInput(Mistake("axes", f"{count:,} points of {repeats} runs are too many", hint))
    if runs > MOST_UNASKED and not is_agreed:
        hint = "--yes runs them; --quick makes a coarse pass; sample: {by: latin, points: 100} draws some of them"
        raise BadInput(Mistake("axes", f"{count:,} points of {repeats} runs are {runs:,} runs", hint))


def check_points(
    loaded: LoadedSweep, plan: SweepPlan, base: Experiment | None = None, *, is_run_here: bool = True
) -> CheckedPoints:
    """Prepare the points. BadInput has all mistakes, CannotHere all that this machine lacks if it is to run them."""
    experiment = loaded.experiment if base is None else base
    points = plan.points()
    if not points:
        raise BadInput(loaded.mistake(("without",), "leaves no point to run"))
    if len(points) > MOST_PREPARED:
        points = [points[0], *random.Random(plan.seed).sample(points[1:], MOST_PREPARED - 1)]
    mistakes: dict[str, Mistake] = {}
    obstacles: dict[str, CannotHere] = {}
    warnings: dict[str, None] = {}
    texts: dict[str, None] = {}
    first: Prepared | None = None
    run_bytes = 0
    for point in points:
        try:
            prepared = prepare_experiment(experiment, overrides=point.overrides, seed=point.seed)
            prepared.check_runnable()
        except BadInput as error:
            for mistake in error.mistakes:
                told = _place(loaded, point, mistake, experiment)
                mistakes.setdefault(str(told), told)
            if len(mistakes) > MOST_TOLD:
                break
            continue
        if not prepared.plan.components:
            told = loaded.mistake(("experiment",), "has no components, so its runs measure nothing")
            mistakes.setdefault(str(told), told)
            break
        first = first or prepared
        run_bytes = max(run_bytes, estimate_run_bytes(prepared.experiment))
        texts |= dict.fromkeys(find_texts(prepared.experiment.model_dump(mode="python")))
        for told in _check_responses(loaded, prepared):
            mistakes.setdefault(str(told), told)
        obstacles |= {obstacle.what: obstacle for obstacle in prepared.obstacles}
        warnings |= dict.fromkeys((*prepared.undecidable, *_find_open_responses(loaded, prepared)))
    if mistakes:
        if first is None:
            mistakes |= {str(told): told for told in _check_responses_of_base(loaded, experiment)}
        raise BadInput(list(mistakes.values())[:MOST_TOLD])
    if obstacles and is_run_here:
        what = "\n".join(obstacles)
        raise CannotHere(what, "; ".join(dict.fromkeys(one.remedy for one in obstacles.values())))
    assert first is not None, "a sweep has at least one point"
    return CheckedPoints(first, tuple(texts), tuple(warnings), run_bytes)


def _place(loaded: LoadedSweep, point: PlannedPointRun, mistake: Mistake, experiment: Experiment | str) -> Mistake:
    """A mistake of a point as one of the sweep file: at the axis or the setting that it is about."""
    if mistake.file != "--set":
        if mistake.file:
            return replace(mistake, where=f"{mistake.where} (with {describe_values(point.values)})")
        return replace(
            mistake, where=": ".join(filter(None, (f"with {describe_values(point.values)}", mistake.where)))
        )
    key, hint = mistake.where, mistake.hint
    if mistake.what.startswith(("there is no", "nothing in")):
        near = find_near_paths(key, experiment)
        hint = f"did you mean {' or '.join(map(repr, near))}?" if near else hint
    if key in loaded.file.set_:
        return loaded.mistake(("set", key), mistake.what, hint)
    if key == "warmup" and loaded.file.warmup is not None:
        return loaded.mistake(("warmup",), mistake.what, hint)
    axis = next((name for name in loaded.file.axes if _sets(loaded, name, key, point)), None)
    if axis is None:
        return replace(mistake, file="")
    what = mistake.what
    shown = brief(point.values[axis])
    if shown not in what and not what.startswith(("there is no", "nothing in")):
        what = f"{what} (value {shown})"
    told = loaded.mistake(("axes", axis), what, hint)
    return told if axis == key else replace(told, where=f"{told.where} ({key})")


def _sets(loaded: LoadedSweep, axis: str, key: str, point: PlannedPointRun) -> bool:
    targets = loaded.file.axes[axis].set_
    if targets is None:
        return axis == key
    filled = [target.replace("{", "\0").replace("}", "\0") for target in targets]
    return any(
        "".join(
            str(point.values.get(part, part)) if index % 2 else part for index, part in enumerate(one.split("\0"))
        )
        == key
        for one in filled
    )


def find_near_paths(key: str, experiment: Experiment | str, most: int = 3) -> list[str]:
    """Dotted names of the experiment, as it is without overrides, that look like ``key``."""
    try:
        sound = experiment if isinstance(experiment, Experiment) else prepare_experiment(experiment).experiment
    except BadInput:
        return []
    known = list(_walk(sound.model_dump(by_alias=True, mode="python", exclude_none=True), ""))
    return difflib.get_close_matches(key, known, n=most, cutoff=_NEAR)


def _walk(value: Any, path: str) -> Iterator[str]:
    if isinstance(value, dict):
        for key, child in value.items():
            yield from _walk(child, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list) and any(isinstance(item, dict) for item in value):
        for index, item in enumerate(value):
            yield from _walk(item, f"{path}.{item_name(item) or index}")
    else:
        yield path


def _with_responses(loaded: LoadedSweep, prepared: Prepared) -> Experiment:
    """The experiment with the responses as its expectations, so that the same checks apply to them."""
    texts = [parse_metric(response.metric).text for response in loaded.file.responses]
    return prepared.experiment.model_copy(update={"expect": texts})


def _check_responses(loaded: LoadedSweep, prepared: Prepared) -> list[Mistake]:
    """Names in the filters of responses that the experiment does not have."""
    found = check_experiment(_with_responses(loaded, prepared), prepared.loaded.base, section="expect")
    placed = []
    for mistake in found:
        number = mistake.where.rpartition(".")[2]
        place = ("responses", int(number)) if number.isdecimal() else ("responses",)
        placed.append(loaded.mistake(place, mistake.what, mistake.hint))
    return placed


def _check_responses_of_base(loaded: LoadedSweep, experiment: Experiment | str) -> list[Mistake]:
    """The same for the experiment as it is without overrides, if no point could be prepared."""
    try:
        return _check_responses(loaded, prepare_experiment(experiment))
    except BadInput:
        return []


def _find_open_responses(loaded: LoadedSweep, prepared: Prepared) -> list[str]:
    """Warnings about responses that no run of this experiment can measure."""
    return find_undecidable(_with_responses(loaded, prepared), prepared.plan)


def find_input_files(first: Prepared, texts: Iterable[str], limit: int = 200) -> list[Path]:
    """The files that the points depend on: those of the experiment, and those that a text of a point names."""
    found = dict.fromkeys(first.loaded.files)
    for text in texts:
        if len(found) >= limit:
            break
        try:
            path = first.loaded.base / text
            if len(text) < 500 and path.is_file():
                found[path] = None
        except (OSError, ValueError):
            continue
    return list(found)


def find_texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for child in value.values():
            yield from find_texts(child)
    elif isinstance(value, list | tuple):
        for child in value:
            yield from find_texts(child)
