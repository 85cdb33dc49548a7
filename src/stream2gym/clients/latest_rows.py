"""The last rows of the tables of a store, for people who look at a run: a few rows, and only the beginnings of cells.

One table is ``{"table", "by", "columns", "rows"}``, its last row first. ``by`` names the columns whose order that is;
it is empty where rows have the order in which the store keeps them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from stream2gym.clients.store_tables import OFFSETS, Row, quoted

MOST_TABLES = 10
MOST_ROWS = 8
MOST_COLUMNS = 12
LONGEST_CELL = 200
# To find the last rows of a table without a key, the server reads all rows: of a longer table none are shown.
MOST_READ = 100_000

LatestTable = dict[str, Any]
_COLUMNS = "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = DATABASE() "
_KEYS = (
    "SELECT table_name, column_name FROM information_schema.key_column_usage "
    "WHERE table_schema = DATABASE() AND constraint_name = 'PRIMARY' "
)
_ORDER = "ORDER BY table_name, ordinal_position"


def read_latest_of_mysql(run: Callable[[str], Any], counts: Mapping[str, int]) -> list[LatestTable]:
    """The last rows of tables with so many rows. ``run`` runs one statement and returns its rows."""
    columns = _group(run(_COLUMNS + _ORDER))
    keys = _group(run(_KEYS + _ORDER))
    found = []
    for table, count in list(counts.items())[:MOST_TABLES]:
        names = columns.get(table, [])[:MOST_COLUMNS]
        key = keys.get(table, [])
        if not names or not count or (not key and count > MOST_READ):
            continue
        # The server cuts the cells: one may hold megabytes.
        cells = ", ".join(f"LEFT({quoted(name)}, {LONGEST_CELL + 1})" for name in names)
        if key:
            which = f"ORDER BY {', '.join(f'{quoted(name)} DESC' for name in key)} LIMIT {MOST_ROWS}"
        else:
            which = f"LIMIT {MOST_ROWS} OFFSET {max(0, count - MOST_ROWS)}"
        rows = [[show_cell(cell) for cell in row] for row in run(f"SELECT {cells} FROM {quoted(table)} {which}")]
        found.append({"table": table, "by": ", ".join(key), "columns": names, "rows": rows if key else rows[::-1]})
    return found


def _group(rows: Iterable[tuple[Any, Any]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for table, column in rows:
        found.setdefault(str(table), []).append(str(column))
    return found


def read_latest_of_mongo(database: Any, collections: Iterable[str]) -> list[LatestTable]:
    """The last documents of collections, in the order in which the server keeps them."""
    found = []
    for name in sorted(collections)[:MOST_TABLES]:
        documents = list(database[name].find().sort("$natural", -1).limit(MOST_ROWS))
        if documents:
            found.append(make_latest_table(name, documents))
    return found


def pick_latest(table: str, rows: Iterable[Row], by: str = "") -> LatestTable | None:
    """The last of all rows of a table; None if there are none."""
    last = deque(rows, MOST_ROWS)
    return make_latest_table(table, list(last)[::-1], by) if last else None


def make_latest_table(table: str, rows: list[Row], by: str = "") -> LatestTable:
    """These rows as a table. A row may lack columns that others have."""
    names = list(dict.fromkeys(name for row in rows for name in row))[:MOST_COLUMNS]
    cells = [[show_cell(row.get(name)) for name in names] for row in rows]
    return {"table": table, "by": by, "columns": names, "rows": cells}


def is_shown(table: str) -> bool:
    """Whether a table is of the experiment: the offsets of sinks are ours."""
    return table != OFFSETS


def show_cell(value: Any) -> str | None:
    """A value as text that is no longer than a cell may be; None stays None."""
    if value is None:
        return None
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    return text if len(text) <= LONGEST_CELL else text[: LONGEST_CELL - 1] + "…"
