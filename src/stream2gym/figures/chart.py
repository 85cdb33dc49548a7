"""Draws charts of two axes: lines, steps, areas, points, and histograms."""

from __future__ import annotations

import math
from collections.abc import Sequence

from stream2gym.figures.canvas import Canvas, Point, text_width
from stream2gym.figures.figure import Chart, Histogram, Series
from stream2gym.figures.number_text import show
from stream2gym.figures.plot_area import (
    X_AXIS_HEIGHT,
    Area,
    choose_plot_height,
    draw_axes,
    draw_labels,
    draw_legend,
    draw_windows,
    place_labels,
)
from stream2gym.figures.scales import Scale, make_scale
from stream2gym.figures.style import SERIES


def draw_chart(canvas: Canvas, chart: Chart, ident: str, top: float) -> float:
    """Draw from ``top`` and return where the drawing ends."""
    xs = [x for series in chart.series for x in series.x]
    ys = [y for series in chart.series for y in series.y if y is not None]
    ys += [bound for series in chart.series for _, low, high in series.bounds() for bound in (low, high)]
    x = make_scale(chart.x, xs, tight=True)
    y = make_scale(chart.y, ys, from_zero=True)
    area, top = _draw_area(canvas, x, y, top, chart)
    draw_windows(canvas, area, chart.bands, chart.marks, ident)
    numbers = _number_series(chart.series)
    for number, series in zip(numbers, chart.series, strict=True):
        _draw_series(canvas, area, series, number)
    end = area.bottom + X_AXIS_HEIGHT
    if len(chart.series) > 1:
        end += draw_legend(canvas, _make_entries(chart.series, numbers), end)
    return end


def _make_entries(series: Sequence[Series], numbers: Sequence[int]) -> list[tuple[str, str]]:
    """The class and name of every entry of the legend. Values in doubt have the colours of several series, and one
    entry."""
    entries = [(_pick_stroke(s, n), s.name) for n, s in zip(numbers, series, strict=True) if s.shape != "hollow"]
    hollow = {s.name: (_pick_stroke(s, n), s) for n, s in zip(numbers, series, strict=True) if s.shape == "hollow"}
    return [*entries, *((f"hollow {'axis' if s.beside else stroke}", s.name) for stroke, s in hollow.values())]


def draw_histogram(canvas: Canvas, figure: Histogram, ident: str, top: float) -> float:
    x = make_scale(figure.x, figure.edges, tight=True)
    y = make_scale(figure.y, figure.counts, from_zero=True)
    area, _ = _draw_area(canvas, x, y, top, None)
    for left, right, count in zip(figure.edges, figure.edges[1:], figure.counts, strict=False):
        start, end = area.px(left), area.px(right)
        tip = f"{show(left, figure.x.unit)} to {show(right, figure.x.unit)}: {show(count, figure.y.unit)}"
        level = area.py(count)
        canvas.rect(start + 0.5, level, end - start - 1, area.bottom - level, "f1", tip=tip)
    return area.bottom + X_AXIS_HEIGHT


