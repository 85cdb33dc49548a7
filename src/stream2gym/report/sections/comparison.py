"""The section that compares the run with the previous run of the same experiment."""

from __future__ import annotations

import math

from stream2gym.figures.figure import Cell, Column, Table
from stream2gym.judge.compare import HIGHER, ComparedMetric, compare
from stream2gym.report.blocks import paragraph
from stream2gym.report.facts import Facts
from stream2gym.report.page import Part, Section

# A change that is smaller is not worth a word.
_SMALL = 0.05


def make_comparison_section(facts: Facts) -> Section | None:
    """The section. None without a previous run of the same experiment."""
    before = facts.previous
    if before is None or facts.analysis is None:
        return None
    runs = ((before.name, before.analysis, before.events), (facts.folder.name, facts.analysis, facts.events))
    found = compare([(name, analysis, [dict(event) for event in events]) for name, analysis, events in runs])
    parts: list[Part] = []
    if found.untrusted:
        words = f"The machine did not keep up all the time in {' and in '.join(found.untrusted)}, so times and rates "
        parts.append(paragraph(words + "may differ for that reason alone.", "caution"))
    columns = (Column("metric"), Column("before"), Column("now"), Column("change"), Column("which is"))
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (row.text, *row.shown, describe_change(row), describe_direction(row)) for row in found.rows
    )
    note = f"Before: {before.name}. Its experiment was the same to the letter; the seed may differ."
    parts.append(Table("comparison", "Compared with the previous run", columns, rows, note, in_order=True))
    return Section("comparison", "The previous run", tuple(parts))


def describe_change(row: ComparedMetric) -> str:
    change = row.change[0]
    if change is None or change == 0:
        return ""
    if math.isinf(change):
        return "new"
    return f"{change:+.1%}".replace("-", "−")


def describe_direction(row: ComparedMetric) -> str:
    """Whether the change is to the better or to the worse; empty for a small one."""
    change = row.change[0]
    if change is None or abs(change) < _SMALL:
        return ""
    return "better" if (change > 0) == (row.better == HIGHER) else "worse"
