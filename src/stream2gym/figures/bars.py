"""Draws bars. They are horizontal, so that names have room."""

from __future__ import annotations

from stream2gym.figures.canvas import Canvas, shorten, text_width
from stream2gym.figures.figure import Bars, BarSeries
from stream2gym.figures.number_text import show
from stream2gym.figures.plot_area import draw_legend
from stream2gym.figures.scales import make_scale
from stream2gym.figures.style import SERIES

_BAR = 14.0
_MOST_NAMES = 0.36  # of the width


def draw_bars(canvas: Canvas, figure: Bars, ident: str, top: float) -> float:
    """Draw names, bars beside them, values after the bars, and marks as lines across all bars. There is no axis.

    Returns where the drawing ends.
    """
    names_width = min(
        max((text_width(name) for name in figure.categories), default=0.0) + 10, canvas.width * _MOST_NAMES
    )
    totals = [_sum_values(figure, index) for index in range(len(figure.categories))]
    shown = [show(value, figure.axis.unit) for values in _list_values(figure, totals) for value in values]
    room = max((text_width(text, 11) for text in shown), default=0.0) + 12
    known = [v for v in _flatten_values(figure, totals) if v is not None]
    biggest = make_scale(figure.axis, [*known, *(mark.at for mark in figure.marks)], from_zero=True)
    width = max(canvas.width - names_width - room, 40.0)
    caption = f"{figure.axis.label}, by {figure.category_label}" if figure.category_label else figure.axis.label
    canvas.text(0, top + 11, shorten(caption, canvas.width, 11), "soft small")
    y = top + 20
    for index, name in enumerate(figure.categories):
        rows = 1 if figure.stacked else len(figure.series)
        middle = y + rows * (_BAR + 1) / 2
        canvas.text(0, middle + 4, shorten(name, names_width - 8), "", tip=name)
        x = names_width
        for number, series in enumerate(figure.series):
            value = series.values[index]
            length = biggest.place(value) * width if value is not None else 0.0
            tip = f"{name}, {series.name}: {show(value, figure.axis.unit)}"
            canvas.rect(x, y, max(length, 0.8 if value else 0), _BAR, f"box {_pick_fill(series, number)}", tip=tip)
            if figure.stacked:
                x += length
                continue
            canvas.text(x + length + 5, y + 11, show(value, figure.axis.unit), _pick_text_class(series, value))
            y += _BAR + 1
        if figure.stacked:
            canvas.text(x + 5, y + 11, show(totals[index], figure.axis.unit), "small soft")
            y += _BAR + 1
        y += 6
    for mark in figure.marks:
        x = names_width + biggest.place(mark.at) * width
        half = text_width(mark.label, 11) / 2
        canvas.line((x, top + 18), (x, y), f"mark {mark.tone}")
        canvas.text(min(max(x, half), canvas.width - half), y + 10, mark.label, "small soft", anchor="middle")
    y += 16 if figure.marks else 0
    if len(figure.series) > 1:
        entries = [(_pick_fill(series, number), series.name) for number, series in enumerate(figure.series)]
        y += draw_legend(canvas, entries, y, filled=True)
    return y


def _list_values(figure: Bars, totals: list[float | None]) -> list[list[float | None]]:
    return [totals] if figure.stacked else [list(series.values) for series in figure.series]


def _flatten_values(figure: Bars, totals: list[float | None]) -> list[float | None]:
    return [value for values in _list_values(figure, totals) for value in values]


def _sum_values(figure: Bars, index: int) -> float | None:
    there = [series.values[index] for series in figure.series]
    known = [value for value in there if value is not None]
    return sum(known) if known else None


def _pick_fill(series: BarSeries, number: int) -> str:
    return f"fill {series.tone}" if series.tone != "neutral" else f"f{number % SERIES + 1}"


def _pick_text_class(series: BarSeries, value: float | None) -> str:
    return "small alarm" if series.tone == "bad" and value else "small soft"
