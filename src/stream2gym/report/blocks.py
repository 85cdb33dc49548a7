"""The building blocks of the page: tables, tiles, notes, folded parts, lists of names."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from stream2gym.figures.figure import Cell, Column, Figure, Table
from stream2gym.figures.figure_csv import make_csv_bytes, make_slug
from stream2gym.figures.markup import EMPTY, Markup, element, join
from stream2gym.figures.number_text import MOMENT, show
from stream2gym.figures.svg import render

NARROW, MIDDLE, BROAD = 340, 520, 1040
_FOLD_AFTER = 12  # rows of a table that are not folded
_MOST_ROWS = 500  # of a table in the page; its CSV has all rows
_MOST_EMBEDDED = 300_000  # bytes of CSV in the page; a longer CSV is a file of the run folder only


@dataclass(frozen=True)
class Tile:
    """A key number with its label. ``tone`` is the class of its colour."""

    label: str
    value: str
    detail: str = ""
    tone: str = "neutral"


def paragraph(text: str, cls: str = "") -> Markup:
    return element("p", text, class_=cls)


def missing(text: str) -> Markup:
    """A line that stands in the place of a figure without data."""
    return paragraph(text, "missing")


def subtitle(text: str) -> Markup:
    return element("h3", text)


def code(text: str) -> Markup:
    return element("pre", element("code", text))


def folded(summary: str, inside: Markup, *, is_open: bool = False) -> Markup:
    return element("details", element("summary", summary), inside, open="open" if is_open else "")


def bullets(texts: Iterable[str], cls: str = "") -> Markup:
    return element("ul", *(element("li", text) for text in texts), class_=cls)


def pairs(rows: Iterable[tuple[str, str]]) -> Markup:
    """Names and values, such as versions."""
    entries = (element("div", element("dt", name), element("dd", value)) for name, value in rows)
    return element("dl", *entries, class_="pairs")


def tiles(entries: Iterable[Tile]) -> Markup:
    return element("dl", *map(_make_tile, entries), class_="tiles")


def _make_tile(tile: Tile) -> Markup:
    detail = element("small", tile.detail) if tile.detail else EMPTY
    return element("div", element("dt", tile.label), element("dd", tile.value, detail), class_=f"tile {tile.tone}")


def table_block(table: Table) -> Markup:
    """A table with its CSV. A long one shows its first rows, alarms before others, and folds the rest away."""
    order = list(range(len(table.rows)))
    if not table.in_order:
        order.sort(key=lambda index: index not in table.alarms)
    head, rest, left_out = order[:_FOLD_AFTER], order[_FOLD_AFTER:_MOST_ROWS], order[_MOST_ROWS:]
    if len(rest) <= 3:
        head, rest = order, []
    more = folded(f"{len(rest)} more", _make_grid(table, rest)) if rest else EMPTY
    if left_out:
        more += paragraph(
            f"And {len(left_out)} more in figures/{make_slug(table.name)}.csv of the run folder.", "soft"
        )
    note = paragraph(table.note, "soft") if table.note else EMPTY
    bar = element("div", subtitle(table.title), csv_link(table), class_="bar")
    blocks = (bar, note, _make_grid(table, head), more, _name_silent_columns(table))
    return element("div", *blocks, class_="table", id=exhibit_id(table))


def _make_grid(table: Table, order: Sequence[int]) -> Markup:
    places = [place for place, column in enumerate(table.columns) if not (column.quiet and _is_silent(table, place))]
    columns = [table.columns[place] for place in places]
    head = (element("th", column.label, scope="col", class_=_pick_class(column)) for column in columns)
    body = join(_make_row(table, index, places) for index in order)
    grid = element("table", element("thead", element("tr", *head)), element("tbody", body))
    return element("div", grid, class_="scroll", tabindex="0", role="region", aria_label=table.title)


def _is_silent(table: Table, place: int) -> bool:
    return not any(row[place] for row in table.rows)


def _name_silent_columns(table: Table) -> Markup:
    """The names of the columns that are left out because they hold zeros or no figures only."""
    zero: list[str] = []
    nothing: list[str] = []
    for place, column in enumerate(table.columns):
        if column.quiet and column.unit is not None and _is_silent(table, place):
            exists = any(row[place] is not None for row in table.rows)
            (zero if exists else nothing).append(column.label)
    words = [f"Zero everywhere: {', '.join(zero)}."] if zero else []
    words += [f"No figure: {', '.join(nothing)}."] if nothing else []
    return paragraph(" ".join(words), "soft under") if words else EMPTY


def _make_row(table: Table, index: int, places: Sequence[int]) -> Markup:
    cells = (_make_cell(table.columns[place], table.rows[index][place]) for place in places)
    return element("tr", *cells, class_="alarm" if index in table.alarms else "")


def _make_cell(column: Column, cell: Cell) -> Markup:
    if column.unit is None or isinstance(cell, str):
        text = "" if cell is None else str(cell)
        return element("td", text, class_="t" if len(text) < 36 else "long")
    cls = "n" if column.unit == MOMENT else "n alarm" if column.alarm and cell else "n zero" if cell == 0 else "n"
    return element("td", show(cell, column.unit), class_=cls)


def _pick_class(column: Column) -> str:
    return "n" if column.unit is not None else ""


def exhibit_id(exhibit: Figure | Table) -> str:
    """The id of a figure or a table in the page."""
    return f"{'table' if isinstance(exhibit, Table) else 'figure'}-{make_slug(exhibit.name)}"


def figure_block(figure: Figure) -> Markup:
    """A figure with its title and its data, drawn once for each width of the page."""
    widths = (NARROW, MIDDLE, BROAD) if figure.wide else (NARROW, MIDDLE)
    drawings = (element("div", render(figure, width), class_=f"at{width}") for width in widths)
    note = paragraph(figure.note, "soft") if figure.note else EMPTY
    caption = element("figcaption", subtitle(figure.title), csv_link(figure), class_="bar")
    cls = "wide" if figure.wide else "half"
    return element("figure", caption, *drawings, note, class_=cls, id=exhibit_id(figure))


def csv_link(figure: Figure | Table) -> Markup:
    data = make_csv_bytes(figure)
    if len(data) > _MOST_EMBEDDED:
        return element("span", f"figures/{make_slug(figure.name)}.csv", class_="csv")
    href = "data:text/csv;charset=utf-8;base64," + base64.b64encode(data).decode()
    return element("a", "CSV", class_="csv", download=f"{make_slug(figure.name)}.csv", href=href)


def join_names(names: Sequence[str], most: int = 5) -> str:
    """Names with commas between them. Of many names the first ones are listed and the others counted."""
    if len(names) <= most:
        return ", ".join(names)
    return f"{', '.join(names[:most])} and {len(names) - most} more"
