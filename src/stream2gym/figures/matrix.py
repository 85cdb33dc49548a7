"""Draws matrices: a cell for each row and column, divided by its layers."""

from __future__ import annotations

from collections.abc import Sequence

from stream2gym.figures.canvas import Canvas, shorten, text_width
from stream2gym.figures.figure import Layer, Matrix
from stream2gym.figures.number_text import NOTHING, show
from stream2gym.figures.plot_area import draw_legend, make_hatch
from stream2gym.figures.style import SERIES

_MOST_NAMES = 0.3  # of the width
_TURNED = 80.0  # the most height for turned names
_WIDEST_CELL = 90.0
_GAP = 1.0  # around a cell


def draw_matrix(canvas: Canvas, figure: Matrix, ident: str, top: float) -> float:
    """Draw cells that are filled from left to right in the order of the layers. Unknown cells are hatched."""
    names = min(max((text_width(name) for name in figure.rows), default=0.0) + 8, canvas.width * _MOST_NAMES)
    width = _measure_cell_width(figure.columns, canvas.width - names - 2)
    height = min(max(width, 18.0), 26.0)
    corner = " × ".join(text for text in (figure.row_label, figure.column_label) if text)
    caption = f"{figure.label}: {corner}" if corner else figure.label
    canvas.text(0, top + 11, shorten(caption, canvas.width, 11), "soft small")
    y = top + 20 + _draw_columns(canvas, figure.columns, names, width, top + 20)
    for row, name in enumerate(figure.rows):
        canvas.text(0, y + height / 2 + 4, shorten(name, names - 6), "", tip=name)
        for column in range(len(figure.columns)):
            _draw_cell(canvas, figure, (row, column), (names + column * width, y, width, height), ident)
        y += height
    shown = [
        (f"part {_pick_fill(layer, number)}", layer.name)
        for number, layer in enumerate(figure.layers)
        if any(value for values in layer.values for value in values)
    ]
    return y + 8 + draw_legend(canvas, shown, y + 8, filled=True)


def format_percent(share: float | None) -> str:
    """A share in whole per cent. Only 0 is shown as 0, and only 1 as 100."""
    if share is None:
        return NOTHING
    return str(round(share * 100)) if share in (0.0, 1.0) else str(min(max(round(share * 100), 1), 99))


def describe_cell(figure: Matrix, row: int, column: int) -> str:
    """What a cell shows, in words: for tooltips, and for people who cannot see it."""
    counts = zip(figure.cell(row, column), figure.layers, strict=True)
    words = ", ".join(f"{show(value)} {layer.name}" for value, layer in counts if value)
    return f"{figure.rows[row]} × {figure.columns[column]}: {words or 'unknown'}"


def _draw_cell(
    canvas: Canvas,
    figure: Matrix,
    place: tuple[int, int],
    box: tuple[float, float, float, float],
    ident: str,
) -> None:
    x, y, width, height = box[0] + _GAP, box[1] + _GAP, box[2] - 2 * _GAP, box[3] - 2 * _GAP
    tip = describe_cell(figure, *place)
    share = figure.share(*place)
    if share is None:
        canvas.define(make_hatch(ident))
        canvas.rect(x, y, width, height, "none box", tip=tip)
        canvas.rect(x, y, width, height, "", fill=f"url(#{ident}-h)")
        return
    values = figure.cell(*place)
    at = x
    for number, (layer, value) in enumerate(zip(figure.layers, values, strict=True)):
        part = value / sum(values) * width
        if part:
            canvas.rect(at, y, part, height, f"part {_pick_fill(layer, number)}", tip=tip)
            at += part
    text = format_percent(share)
    if text_width(text, 11) + 4 <= width:
        weight = "small" if share == 1.0 else "small strong"
        canvas.text(x + width / 2, y + height / 2 + 4, text, weight, anchor="middle", tip=tip)


def _pick_fill(layer: Layer, number: int) -> str:
    return f"fill {layer.tone}" if layer.tone != "neutral" else f"f{number % SERIES + 1}"


def _measure_cell_width(columns: Sequence[str], room: float) -> float:
    """The width of a cell. Room for the last name is kept free when names are turned."""
    widest = max((text_width(name, 11) for name in columns), default=0.0)
    number = max(len(columns), 1)
    if widest + 6 > min(room / number, _WIDEST_CELL):
        room -= min(widest * 0.67, _TURNED * 0.9)
    return min(room / number, _WIDEST_CELL)


def _draw_columns(canvas: Canvas, columns: Sequence[str], left: float, cell_width: float, top: float) -> float:
    """Draw the names of the columns, turned when they would not fit. Returns their height."""
    widest = max((text_width(name, 11) for name in columns), default=0.0)
    turned = widest + 6 > cell_width
    height = min(widest * 0.75 + 12, _TURNED) if turned else 18.0
    for column, name in enumerate(columns):
        x = left + (column + 0.5) * cell_width
        if turned:
            text = shorten(name, (height - 8) / 0.75, 11)
            canvas.text(x + 3, top + height - 4, text, "small", turn=-48, tip=name)
        else:
            canvas.text(x, top + height - 6, name, "small", anchor="middle")
    return height
