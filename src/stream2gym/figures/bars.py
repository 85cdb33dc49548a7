"""Draws bars, lying down so that names have room, and heat maps."""

from __future__ import annotations

from stream2gym.figures.draw import Canvas, shortened, text_width
from stream2gym.figures.frame import draw_legend, hatch
from stream2gym.figures.model import Bars, BarSeries, HeatMap
from stream2gym.figures.numbers import show
from stream2gym.figures.scales import scale_for
from stream2gym.figures.style import SERIES

_BAR = 14.0
_MOST_NAMES = 0.36  # of the width
_TURNED = 80.0  # the most height for turned names


def draw_bars(canvas: Canvas, figure: Bars, ident: str, top: float) -> float:
    """Names left, bars beside them, values behind the bars: no axis to look along."""
    names_width = min(
        max((text_width(name) for name in figure.categories), default=0.0) + 10, canvas.width * _MOST_NAMES
    )
    totals = [_total(figure, index) for index in range(len(figure.categories))]
    shown = [show(value, figure.axis.unit) for values in _values(figure, totals) for value in values]
    room = max((text_width(text, 11) for text in shown), default=0.0) + 12
    biggest = scale_for(figure.axis, [v for v in _flat(figure, totals) if v is not None], from_zero=True)
    width = max(canvas.width - names_width - room, 40.0)
    caption = (
        f"{figure.axis.label}, by {figure.category_label}" if figure.category_label else figure.axis.label
    )
    canvas.text(0, top + 11, shortened(caption, canvas.width, 11), "soft small")
    y = top + 20
    for index, name in enumerate(figure.categories):
        rows = 1 if figure.stacked else len(figure.series)
        middle = y + rows * (_BAR + 1) / 2
        canvas.text(0, middle + 4, shortened(name, names_width - 8), "", tip=name)
        x = names_width
        for number, series in enumerate(figure.series):
            value = series.values[index]
            length = biggest.place(value) * width if value is not None else 0.0
            tip = f"{name}, {series.name}: {show(value, figure.axis.unit)}"
            canvas.rect(x, y, max(length, 0.8 if value else 0), _BAR, f"box {_fill(series, number)}", tip=tip)
            if figure.stacked:
                x += length
                continue
            canvas.text(x + length + 5, y + 11, show(value, figure.axis.unit), _text(series, value))
            y += _BAR + 1
        if figure.stacked:
            canvas.text(x + 5, y + 11, show(totals[index], figure.axis.unit), "small soft")
            y += _BAR + 1
        y += 6
    if len(figure.series) > 1:
        entries = [(_fill(series, number), series.name) for number, series in enumerate(figure.series)]
        y += draw_legend(canvas, entries, y, filled=True)
    return y


def _values(figure: Bars, totals: list[float | None]) -> list[list[float | None]]:
    return [totals] if figure.stacked else [list(series.values) for series in figure.series]


def _flat(figure: Bars, totals: list[float | None]) -> list[float | None]:
    return [value for values in _values(figure, totals) for value in values]


def _total(figure: Bars, index: int) -> float | None:
    there = [series.values[index] for series in figure.series]
    known = [value for value in there if value is not None]
    return sum(known) if known else None


def _fill(series: BarSeries, number: int) -> str:
    return f"fill {series.tone}" if series.tone != "neutral" else f"f{number % SERIES + 1}"


def _text(series: BarSeries, value: float | None) -> str:
    return "small alarm" if series.tone == "bad" and value else "small soft"


def draw_heatmap(canvas: Canvas, figure: HeatMap, ident: str, top: float) -> float:
    """Rows and columns of cells; unknown cells are hatched, the worse end is in the colour of alarm."""
    names = min(max((text_width(name) for name in figure.rows), default=0.0) + 8, canvas.width * _MOST_NAMES)
    cell_width = _cell_width(figure, canvas.width - names - 2)
    cell_height = min(max(cell_width, 18.0), 26.0)
    labels = [[show(value, figure.axis.unit) for value in row] for row in figure.values]
    widest = max((text_width(text, 11) for row in labels for text in row), default=0.0)
    known = [value for row in figure.values for value in row if value is not None]
    low, high = min(known, default=0.0), max(known, default=1.0)
    corner = " × ".join(text for text in (figure.row_label, figure.column_label) if text)
    caption = f"{figure.axis.label}: {corner}" if corner else figure.axis.label
    canvas.text(0, top + 11, shortened(caption, canvas.width, 11), "soft small")
    y = top + 20 + _draw_columns(canvas, figure, names, cell_width, top + 20)
    for index, name in enumerate(figure.rows):
        canvas.text(0, y + cell_height / 2 + 4, shortened(name, names - 6), "", tip=name)
        for column, value in enumerate(figure.values[index]):
            x = names + column * cell_width
            tip = f"{name} × {figure.columns[column]}: {labels[index][column]}"
            if value is None:
                canvas.define(hatch(ident))
                canvas.rect(x + 1, y + 1, cell_width - 2, cell_height - 2, "none box", tip=tip)
                canvas.rect(
                    x + 1, y + 1, cell_width - 2, cell_height - 2, "", extra=f' fill="url(#{ident}-h)"'
                )
                continue
            heat, tone = _heat(figure, value, low, high)
            fill = f' fill-opacity="{heat:.2f}"'
            canvas.rect(
                x + 1, y + 1, cell_width - 2, cell_height - 2, f"cell box {tone}", tip=tip, extra=fill
            )
            if widest + 6 <= cell_width:
                cls = "small inv" if heat > 0.55 else "small"
                at = x + cell_width / 2
                canvas.text(at, y + cell_height / 2 + 4, labels[index][column], cls, anchor="middle")
        y += cell_height
    return y + 4


def _cell_width(figure: HeatMap, room: float) -> float:
    """As wide as there is room, some of it kept for the last name when names are turned."""
    widest = max((text_width(name, 11) for name in figure.columns), default=0.0)
    number = max(len(figure.columns), 1)
    if widest + 6 > min(room / number, 90.0):
        room -= min(widest * 0.67, _TURNED * 0.9)
    return min(room / number, 90.0)


def _draw_columns(canvas: Canvas, figure: HeatMap, left: float, cell_width: float, top: float) -> float:
    """Column names, turned when they would not fit; the height that they took."""
    widest = max((text_width(name, 11) for name in figure.columns), default=0.0)
    turned = widest + 6 > cell_width
    height = min(widest * 0.75 + 12, _TURNED) if turned else 18.0
    for column, name in enumerate(figure.columns):
        x = left + (column + 0.5) * cell_width
        if turned:
            text = shortened(name, (height - 8) / 0.75, 11)
            canvas.text(x + 3, top + height - 4, text, "small", turn=-48, tip=name)
        else:
            canvas.text(x, top + height - 6, name, "small", anchor="middle")
    return height


def _heat(figure: HeatMap, value: float, low: float, high: float) -> tuple[float, str]:
    spread = (value - low) / (high - low) if high > low else 0.0
    if figure.worse == "high":
        return (0.25 + 0.75 * spread, "bad") if value > 0 else (0.12, "")
    if figure.worse == "low":
        best = figure.axis.high if figure.axis.high is not None else high
        return (0.25 + 0.75 * (best - value) / ((best - low) or 1.0), "bad") if value < best else (0.2, "")
    return 0.1 + 0.9 * spread, ""
