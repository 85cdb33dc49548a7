"""The page that holds engines against each other, in Markdown: a table for every requirement. Pure.

A requirement is a sweep with an axis ``engine``; its README says what it asks for. A column is an engine, a line is a
response at the values of the other axes. A cell has the median of the repeats, between the bounds of all of them, and
the folders of the runs behind it. An engine that a sweep does not name does not offer what it asks for.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from datetime import datetime

from stream2gym.figures.number_text import show
from stream2gym.sweeps.agreement_table import escape_cell
from stream2gym.sweeps.response_table import ResponseRow
from stream2gym.sweeps.results_page import ResultEntry, describe_origin
from stream2gym.sweeps.sweep_file import Response
from stream2gym.sweeps.sweep_verdict import find_unit

ENGINE = "engine"
NOT_OFFERED = "*not offered*"


def make_engine_page(entries: Sequence[ResultEntry], *, command: str, written: datetime) -> str:
    """The whole page. ``command`` is what writes it."""
    lines = [
        "# Engines compared",
        "",
        f"Written by `{command}` on {written:%Y-%m-%d %H:%M}. Every engine gets the same input over the same links, "
        "and suffers the same faults. A cell has the median of its runs, between the bounds of all; where the "
        "machine may have shaped what was measured, the bounds are wide or the value is unknown. Below it are the "
        "runs behind it, in the folder of the sweep.",
    ]
    engines = list_engines(entries)
    for entry in entries:
        lines += ["", f"## {entry.readme.title}", "", entry.readme.intro, ""]
        if entry.result is None:
            lines.append(f"Not run: {entry.missing}.")
        else:
            lines += make_table(entry.result.file.responses, entry.result.rows, engines)
            lines += ["", *describe_origin(entry, entry.result)]
    return "\n".join(lines) + "\n"


def list_engines(entries: Iterable[ResultEntry]) -> list[str]:
    """The engines of all sweeps, in the order in which they are named first."""
    names = [
        str(value)
        for entry in entries
        if entry.result is not None and ENGINE in entry.result.file.axes
        for value in entry.result.file.axes[ENGINE].list_values()
    ]
    return list(dict.fromkeys(names))


def make_table(responses: Iterable[Response], rows: Sequence[ResponseRow], engines: Sequence[str]) -> list[str]:
    """The table of one requirement."""
    lines = [f"| measured | {' | '.join(map(escape_cell, engines))} |", f"|---{'|---' * len(engines)}|"]
    offered = {str(row.axes.get(ENGINE)) for row in rows}
    for response in responses:
        own = [row for row in rows if row.response == response.label]
        for setting in dict.fromkeys(map(_describe_setting, own)):
            cells = []
            for engine in engines:
                found = [row for row in own if str(row.axes.get(ENGINE)) == engine]
                found = [row for row in found if _describe_setting(row) == setting]
                cells.append(make_cell(found, find_unit(response)) if engine in offered else NOT_OFFERED)
            title = f"{response.label}{', ' if setting else ''}{setting}"
            lines.append(f"| {escape_cell(title)} | {' | '.join(cells)} |")
    return lines


def make_cell(rows: Sequence[ResponseRow], unit: str) -> str:
    """What the runs of one engine measured."""
    if not rows:
        return "not run"
    behind = f"<br>{', '.join(dict.fromkeys(row.run for row in rows))}"
    values = [row.value for row in rows if row.is_bounded and row.value is not None]
    if not values:
        reason = next((row.reason for row in rows if row.reason), "no value")
        state = "failed" if all(row.state == "failed" for row in rows) else "unknown"
        return f"{state}: {escape_cell(reason)}{behind}"
    low = min(row.low for row in rows if row.is_bounded and row.low is not None)
    high = max(row.high for row in rows if row.is_bounded and row.high is not None)
    text = show(statistics.median(values), unit)
    if low != high:
        text += f" ({show(low, unit)} to {show(high, unit)})"
    left = len(rows) - len(values)
    return f"{text}{f'; {left} unknown' if left else ''}{behind}"


def _describe_setting(row: ResponseRow) -> str:
    """The values of the axes that are no engine, and the item of the response."""
    others = [f"{name} {value}" for name, value in row.axes.items() if name not in (ENGINE, "program")]
    return ", ".join([*others, *([row.item] if row.item else [])])
