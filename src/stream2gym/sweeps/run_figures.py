"""Figures of single runs that a sweep shows: of each point that is named, from the first repeat that went through.

They are drawn from the run folders of the points, of which ``--keep summaries`` leaves all that a report needs, and
which come back from the workers of a cluster.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from stream2gym.errors import S2gError
from stream2gym.figures.figure import Figure
from stream2gym.figures.figure_csv import make_slug
from stream2gym.report.facts import read_facts
from stream2gym.report.write import FIGURES, OTHER_FIGURE, make_figures, pick_figure
from stream2gym.spec.findings import DataPath, Finding, did_you_mean
from stream2gym.sweeps.sweep_file import SweepFile
from stream2gym.sweeps.sweep_folder import Attempt
from stream2gym.sweeps.sweep_plan import PlannedPointRun, SweepPlan, count_points, describe_values, has_values

MOST_FIGURES = 50
_MOST_LETTERS = 100  # of the name of a file


@dataclass(frozen=True)
class RunFigures:
    """The figures that could be drawn, named after their points, and a sentence for each that could not."""

    drawn: tuple[Figure, ...] = ()
    missing: tuple[str, ...] = ()


def find_figure_problems(file: SweepFile) -> Iterator[Finding]:
    """What is wrong with the figures that a sweep file names. Its axes are sound."""
    if file.figures and file.sample is not None:
        yield Finding(("figures",), "points that are drawn have no values that could be named", "a grid")
        return
    count = 0
    for number, wanted in enumerate(file.figures):
        path: DataPath = ("figures", number)
        if not wanted.figure.startswith(OTHER_FIGURE) and pick_figure(FIGURES, wanted.figure) is None:
            hint = did_you_mean(wanted.figure, FIGURES)
            yield Finding((*path, "figure"), f"there is no figure {wanted.figure!r} in reports", hint)
        unknown = [name for name in wanted.where if name not in file.axes]
        for name in unknown:
            yield Finding((*path, "where"), f"there is no axis {name!r}", did_you_mean(name, file.axes))
        if unknown:
            continue
        points = 0 if file.is_left_out(wanted.where) else count_points(file, wanted.where)
        count += points
        if not points:
            yield Finding((*path, "where"), *_explain_no_point(file, wanted.where))
    if count > MOST_FIGURES:
        yield Finding(("figures",), f"{count:,} figures of runs are too many", f"name at most {MOST_FIGURES}")


def _explain_no_point(file: SweepFile, where: Mapping[str, object]) -> tuple[str, str]:
    for name, value in where.items():
        values = list(map(str, file.axes[name].list_values()))
        if str(value) not in values:
            return f"{name} never is {value!r}", did_you_mean(value, values)
    return f"no point has {describe_values(where)}", ""


def draw_run_figures(points: Path, file: SweepFile, plan: SweepPlan, ended: Mapping[str, Attempt]) -> RunFigures:
    """Draw the figures of a sweep whose run folders are in ``points``."""
    read = cache(lambda folder: make_figures(read_facts(points / folder)))
    drawn: dict[str, Figure] = {}
    missing: dict[str, None] = {}
    for wanted in file.figures:
        found = [run for run in plan.points() if has_values(run.values, wanted.where)]
        if not found:
            missing[f"{wanted.figure} at {describe_values(wanted.where)}: this pass has no such point"] = None
        for point in found:
            try:
                figure = _find_figure(wanted.figure, read(_find_folder(point, plan, ended)))
            except (S2gError, LookupError, OSError, ValueError, TypeError) as error:
                missing[f"{wanted.figure} at {point.point_words}: {error}"] = None
                continue
            name = make_slug(f"{figure.name} {point.point_words}")[:_MOST_LETTERS]
            title = f"{point.point_words}: {figure.title}"
            if name in drawn and drawn[name].title != title:
                name = f"{name}-p{point.point:04d}"
            drawn[name] = replace(figure, name=name, title=title)
    return RunFigures(tuple(drawn.values()), tuple(missing))


def _find_folder(point: PlannedPointRun, plan: SweepPlan, ended: Mapping[str, Attempt]) -> str:
    """The folder of the first repeat of a point that went through. Raises ValueError if none did."""
    for run in sorted(plan.runs, key=lambda run: run.repeat):
        attempt = ended.get(run.name)
        if run.point == point.point and attempt is not None and attempt.result.state == "done":
            return attempt.folder
    raise ValueError("no run of it went through")


def _find_figure(name: str, figures: Mapping[str, Figure]) -> Figure:
    chosen = pick_figure(figures, name)
    if chosen is None:
        raise ValueError("its run has no such figure")
    return figures[chosen]
