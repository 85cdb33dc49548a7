"""The page that holds engines against each other, in Markdown: a table for every requirement. Pure.

A requirement is a sweep with an axis ``engine``; its README says what it asks for. A column is an engine, a line is a
response at the values of the other axes. A cell has the median of the repeats, between the bounds of all of them, and
the folders of the runs behind it. An engine, or a combination, that a sweep leaves out is not offered. A requirement
that was not measured this time stays as the page had it.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from stream2gym.figures.figure import Chart
from stream2gym.figures.number_text import show
from stream2gym.sweeps.agreement_table import escape_cell
from stream2gym.sweeps.engine_figures import ENGINE, drop_lone_items, list_told_axes, make_engine_charts
from stream2gym.sweeps.response_table import ResponseRow
from stream2gym.sweeps.results_page import ResultEntry, WrittenResult, describe_origin, move_links
from stream2gym.sweeps.sweep_file import Response, SweepFile
from stream2gym.sweeps.sweep_verdict import find_unit
from stream2gym.units import Rate

NOT_OFFERED = "*not offered*"
NOT_MEASURABLE = "*not measurable here*"
NOT_RUN = "not run"
NOTHING = "–"
_LONGEST_REASON = 160


def make_engine_page(entries: Sequence[ResultEntry], *, command: str, figures: str, written: datetime) -> str:
    """The whole page. ``command`` is what writes it, ``figures`` the folder of its figures, relative to the page."""
    engines = list_engines(entries)
    lines = [
        "# Engines compared",
        "",
        f"Written by `{command}` on {written:%Y-%m-%d %H:%M}; nothing on this page is typed in by hand. Every engine "
        "gets the same input over the same links, and suffers the same faults. A cell has the median of its runs, "
        "between the bounds of all where they differ; where the machine may have shaped what was measured, they are "
        "far apart or the value is unknown. Below it are the runs behind it, which are folders in that of the sweep. "
        "[Engines](engines.md#engines-compared) says how to measure it again.",
        "",
        *make_overview(entries, engines),
    ]
    for entry in entries:
        earlier = _find_earlier(entry, engines)
        if earlier is not None:
            lines += ["", earlier.section]
            continue
        lines += ["", f"## {entry.readme.title}", "", move_links(entry.readme.intro, entry.folder), ""]
        if entry.result is None:
            lines.append(f"Not run: {entry.missing}.")
            continue
        lines += make_table(entry.result.file, entry.result.rows, engines)
        lines += [
            line
            for chart in draw_entry(entry)
            for line in ("", f"![{chart.title}]({figures}/{entry.figure_name(chart)})")
        ]
        folder = entry.result.folder.path
        lines += ["", *describe_origin(entry, entry.result), f"Its runs are in `{folder.parent.name}/{folder.name}`."]
    return "\n".join(lines) + "\n"


def draw_entry(entry: ResultEntry) -> list[Chart]:
    """The charts of one requirement."""
    return [] if entry.result is None else make_engine_charts(entry.result.file, entry.result.rows)


def list_engines(entries: Iterable[ResultEntry]) -> list[str]:
    """The engines of all sweeps: those of the sweep that names most of them first."""
    files = [entry.file if entry.result is None else entry.result.file for entry in entries]
    named = [_list_offered(file) for file in files if file is not None and ENGINE in file.axes]
    return list(dict.fromkeys(name for names in sorted(named, key=len, reverse=True) for name in names))


def _list_offered(file: SweepFile) -> list[str]:
    """The engines that offer what a sweep asks for: those that it names."""
    return [str(value) for value in file.axes[ENGINE].list_values()]


def make_overview(entries: Sequence[ResultEntry], engines: Sequence[str]) -> list[str]:
    """A line for each requirement: of every response the lowest and the highest of its cells."""
    if not engines:
        return ["Nothing was run."]
    lines = ["At a glance, of every figure the lowest and the highest of its lines:", ""]
    lines += [_name_columns(engines), f"|---{'|---' * len(engines)}|"]
    for entry in entries:
        link = f"[{entry.readme.title}](#{entry.anchor})"
        earlier = _find_earlier(entry, engines)
        if earlier is not None:
            lines.append(earlier.line)
            continue
        if entry.result is None:
            lines.append(f"| {link} | {' | '.join([NOT_RUN] * len(engines))} |")
            continue
        file, rows = entry.result.file, entry.result.rows
        offered = _list_offered(file)
        cells = [
            _summarise(file, [row for row in rows if str(row.axes[ENGINE]) == engine])
            if engine in offered
            else NOT_OFFERED
            for engine in engines
        ]
        lines.append(f"| {link} | {' | '.join(cells)} |")
    return lines


def _name_columns(engines: Sequence[str]) -> str:
    return f"| requirement | {' | '.join(map(escape_cell, engines))} |"


def _find_earlier(entry: ResultEntry, engines: Sequence[str]) -> WrittenResult | None:
    """What the page had of a requirement that was not measured this time, if it had the same engines."""
    is_kept = entry.result is None and entry.earlier is not None and entry.earlier.columns == _name_columns(engines)
    return entry.earlier if is_kept else None


def _summarise(file: SweepFile, rows: Sequence[ResponseRow]) -> str:
    if not rows:
        return NOT_RUN
    told = []
    for response in file.responses:
        own = [row for row in rows if row.response == response.label]
        values = [row.value for row in own if row.value is not None and _is_measured(row, response)]
        if values:
            ends = list(dict.fromkeys(show(value, find_unit(response)) for value in (min(values), max(values))))
            told.append(f"{response.label} {' to '.join(ends)}")
        else:
            told.append(f"{response.label} {NOTHING}")
    return escape_cell("; ".join(told))


def make_table(file: SweepFile, rows: Sequence[ResponseRow], engines: Sequence[str]) -> list[str]:
    """The table of one requirement."""
    lines = [f"| measured | {' | '.join(map(escape_cell, engines))} |", f"|---{'|---' * len(engines)}|"]
    others = [name for name in list_told_axes(file) if name != ENGINE]
    offered = _list_offered(file)
    told = drop_lone_items(rows)
    for response in file.responses:
        own = [row for row in told if row.response == response.label]
        for setting in _list_settings(own, others):
            cells = []
            for engine in engines:
                found = [row for row in own if str(row.axes.get(ENGINE)) == engine]
                found = [row for row in found if _find_setting(row, others) == setting]
                is_offered = engine in offered and not file.is_left_out({ENGINE: engine, **setting})
                cells.append(make_cell(found, response) if is_offered else NOT_OFFERED)
            title = ", ".join([response.label, *(f"{name} {value}".strip() for name, value in setting.items())])
            lines.append(f"| {escape_cell(title)} | {' | '.join(cells)} |")
    return lines


def make_cell(rows: Sequence[ResponseRow], response: Response) -> str:
    """What the runs of one engine measured."""
    if not rows:
        return NOT_RUN
    unit = find_unit(response)
    behind = f"<br>{', '.join(dict.fromkeys(row.run for row in rows))}"
    known = [row for row in rows if _is_measured(row, response)]
    if not known:
        return f"{_explain(rows)}{behind}"
    low = min(row.low for row in known if row.low is not None)
    high = max(row.high for row in known if row.high is not None)
    text = show(statistics.median(row.value for row in known if row.value is not None), unit)
    if low != high:
        text += f" ({show(low, unit)} to {show(high, unit)})"
    left = len(rows) - len(known)
    return f"{text}{f'; {left} unknown' if left else ''}{behind}"


def _is_measured(row: ResponseRow, response: Response) -> bool:
    """Whether a value says something. Of a rate in suspect time nothing is known but that no more was offered."""
    return row.is_usable if response.quantity is Rate else row.is_bounded


def _explain(rows: Sequence[ResponseRow]) -> str:
    """Why there is no value."""
    reason = next((row.reason for row in rows if row.reason), "no value")
    if all(row.state == "failed" for row in rows):
        state = "failed"
    elif any(row.state == "wide" for row in rows) or reason.startswith(NOT_MEASURABLE.strip("*")):
        state, reason = NOT_MEASURABLE, reason.removeprefix(f"{NOT_MEASURABLE.strip('*')}: ")
    else:
        state = "unknown"
    # What follows names threads and remedies; the report of the run has it.
    reason = reason.partition(" (")[0].partition("; ")[0]
    if len(reason) > _LONGEST_REASON:
        reason = f"{reason[:_LONGEST_REASON].rsplit(' ', 1)[0]} …"
    return f"{state}: {escape_cell(reason)}"


def _find_setting(row: ResponseRow, axes: Sequence[str]) -> dict[str, str]:
    """The values of the axes that are no engine, and the item of the response, if it has one."""
    item = {"": row.item} if row.item else {}
    return {name: str(row.axes[name]) for name in axes if name in row.axes} | item


def _list_settings(rows: Sequence[ResponseRow], axes: Sequence[str]) -> list[Mapping[str, Any]]:
    """The settings of these rows, each once, in the order of the points."""
    settings: list[Mapping[str, Any]] = []
    for row in sorted(rows, key=lambda one: one.point):
        setting = _find_setting(row, axes)
        if setting not in settings:
            settings.append(setting)
    return settings
