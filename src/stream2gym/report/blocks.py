"""The building blocks of the page: tables, tiles, notes, folded parts. Each returns a piece of HTML in which
every text from outside is escaped."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from stream2gym.figures.draw import escaped
from stream2gym.figures.export import csv_bytes, slug
from stream2gym.figures.model import Cell, Column, Figure, Table
from stream2gym.figures.numbers import MOMENT, show
from stream2gym.figures.svg import render

NARROW, MIDDLE, BROAD = 340, 520, 1040
_FOLD_AFTER = 12  # rows of a table that stand open
_MOST_ROWS = 500  # of a table in the page; its CSV has all
_MOST_EMBEDDED = 300_000  # bytes of CSV in the page; longer ones are files of the run folder only


@dataclass(frozen=True)
class Tile:
    """A key number."""

    label: str
    value: str
    detail: str = ""
    tone: str = "neutral"


def paragraph(text: str, cls: str = "") -> str:
    return f"<p{_class(cls)}>{escaped(text)}</p>"


def missing(text: str) -> str:
    """One line where a chart would have been empty."""
    return paragraph(text, "missing")


def subtitle(text: str) -> str:
    return f"<h3>{escaped(text)}</h3>"


def code(text: str) -> str:
    return f"<pre><code>{escaped(text)}</code></pre>"


def folded(summary: str, inside: str, *, open_: bool = False) -> str:
    return f"<details{' open' if open_ else ''}><summary>{escaped(summary)}</summary>{inside}</details>"


def bullets(texts: Iterable[str], cls: str = "") -> str:
    return f"<ul{_class(cls)}>{''.join(f'<li>{escaped(text)}</li>' for text in texts)}</ul>"


def pairs(rows: Iterable[tuple[str, str]]) -> str:
    """Names and values, such as versions."""
    inside = "".join(f"<div><dt>{escaped(name)}</dt><dd>{escaped(value)}</dd></div>" for name, value in rows)
    return f'<dl class="pairs">{inside}</dl>'


def tiles(entries: Iterable[Tile]) -> str:
    inside = "".join(
        f'<div class="tile {tile.tone}"><dt>{escaped(tile.label)}</dt><dd>{escaped(tile.value)}'
        + (f"<small>{escaped(tile.detail)}</small>" if tile.detail else "")
        + "</dd></div>"
        for tile in entries
    )
    return f'<dl class="tiles">{inside}</dl>'


def table_block(table: Table) -> str:
    """A table with its CSV; long ones show their start (alarms first) and fold the rest away."""
    order = list(range(len(table.rows)))
    if not table.in_order:
        order.sort(key=lambda index: index not in table.alarms)
    head, rest, left_out = order[:_FOLD_AFTER], order[_FOLD_AFTER:_MOST_ROWS], order[_MOST_ROWS:]
    if len(rest) <= 3:
        head, rest = order, []
    more = folded(f"{len(rest)} more", _grid(table, rest)) if rest else ""
    if left_out:
        more += paragraph(
            f"And {len(left_out)} more in figures/{slug(table.name)}.csv of the run folder.", "soft"
        )
    note = paragraph(table.note, "soft") if table.note else ""
    return (
        f'<div class="table" id="table-{slug(table.name)}"><div class="bar"><h3>{escaped(table.title)}</h3>'
        f"{csv_link(table)}</div>{note}{_grid(table, head)}{more}{_silence(table)}</div>"
    )


def _grid(table: Table, order: Sequence[int]) -> str:
    places = [
        place for place, column in enumerate(table.columns) if not (column.quiet and _silent(table, place))
    ]
    columns = [table.columns[place] for place in places]
    head = "".join(f'<th scope="col"{_numeric(column)}>{escaped(column.label)}</th>' for column in columns)
    body = "".join(_row(table, index, places) for index in order)
    return (
        '<div class="scroll" tabindex="0" role="region" '
        f'aria-label="{escaped(table.title)}"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _silent(table: Table, place: int) -> bool:
    return not any(row[place] for row in table.rows)


def _silence(table: Table) -> str:
    """The columns that are left out, by name: a zero is a finding too."""
    names = [
        column.label
        for place, column in enumerate(table.columns)
        if column.quiet and column.unit is not None and _silent(table, place)
    ]
    return paragraph(f"Zero everywhere: {', '.join(names)}.", "soft under") if names else ""


def _row(table: Table, index: int, places: Sequence[int]) -> str:
    cells = "".join(_cell(table.columns[place], table.rows[index][place]) for place in places)
    return f"<tr{_class('alarm' if index in table.alarms else '')}>{cells}</tr>"


def _cell(column: Column, cell: Cell) -> str:
    if column.unit is None or isinstance(cell, str):
        text = "" if cell is None else str(cell)
        return f"<td{_class('t' if len(text) < 36 else '')}>{escaped(text)}</td>"
    cls = (
        "n"
        if column.unit == MOMENT
        else "n alarm"
        if column.alarm and cell
        else "n zero"
        if cell == 0
        else "n"
    )
    return f'<td class="{cls}">{escaped(show(cell, column.unit))}</td>'


def _numeric(column: Column) -> str:
    return ' class="n"' if column.unit is not None else ""


def figure_block(figure: Figure) -> str:
    """A figure at the widths that it may be seen at, its title and its data."""
    widths = (NARROW, MIDDLE, BROAD) if figure.wide else (NARROW, MIDDLE)
    drawings = "".join(f'<div class="at{width}">{render(figure, width)}</div>' for width in widths)
    note = paragraph(figure.note, "soft") if figure.note else ""
    return (
        f'<figure class="{"wide" if figure.wide else "half"}" id="figure-{slug(figure.name)}">'
        f'<figcaption class="bar"><h3>{escaped(figure.title)}</h3>{csv_link(figure)}</figcaption>'
        f"{drawings}{note}</figure>"
    )


def csv_link(figure: Figure | Table) -> str:
    data = csv_bytes(figure)
    if len(data) > _MOST_EMBEDDED:
        return f'<span class="csv">figures/{slug(figure.name)}.csv</span>'
    href = "data:text/csv;charset=utf-8;base64," + base64.b64encode(data).decode()
    return f'<a class="csv" download="{slug(figure.name)}.csv" href="{href}">CSV</a>'


def _class(name: str) -> str:
    return f' class="{name}"' if name else ""
