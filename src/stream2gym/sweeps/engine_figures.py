"""The figures of the page that holds engines against each other: one for every response that varies. Pure.

A response stands over the first axis that varies and is no engine, with a series for each engine; without such an
axis it stands over the engines. Of axes that are zipped only the first one is told: the others are how it is set.
Values with wide bounds are drawn with them as if they were narrow, but for rates: what a busy machine let through
says little about an engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from stream2gym.figures.figure import Chart
from stream2gym.sweeps.response_table import ResponseRow
from stream2gym.sweeps.sweep_figures import make_charts
from stream2gym.sweeps.sweep_file import SweepFile
from stream2gym.units import Rate

ENGINE = "engine"
# How far the engines stand from each other at one category; categories are 1 apart.
APART = 0.12


def list_told_axes(file: SweepFile) -> list[str]:
    """The axes that tell points apart: of zipped axes the first one."""
    followers = {name for group in file.zip_ for name in group[1:]}
    return [name for name in file.axes if name not in followers]


def drop_lone_items(rows: Sequence[ResponseRow]) -> list[ResponseRow]:
    """The rows without the names of items where a response has only one of them."""
    items: dict[str, set[str]] = {}
    for row in rows:
        items.setdefault(row.response, set()).add(row.item)
    return [replace(row, item="") if len(items[row.response] - {""}) < 2 else row for row in rows]


def make_engine_charts(file: SweepFile, rows: Sequence[ResponseRow]) -> list[Chart]:
    """One chart for each response whose values are not all the same."""
    told = list_told_axes(file)
    plain = file.model_copy(
        update={"axes": {name: file.axes[name] for name in told}, "zip_": [], "expect": [], "agreement": []}
    )
    rates = {response.label for response in file.responses if response.quantity is Rate}
    kept = [
        replace(
            row,
            axes={name: row.axes[name] for name in told},
            state="measured" if row.is_bounded and row.response not in rates else row.state,
        )
        for row in sorted(drop_lone_items(rows), key=lambda one: one.point)
    ]
    others = [name for name in told if name != ENGINE and len({str(row.axes[name]) for row in kept}) > 1]
    axis = others[0] if others else ENGINE
    names = [f"{response.label} over {axis}" for response in file.responses]
    drawn = [chart for chart in make_charts(plain, kept) if chart.name in names]
    return [_polish(chart) for chart in drawn if len({value for one in chart.series for value in one.y}) > 1]


def _polish(chart: Chart) -> Chart:
    """Engines by their bare names, side by side."""
    places = {one.name: place for place, one in enumerate(one for one in chart.series if not one.beside)}
    middle = (len(places) - 1) / 2
    series = tuple(
        replace(
            one,
            name=one.name.removeprefix(f"{ENGINE}="),
            x=tuple(x + (places[one.beside or one.name] - middle) * APART for x in one.x) if chart.x.names else one.x,
            beside=one.beside.removeprefix(f"{ENGINE}="),
        )
        for one in chart.series
    )
    return replace(chart, series=series)
