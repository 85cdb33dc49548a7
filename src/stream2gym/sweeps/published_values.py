"""Values that others published, from a CSV file beside a sweep file: ``series,x,value,unit,source``.

A row with an ``x`` is a value of a series over an axis, at that value of the axis as the sweep file writes it. A row
without one is a single value. ``source`` says where the value was published. A unit is one that the response takes
which it is compared with, or a share of a quantity: ``% of 16 GiB``.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from stream2gym.errors import BadInput, Mistake
from stream2gym.jsonable import Jsonable
from stream2gym.spec.readers.user_files import YAML_LIMIT, decode, read_bytes
from stream2gym.units import Quantity, UnitError

COLUMNS = ("series", "x", "value", "unit", "source")
_SHARE_OF = "% of "


@dataclass(frozen=True)
class PublishedValue(Jsonable):
    """One value as it was published. ``x`` is empty for a single value; ``line`` is its place in the file."""

    series: str
    x: str
    value: float
    unit: str
    source: str
    line: int = 0

    def read_as(self, quantity: type[Quantity]) -> float:
        """The value in the base unit of a quantity. UnitError: it is no such quantity."""
        if self.unit.startswith(_SHARE_OF):
            return self.value / 100 * float(quantity.parse(self.unit.removeprefix(_SHARE_OF)))
        return float(quantity.parse(f"{self.value!r} {self.unit}".strip()))

    def has_unit(self, quantity: type[Quantity]) -> bool:
        try:
            self.read_as(quantity)
        except UnitError:
            return False
        return True


@dataclass(frozen=True)
class PublishedTable(Jsonable):
    """All values of a file, in its order."""

    values: tuple[PublishedValue, ...] = ()

    def names(self) -> list[str]:
        return list(dict.fromkeys(value.series for value in self.values))

    def series(self, name: str) -> list[PublishedValue]:
        return [value for value in self.values if value.series == name]

    def sources(self) -> list[str]:
        return list(dict.fromkeys(value.source for value in self.values))


def read_published(path: Path, shown: str) -> PublishedTable:
    """Read and check a file of published values. BadInput lists every mistake with its line."""
    text = decode(read_bytes(path, YAML_LIMIT, shown), shown)
    reader = csv.reader(io.StringIO(text))
    header = next(reader, [])
    if tuple(header) != COLUMNS:
        what = f"its columns are {', '.join(header) or 'missing'}"
        raise BadInput(Mistake("", what, f"the first line is {','.join(COLUMNS)}", shown, 1))
    values: list[PublishedValue] = []
    mistakes: list[Mistake] = []
    for row in reader:
        if row:
            try:
                values.append(_read_row(row, reader.line_num, values))
            except ValueError as error:
                what, _, hint = str(error).partition("; ")
                mistakes.append(Mistake("", what, hint, shown, reader.line_num))
    if not values and not mistakes:
        mistakes.append(Mistake("", "it has no values", "one line a value", shown))
    if mistakes:
        raise BadInput(mistakes)
    return PublishedTable(tuple(values))


def _read_row(row: Sequence[str], line: int, before: Sequence[PublishedValue]) -> PublishedValue:
    """One line of the file. A ValueError says what is wrong and, after "; ", what would be right."""
    if len(row) != len(COLUMNS):
        raise ValueError(f"has {len(row)} columns; {', '.join(COLUMNS)}; quotes protect commas")
    series, x, value, unit, source = (cell.strip() for cell in row)
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"{value!r} is not a number; the unit has a column of its own")
    if not series or not source:
        raise ValueError(f"it has no {'source' if series else 'series'}; every value has a series and a source")
    if any((one.series, one.x) == (series, x) for one in before):
        raise ValueError(f"{series!r} has {f'a value at {x}' if x else 'a single value'} already; keep one")
    return PublishedValue(series, x, number, unit, source, line)
