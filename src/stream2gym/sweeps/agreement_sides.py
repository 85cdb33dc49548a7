"""The two sides of a line of agreement: the rows of our response that it is about, and the published series. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from stream2gym.sweeps.agreement_grammar import ITEM, WITH_UNIT, Agreement, ComparedResponse, parse_compared
from stream2gym.sweeps.axis_values import FIGURE_UNITS, NumberLine, read_number_line
from stream2gym.sweeps.published_values import PublishedTable, PublishedValue
from stream2gym.sweeps.response_table import ResponseRow
from stream2gym.sweeps.shape_judgement import Place, Series, make_series
from stream2gym.units import Quantity


class NoValue(Exception):
    """A side has no value; the text says why."""


@dataclass(frozen=True)
class AgreementInput:
    """What lines are judged by. ``rows`` has a row for every planned run, whatever came of it."""

    rows: Sequence[ResponseRow]
    table: PublishedTable
    quantities: Mapping[str, type[Quantity]]
    axes: Sequence[str]
    repeats: int = 1
    together: Callable[[str], frozenset[str]] = lambda axis: frozenset()


class ComparedSides:
    """Finds what a line compares."""

    def __init__(self, line: Agreement, given: AgreementInput) -> None:
        self._line = line
        self._given = given
        self.of: ComparedResponse = parse_compared(line.of, given.quantities, given.axes)
        self.quantity = given.quantities[self.of.response]
        # As figures call it.
        self.unit = FIGURE_UNITS.get(self.quantity, "")

    def select(self) -> list[ResponseRow]:
        """Our rows that the line is about."""
        rows = [
            row
            for row in self._given.rows
            if row.response == self.of.response
            and all(str(row.axes[name]) == value for name, value in self.of.where.items() if name != ITEM)
        ]
        wanted = self.of.where.get(ITEM)
        if wanted is not None:
            known = sorted({row.item for row in rows if row.item})
            if rows and known and wanted not in known:
                raise NoValue(f"{self.of.response} has no item {wanted!r}, but {', '.join(known[:5])}")
            rows = [row for row in rows if row.item == wanted or (row.value is None and not row.item)]
        if not rows:
            raise NoValue("no point of this pass has these values")
        return rows

    def series(self) -> Series:
        """Our one series over the axis."""
        rows = self.select()
        if self._line.what in ("rise", "spread"):
            rows = number_categories(rows, self.of.axis)
        made = make_series(rows, self.of.axis, self.unit, self._given.together(self.of.axis))
        if len(made) != 1:
            raise NoValue(f"{len(made)} series fit, not one ({', '.join(one.name for one in made[:3])})")
        return made[0]

    def complain(self, places: Sequence[Place], fewest: int = 1) -> str:
        """Why a claim cannot rest on these places; empty if it can."""
        needed = min(2, self._given.repeats)
        bad = [place for place in places if place.used < needed]
        if bad:
            what = "no usable value" if all(not place.used for place in bad) else "too few usable values"
            return f"{len(bad)} of {len(places)} points have {what}"
        if len(places) < fewest:
            return f"it rests on {len(places)} points; {fewest} are needed"
        return ""

    def published(self, name: str) -> dict[float, float]:
        """A published series by the numbers of the axis."""
        line = self._read_axis()
        return {line.read(one.x): self.read(one) for one in self._given.table.series(name) if one.x}

    def read_x(self, x: str) -> float:
        """A value of the axis as a number."""
        return self._read_axis().read(x)

    def _read_axis(self) -> NumberLine:
        line = read_number_line([row.axes[self.of.axis] for row in self._given.rows])
        assert line is not None, "the axis was checked before the sweep"
        return line

    def read(self, one: PublishedValue) -> float:
        """A published value in the base unit of the response, or as it is where no scale matters."""
        if self._line.what in WITH_UNIT or one.has_unit(self.quantity):
            return one.read_as(self.quantity)
        return one.value

    def published_series(self, name: str) -> Series:
        """The same as a series of rows, so that both sides are computed by the same functions."""
        line = self._read_axis()
        values = sorted(
            ((line.read(one.x), one) for one in self._given.table.series(name) if one.x), key=lambda pair: pair[0]
        )
        rows = []
        for x, one in values:
            axes = {self.of.axis: one.x if line.quantity is not None else x}
            y = self.read(one)
            rows.append(ResponseRow(0, 1, 0, axes, self.of.response, "", y, y, y, "measured", "", "", ""))
        return Series({}, "", tuple(rows), tuple(x for x, _ in values), line.unit, self.unit)


def number_categories(rows: Sequence[ResponseRow], axis: str) -> list[ResponseRow]:
    """The rows as they are, or with 0, 1, 2 ... in the order of the points instead of values that are no numbers."""
    values = [row.axes[axis] for row in sorted(rows, key=lambda row: row.point)]
    if read_number_line(values) is not None:
        return list(rows)
    numbers = {value: number for number, value in enumerate(dict.fromkeys(map(str, values)))}
    return [replace(row, axes={**row.axes, axis: numbers[str(row.axes[axis])]}) for row in rows]


def add_missing_runs(
    rows: Sequence[ResponseRow], planned: Sequence[tuple[int, int, dict[str, Any]]]
) -> list[ResponseRow]:
    """The rows with one more for every response of planned runs (point, repeat, values) that have none yet."""
    known = {(row.point, row.repeat) for row in rows}
    responses = list(dict.fromkeys(row.response for row in rows))
    missing = [
        ResponseRow(
            point, repeat, 0, dict(values), response, "", None, None, None, "unknown", "", "it did not run", ""
        )
        for point, repeat, values in planned
        if (point, repeat) not in known
        for response in responses
    ]
    return [*rows, *missing]
