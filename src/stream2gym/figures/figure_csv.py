"""Writes the data of a figure as CSV: exactly the numbers of the figure, in base units."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable
from typing import Any

from stream2gym.figures.figure import Axis, Bars, Chart, Column, Figure, Histogram, Matrix, Series, Table
from stream2gym.figures.number_text import MOMENT


def write_csv(figure: Figure | Table) -> str:
    """The rows of a figure as CSV. An empty cell is unknown."""
    return make_csv_text(_make_rows(figure))


def make_csv_bytes(figure: Figure | Table) -> bytes:
    """The rows of a figure as the bytes of a CSV file. What UTF-8 cannot encode becomes a question mark."""
    return write_csv(figure).encode("utf-8", "replace")


def make_csv_text(rows: Iterable[Iterable[Any]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows(["" if cell is None else cell for cell in row] for row in rows)
    return text.getvalue()


def make_slug(name: str) -> str:
    """A name for files and ids: small letters, digits and dashes."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "figure"


def _make_rows(figure: Figure | Table) -> list[list[Any]]:
    if isinstance(figure, Table):
        labels = [_name_column(column) for column in figure.columns]
        return [labels, *(list(row) for row in figure.rows)]
    if isinstance(figure, Chart):
        head: list[Any] = ["series", _name_axis(figure.x), _name_axis(figure.y)]
        rows = [[s.name, x, y] for s in figure.series for x, y in zip(s.x, s.y, strict=True)]
        if any(series.low for series in figure.series):
            head += ["low", "high"]
            rows = [row for series in figure.series for row in _make_bounded_rows(series)]
        windows = [[f"window: {band.label}", edge, None] for band in figure.bands for edge in (band.start, band.end)]
        return [head, *rows, *windows]
    if isinstance(figure, Histogram):
        bins = zip(figure.edges, figure.edges[1:], figure.counts, strict=False)
        return [["from", "to", _name_axis(figure.y)], *([low, high, count] for low, high, count in bins)]
    if isinstance(figure, Bars):
        columns = zip(*(series.values for series in figure.series), strict=True)
        names = [f"{series.name} ({_name_axis(figure.axis)})" for series in figure.series]
        body = [[name, *values] for name, values in zip(figure.categories, columns, strict=True)]
        marks = [[f"mark: {mark.label}", *[mark.at] * len(names)] for mark in figure.marks]
        return [[figure.category_label or "name", *names], *body, *marks]
    if isinstance(figure, Matrix):
        labels = [figure.row_label or "row", figure.column_label or "column"]
        cells = [
            [row, column, *figure.cell(y, x)]
            for y, row in enumerate(figure.rows)
            for x, column in enumerate(figure.columns)
        ]
        return [[*labels, *(layer.name for layer in figure.layers)], *cells]
    spans = [[lane.name, span.label, span.start, span.end] for lane in figure.lanes for span in lane.spans]
    marks = [[lane.name, mark.label, mark.at, mark.at] for lane in figure.lanes for mark in lane.marks]
    return [["lane", "what", "start (s)", "end (s)"], *spans, *marks]


def _make_bounded_rows(series: Series) -> list[list[Any]]:
    nothing = (None,) * len(series.x)
    bounds = zip(series.low or nothing, series.high or nothing, strict=True)
    return [[series.name, x, y, *pair] for x, y, pair in zip(series.x, series.y, bounds, strict=True)]


def _name_column(column: Column) -> str:
    unit = "s" if column.unit == MOMENT else column.unit
    return f"{column.label} ({unit})" if unit else column.label


def _name_axis(axis: Axis) -> str:
    return f"{axis.label} ({axis.unit})" if axis.unit else axis.label