def _draw_area(canvas: Canvas, x: Scale, y: Scale, top: float, chart: Chart | None) -> tuple[Area, float]:
    """Draw captions, labels and axes. Returns the plot area and where it begins."""
    height = choose_plot_height(canvas.width)
    ticks = y.ticks(max(3, int(height // 42)))
    left = max((text_width(tick.text) for tick in ticks), default=0.0) + 10
    right = canvas.width - 8
    canvas.text(0, top + 11, y.caption, "soft small")
    top += 18
    if chart:
        top += draw_labels(canvas, place_labels(chart.bands, chart.marks, left, right, x), top)
    area = Area(left, top + 4, right - left, height, x, y)
    draw_axes(canvas, area, ticks)
    return area, top


def _number_series(series: Sequence[Series]) -> list[int]:
    """The number of the colour of each series: that of the one it stands beside, or the next."""
    numbers: dict[str, int] = {}
    for one in series:
        if one.beside not in numbers and one.tone == "neutral":
            numbers.setdefault(one.name, len(numbers))
    return [numbers[one.beside] if one.beside in numbers else numbers.get(one.name, 0) for one in series]


def _draw_series(canvas: Canvas, area: Area, series: Series, number: int) -> None:
    runs = _make_runs(area, series)
    fill = _pick_fill(series, number)
    _draw_bounds(canvas, area, series, _pick_stroke(series, number))
    if series.shape in ("marked", "hollow"):
        _draw_marked(canvas, area, series, number)
        return
    if series.shape == "points":
        radius = 3.6 if sum(map(len, runs)) <= FEW_POINTS else 2.2
        for run in runs:
            for point in run:
                canvas.circle(point, radius, f"dot {fill}")
        return
    if series.shape == "area":
        canvas.path((run for run in runs if len(run) > 1), f"area {fill}", close=area.bottom)
    canvas.path(
        (run for run in runs if len(run) > 1), f"line {_pick_stroke(series, number)}", step=series.shape == "step"
    )
    for run in runs:
        if len(run) == 1:
            canvas.circle(run[0], 2.6, f"dot {fill}")


def _draw_bounds(canvas: Canvas, area: Area, series: Series, stroke: str) -> None:
    """Draw a bar from the low to the high bound of each value that has them and is not exact."""
    for x, low, high in series.bounds():
        if low == high:
            continue
        at, bottom, top = area.px(x), area.py(low), area.py(high)
        canvas.line((at, bottom), (at, top), f"line bar {stroke}")
        for end in (bottom, top):
            canvas.line((at - BAR_END, end), (at + BAR_END, end), f"line bar {stroke}")


def _draw_marked(canvas: Canvas, area: Area, series: Series, number: int) -> None:
    stroke, fill = _pick_stroke(series, number), _pick_fill(series, number)
    name = f"{series.beside}, {series.name}" if series.beside else series.name
    points = [
        ((area.px(x), area.py(y)), f"{name}: {show(y, area.y.axis.unit)}")
        for x, y in zip(series.x, series.y, strict=True)
        if y is not None and math.isfinite(y)
    ]
    if series.shape == "marked" and len(points) > 1:
        canvas.path([[point for point, _ in points]], f"line {stroke}")
    for point, tip in points:
        if series.shape == "marked":
            canvas.circle(point, 3.2, f"dot {fill}", tip=tip)
        else:
            canvas.circle(point, 4.2, f"hollow {stroke}", tip=tip)


BAR_END = 4.0
FEW_POINTS = 30


def _make_runs(area: Area, series: Series) -> list[list[Point]]:
    """The runs of points between gaps, with no more points than the width can show."""
    runs: list[list[Point]] = [[]]
    for x, y in zip(series.x, series.y, strict=True):
        if y is None or not math.isfinite(y):
            if runs[-1]:
                runs.append([])
        elif area.x.low <= x <= area.x.high or area.x.axis.scale == "percentile":  # 100 % has its place at the edge
            runs[-1].append((area.px(x), area.py(y)))
    if series.shape == "step" and len(series.x) > 1:
        width = area.px(series.x[-1]) - area.px(series.x[-2])
        runs = [_hold_last(run, width, area.right) for run in runs]
    return [_thin(run) for run in runs if run]


def _hold_last(run: list[Point], width: float, right: float) -> list[Point]:
    """The run with one more point, which holds the last value for one step."""
    return [*run, (min(run[-1][0] + width, right), run[-1][1])] if run else run


def _thin(run: list[Point]) -> list[Point]:
    """The run with at most four points in a column of pixels: the first, the highest, the lowest and the last."""
    if len(run) < 8:
        return run
    kept: list[Point] = []
    column: list[Point] = []
    for point in [*run, (math.inf, 0.0)]:
        if column and point[0] - column[0][0] >= 1.0:
            kept.extend(_pick_extremes(column))
            column = []
        column.append(point)
    return kept


def _pick_extremes(column: Sequence[Point]) -> list[Point]:
    if len(column) <= 4:
        return list(column)
    places = {0, len(column) - 1}
    places.add(min(range(len(column)), key=lambda index: column[index][1]))
    places.add(max(range(len(column)), key=lambda index: column[index][1]))
    return [column[index] for index in sorted(places)]


def _pick_stroke(series: Series, number: int) -> str:
    if series.tone != "neutral":
        return series.tone
    return f"s{number % SERIES + 1}{' beside' if series.beside and series.shape != 'hollow' else ''}"


def _pick_fill(series: Series, number: int) -> str:
    return f"fill {series.tone}" if series.tone != "neutral" else f"f{number % SERIES + 1}"
