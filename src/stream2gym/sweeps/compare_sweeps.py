"""Compares two sweeps point by point: before against after a change. Pure.

Points are the same if all their axes have the same values. A response is worse if it is certainly worse by more than
the tolerance, whatever the truth between its bounds is. It is unknown if it may be, and if the sweep after the change
has no value of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from stream2gym.figures.number_text import show
from stream2gym.jsonable import Jsonable
from stream2gym.judge.compare import Bounds, compute_change, find_better, judge_change
from stream2gym.judge.verdict import Outcome, pick_worst
from stream2gym.sweeps.response_table import ResponseRow
from stream2gym.sweeps.shape_judgement import Place, make_place
from stream2gym.sweeps.sweep_plan import describe_values
from stream2gym.sweeps.sweep_results import SweepResult
from stream2gym.sweeps.sweep_verdict import find_unit

Key = tuple[str, str, str]


@dataclass(frozen=True)
class ComparedPoint(Jsonable):
    """One response at one point of both sweeps. A mean of None is no value that can be used."""

    response: str
    point: str
    item: str
    before: float | None
    after: float | None
    shown: tuple[str, str]
    change: float | None = None
    outcome: Outcome = "pass"


@dataclass(frozen=True)
class SweepComparison(Jsonable):
    sweeps: tuple[str, str]
    rows: tuple[ComparedPoint, ...]
    outcome: Outcome
    # Points that only one of the sweeps has.
    only_before: int = 0
    only_after: int = 0


def compare_sweeps(before: SweepResult, after: SweepResult, tolerance: float | None = None) -> SweepComparison:
    """Compare two sweeps. Without a tolerance nothing is judged."""
    groups = _group(before.rows), _group(after.rows)
    responses = {response.label: response for response in before.file.responses}
    rows = []
    points_after = {key[1] for key in groups[1]}
    for key in groups[0]:
        if key[1] not in points_after:
            continue
        response = responses[key[0]]
        unit, better = find_unit(response), find_better(response.metric)
        first, second = (make_place(group.get(key, []), with_wide=True) for group in groups)
        rows.append(_compare(key, unit, better, (first, second), tolerance))
    only = [len({key[1] for key in one} - {key[1] for key in other}) for one, other in (groups, groups[::-1])]
    outcomes: list[Outcome] = [row.outcome for row in rows]
    if tolerance is not None and (not rows or any(only)):
        outcomes.append("unknown")
    names = before.path.name, after.path.name
    return SweepComparison(names, tuple(rows), pick_worst(outcomes), only[0], only[1])


def _group(rows: Sequence[ResponseRow]) -> dict[Key, list[ResponseRow]]:
    grouped: dict[Key, list[ResponseRow]] = {}
    for row in rows:
        grouped.setdefault((row.response, describe_values(row.axes), row.item), []).append(row)
    return grouped


def _compare(key: Key, unit: str, better: str, places: tuple[Place, Place], tolerance: float | None) -> ComparedPoint:
    before, after = places
    change = compute_change(before.mean, after.mean)
    outcome: Outcome = "pass"
    if tolerance is not None:
        outcome = judge_change(_find_bounds(before), _find_bounds(after), better, tolerance)
    shown: tuple[Any, ...] = tuple(show(place.mean, unit) for place in places)
    return ComparedPoint(key[0], key[1], key[2], before.mean, after.mean, (shown[0], shown[1]), change, outcome)


def _find_bounds(place: Place) -> Bounds:
    return (None, None) if place.mean is None else (place.low, place.high)
