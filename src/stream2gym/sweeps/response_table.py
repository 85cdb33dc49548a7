"""The table of responses: a row for every run and response, as plain rows, as an Arrow table, as Parquet and CSV.

``state`` says what a value is worth: *measured*; *wide* where its bounds are too far apart for a fit; *unknown* where
there is no finite value; *failed* where the run did not go through. Fits use *measured* values only.
"""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from stream2gym.jsonable import Jsonable
from stream2gym.sweeps.axis_values import NumberLine, read_number_line
from stream2gym.sweeps.point import MeasuredResponse, PointResult
from stream2gym.sweeps.sweep_file import FIRST_COLUMNS, LAST_COLUMNS
from stream2gym.sweeps.sweep_plan import PlannedPointRun

ValueState = Literal["measured", "wide", "unknown", "failed"]


@dataclass(frozen=True)
class ResponseRow(Jsonable):
    """One response of one run. ``axes`` has the values as they are written in the sweep file."""

    point: int
    repeat: int
    seed: int
    axes: dict[str, Any]
    response: str
    item: str
    value: float | None
    low: float | None
    high: float | None
    state: str
    verdict: str
    reason: str
    run: str

    @property
    def is_usable(self) -> bool:
        """Whether the value may be part of a mean that is shown, and of a fit."""
        return self.state == "measured"

    @property
    def is_bounded(self) -> bool:
        """Whether the truth is known to lie between two finite numbers, however far apart."""
        bounds = (self.value, self.low, self.high)
        return self.state in ("measured", "wide") and all(one is not None and math.isfinite(one) for one in bounds)


def make_rows(
    run: PlannedPointRun, folder: str, result: PointResult, responses: Sequence[str], widest: float
) -> list[ResponseRow]:
    """The rows of one run: every response has one at least, whatever came of the run.

    ``widest`` is explained at ``judge_value``.
    """
    measured = {name: [row for row in result.measured if row.response == name] for name in responses}
    return [
        _make_row(run, folder, result, one, judge_value(one, widest))
        for name in responses
        for one in measured[name] or [MeasuredResponse(name)]
    ]


def _make_row(
    run: PlannedPointRun, folder: str, result: PointResult, one: MeasuredResponse, state: ValueState
) -> ResponseRow:
    reason = one.reason
    if result.state != "done":
        state, reason = "failed", result.error or result.summary or f"the run {result.state}"
    elif state != "measured" and not reason:
        reason = "its bounds are far apart" if state == "wide" else "it has no finite value"
    value, low, high = one.value, one.low, one.high
    if value is not None and math.isnan(value):
        value = low = high = None
    return ResponseRow(
        point=run.point,
        repeat=run.repeat,
        seed=run.seed,
        axes=dict(run.values),
        response=one.response,
        item=one.item,
        value=value,
        low=low,
        high=high,
        state=state,
        verdict=result.verdict,
        reason=reason,
        run=folder,
    )


def judge_value(one: MeasuredResponse, widest: float) -> ValueState:
    """What a value is worth. ``widest``: the largest distance of its bounds, as a share of the value."""
    if one.value is None or one.low is None or one.high is None:
        return "unknown"
    if not all(map(math.isfinite, (one.value, one.low, one.high))):
        return "unknown" if not math.isfinite(one.value) else "wide"
    return "measured" if one.high - one.low <= widest * abs(one.value) else "wide"


def fill_missing_items(rows: Sequence[ResponseRow]) -> list[ResponseRow]:
    """Rows without an item (their run gave no value) as one row for each item that other runs have.

    So a link that one run did not measure is missing from its own series, too.
    """
    items: dict[str, list[str]] = {}
    for row in rows:
        if row.value is not None:
            known = items.setdefault(row.response, [])
            if row.item not in known:
                known.append(row.item)
    filled: list[ResponseRow] = []
    seen = {(row.point, row.repeat, row.response, row.item) for row in rows if row.value is not None}
    told: set[tuple[int, int, str]] = set()
    for row in rows:
        wanted = items.get(row.response, [""])
        if row.value is not None:
            filled.append(row)
        elif wanted == [""]:
            filled.append(row)
            continue
        if (row.point, row.repeat, row.response) in told:
            continue
        told.add((row.point, row.repeat, row.response))
        for item in wanted:
            if (row.point, row.repeat, row.response, item) not in seen:
                state = row.state if row.value is None else "unknown"
                why = row.reason if row.value is None else "this run has no value of it"
                filled.append(replace(row, item=item, value=None, low=None, high=None, state=state, reason=why))
    return filled


def make_arrow_table(rows: Sequence[ResponseRow], axes: Sequence[str]) -> Any:
    """The rows as a pyarrow table. An axis of numbers or quantities also has a column of numbers in base units."""
    import pyarrow as pa

    columns: dict[str, Any] = {
        name: pa.array([getattr(row, name) for row in rows], pa.int64()) for name in FIRST_COLUMNS
    }
    for name in axes:
        given = [row.axes.get(name) for row in rows]
        columns[name] = pa.array([None if value is None else str(value) for value in given], pa.string())
        line = read_number_line(given) if given else None
        if line is not None:
            columns[name_number_column(name, line)] = pa.array(line.numbers, pa.float64())
    for name in LAST_COLUMNS:
        kind = pa.float64() if name in ("value", "low", "high") else pa.string()
        columns[name] = pa.array([getattr(row, name) for row in rows], kind)
    return pa.table(columns)


def name_number_column(axis: str, line: NumberLine) -> str:
    """The name of the column with the numbers of an axis: ``delay (s)``."""
    return f"{axis} ({line.unit or 'number'})"


def write_table(folder: Path, rows: Sequence[ResponseRow], axes: Sequence[str]) -> None:
    """Write ``responses.parquet`` and ``responses.csv``. Each is replaced in one step."""
    import pyarrow.parquet as pq

    table = make_arrow_table(rows, axes)
    unfinished = folder / ".responses.new"
    pq.write_table(table, unfinished)
    os.replace(unfinished, folder / "responses.parquet")
    with unfinished.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(table.column_names)
        for row in table.to_pylist():
            writer.writerow(["" if value is None else value for value in row.values()])
    os.replace(unfinished, folder / "responses.csv")
