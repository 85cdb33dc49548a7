"""Values that others published, from a CSV file beside a sweep file: ``series,x,value,unit,source``.

A row with an ``x`` is a value of a series over an axis, at that value of the axis as the sweep file writes it. A row
without one is a single value. ``source`` says where the value was published. A unit is one that the response takes
which it is compared with, or a share of a quantity: ``% of 16 GiB``. A further column ``kind`` tells published values
from those that nobody measured: what the experiment sets, an ideal, or what documentation promises.
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
KIND = "kind"
# The kinds of values, and what tables and figures call them.
KINDS = {"published": "published", "setting": "set", "ideal": "ideal", "documentation": "documented"}
PUBLISHED = "published"
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
    kind: str = PUBLISHED

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

    def find_kind(self, name: str) -> str:
        """The kind of a series; all its values have the same."""
        return next((value.kind for value in self.series(name)), PUBLISHED)


def read_published(path: Path, shown: str) -> PublishedTable:
    """Read and check a file of published values. BadInput lists every mistake with its line."""
    text = decode(read_bytes(path, YAML_LIMIT, shown), shown)
    reader = csv.reader(io.StringIO(text))
    header = next(reader, [])
    if tuple(header) not in (COLUMNS, (*COLUMNS, KIND)):
        what = f"its columns are {', '.join(header) or 'missing'}"
        hint = f"the first line is {','.join(COLUMNS)}, and {KIND} after it where not all values are published"
        raise BadInput(Mistake("", what, hint, shown, 1))
    values: list[PublishedValue] = []
    mistakes: list[Mistake] = []
    for row in reader:
        if row:
            try:
                values.append(_read_row(row, header, reader.line_num, values))
            except ValueError as error:
                what, _, hint = str(error).partition("; ")
                mistakes.append(Mistake("", what, hint, shown, reader.line_num))
    if not values and not mistakes:
        mistakes.append(Mistake("", "it has no values", "one line a value", shown))
    if mistakes:
        raise BadInput(mistakes)
    return PublishedTable(tuple(values))


def _read_row(
    row: Sequence[str], header: Sequence[str], line: int, before: Sequence[PublishedValue]
) -> PublishedValue:
    """One line of the file. A ValueError says what is wrong and, after "; ", what would be right."""
    if len(row) != len(header):
        raise ValueError(f"has {len(row)} columns; {', '.join(header)}; quotes protect commas")
    series, x, value, unit, source, kind = (*(cell.strip() for cell in row), PUBLISHED)[: len(COLUMNS) + 1]
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
    if kind not in KINDS:
        raise ValueError(f"there is no kind {kind!r}; {', '.join(KINDS)}")
    if any(one.series == series and one.kind != kind for one in before):
        raise ValueError(f"{series!r} has values of another kind; a series has one kind")
    return PublishedValue(series, x, number, unit, source, line, kind)
