"""The page of published results, in Markdown: what was computed beside what was published, with figures. Pure.

Every number on it comes from the folders of sweeps, and every explanation from the README of its sweep: the paragraph
below its heading, and the sections that ``SECTIONS`` names. A result that was not measured this time stays as the
page had it (``read_page``), so that results can be measured one by one.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from stream2gym.figures.figure import Figure
from stream2gym.figures.figure_csv import make_slug
from stream2gym.figures.number_text import show
from stream2gym.sweeps.agreement import count_agreement, count_outcomes
from stream2gym.sweeps.agreement_table import escape_cell, list_sources, write_agreement
from stream2gym.sweeps.published_values import PUBLISHED
from stream2gym.sweeps.run_figures import RunFigures
from stream2gym.sweeps.sweep_figures import make_compared_charts
from stream2gym.sweeps.sweep_file import SweepFile
from stream2gym.sweeps.sweep_results import SweepResult
from stream2gym.sweeps.sweep_verdict import describe_counts

BEFORE = ("What they did", "What we do")
AFTER = ("What agrees", "What differs, and why")
SECTIONS = (*BEFORE, *AFTER)
# What the page says of sweeps that are not whole.
COARSE = "this was a coarse pass"
INCOMPLETE = "the sweep is not complete"
_COLUMNS = "| result | agrees | differs | unknown | shown | others | expected shapes | runs |"
_OVERVIEW_LINE = re.compile(r"\| \[[^\]]+\]\(#(?P<anchor>[^)]+)\) \|")
_LINK = re.compile(r"(\]\()(?![a-z]+:|#|/)([^)\s]+)(\))")


@dataclass(frozen=True)
class Readme:
    """The parts of a README that the page shows."""

    title: str
    intro: str = ""
    sections: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class WrittenResult:
    """One result as an earlier page has it: its line in the overview, and its section from the heading on.

    ``columns`` is the first line of the overview, which names its columns.
    """

    line: str
    section: str
    columns: str = ""

    @property
    def is_whole(self) -> bool:
        """Whether all points of the sweep had run."""
        return COARSE not in self.section and INCOMPLETE not in self.section


@dataclass(frozen=True)
class ResultEntry:
    """One result of the page. Without a result, ``missing`` says why, and ``earlier`` is shown where there is one.

    ``remarks`` are what a reader must know of the sweep, such as that its experiment has changed since. ``versions``
    are those of the software that its runs used, ``took_s`` is how long all its runs took together. ``folder`` is
    where its README stands, relative to the page. ``file`` is the sweep file as it is now, ``of_runs`` the figures of
    single runs.
    """

    name: str
    readme: Readme
    result: SweepResult | None = None
    info: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    missing: str = ""
    earlier: WrittenResult | None = None
    remarks: tuple[str, ...] = ()
    folder: str = ""
    file: SweepFile | None = None
    of_runs: RunFigures = field(default_factory=RunFigures)
    took_s: float = 0.0

    @property
    def anchor(self) -> str:
        """The anchor of its section."""
        return make_anchor(self.readme.title)

    @property
    def is_less_than_earlier(self) -> bool:
        """Whether this is a coarse pass or a part of a sweep that an earlier page has as a whole."""
        if self.result is None or self.earlier is None or not self.earlier.is_whole:
            return False
        return bool(self.info.get("quick")) or self.result.state != "done"

    def figures(self) -> list[Figure]:
        """The charts of responses that a shape or a line of agreement is about, and the figures of runs."""
        if self.result is None:
            return []
        charts = make_compared_charts(self.result.file, self.result.rows, self.result.published)
        return [*charts, *self.of_runs.drawn]

    def figure_name(self, figure: Figure) -> str:
        return f"{self.name}-{make_slug(figure.name)}.svg"


def read_readme(text: str) -> Readme:
    """The title, the paragraph below it and the sections of a README."""
    head, *parts = re.split(r"^## ", text, flags=re.MULTILINE)
    title, _, intro = head.strip().removeprefix("# ").partition("\n")
    sections = {}
    for part in parts:
        name, _, body = part.partition("\n")
        sections[name.strip()] = body.strip()
    return Readme(title.strip(), intro.strip(), sections)


def read_page(text: str) -> dict[str, WrittenResult]:
    """The results that a page shows, by the anchors of their sections; those that were not run are left out."""
    head, *sections = re.split(r"^(?=## )", text, flags=re.MULTILINE)
    by_anchor = {make_anchor(section.partition("\n")[0].removeprefix("## ")): section.strip() for section in sections}
    found = {}
    columns = ""
    for line in head.splitlines():
        match = _OVERVIEW_LINE.match(line)
        if match and match["anchor"] in by_anchor and "**not run**" not in line:
            found[match["anchor"]] = WrittenResult(line, by_anchor[match["anchor"]], columns)
        elif line.startswith("| ") and not columns:
            columns = line
    return found


def make_results_page(entries: Sequence[ResultEntry], *, command: str, figures: str, written: datetime) -> str:
    """The whole page. ``figures`` is the folder of its figures, relative to the page."""
    lines = [
        "# Published results",
        "",
        f"Written by `{command}` on {written:%Y-%m-%d}; nothing on this page is typed in by hand. Both numbers of a "
        "line are computed in the same way, from our runs and from the published values. Ours have the bounds "
        "between which the truth lies. A line is *unknown* where these leave it open, or where a point is missing "
        "or the machine could not keep up; *shown* means that nothing is claimed. The table counts comparisons with "
        "published values; *others* are those with what an experiment sets, with an ideal, with documentation or "
        "with another number of ours, and numbers that stand alone.",
        "",
        *_make_overview(entries),
    ]
    for entry in entries:
        lines += ["", *_make_entry(entry, figures)]
    return "\n".join(lines).rstrip() + "\n"


def _make_overview(entries: Sequence[ResultEntry]) -> list[str]:
    """A line for each result: how many comparisons agree, differ, are unknown or only shown, and what it rests on."""
    lines = [_COLUMNS, "|---|---|---|---|---|---|---|---|"]
    for entry in entries:
        link = f"[{entry.name}](#{entry.anchor})"
        if entry.result is None and entry.earlier is not None:
            is_same = entry.earlier.columns == _COLUMNS
            lines.append(entry.earlier.line if is_same else _add_column(entry.earlier.line))
            continue
        if entry.result is None:
            lines.append(f"| {link} | – | – | – | – | – | – | **not run**: {escape_cell(entry.missing)} |")
            continue
        judged = entry.result.judged
        counts = Counter[str](line.outcome for line in judged.agreement if line.reference == PUBLISHED)
        cells = [str(counts[outcome]) for outcome in ("agrees", "differs", "unknown", "shown")]
        cells.append(count_outcomes([line for line in judged.agreement if line.reference != PUBLISHED]) or "–")
        held = sum(shape.outcome == "pass" for shape in judged.shapes)
        shapes = f"{held} of {len(judged.shapes)} hold" if judged.shapes else "none"
        runs = f"{sum((judged.counts or {}).values())}{', a coarse pass' if entry.info.get('quick') else ''}"
        lines.append(f"| {link} | {' | '.join(cells)} | {shapes} | {runs} |")
    return lines


def _add_column(line: str) -> str:
    """A line of a page by an earlier version, which counted all comparisons together."""
    cells = line.strip("| ").split(" | ")
    return f"| {' | '.join([*cells[:5], 'counted with these', *cells[5:]])} |"


def make_anchor(title: str) -> str:
    """The anchor that Markdown gives a heading."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def _make_entry(entry: ResultEntry, figures: str) -> list[str]:
    if entry.result is None and entry.earlier is not None:
        return [entry.earlier.section]
    lines = [f"## {entry.readme.title}", "", move_links(entry.readme.intro, entry.folder)]
    lines += _make_prose(entry, BEFORE)
    lines += ["", "### Result", ""]
    if entry.result is None:
        lines.append(f"Not run: {entry.missing}.")
    else:
        lines += _make_result(entry, entry.result, figures)
    lines += _make_prose(entry, AFTER)
    return lines


def _make_prose(entry: ResultEntry, names: Sequence[str]) -> list[str]:
    lines: list[str] = []
    for name in names:
        text = entry.readme.sections.get(name)
        if text:
            lines += ["", f"### {name}", "", move_links(text, entry.folder)]
    return lines


def move_links(text: str, folder: str) -> str:
    """The text with its relative links as they are from the page."""
    return _LINK.sub(
        lambda found: f"{found[1]}{posixpath.normpath(posixpath.join(folder, found[2]))}{found[3]}", text
    )


def _make_result(entry: ResultEntry, result: SweepResult, figures: str) -> list[str]:
    lines = []
    if result.judged.agreement:
        lines += [*write_agreement(result.judged.agreement), ""]
        lines += [f"{count_agreement(result.judged.agreement).capitalize()}."]
        sources = list_sources(result.judged.agreement)
        lines += [f"Sources: {'; '.join(sources)}.", ""] if sources else [""]
    if result.judged.shapes:
        lines += ["Shapes that the sweep expects:", ""]
        lines += [f"- **{one.outcome}**: `{one.text}` ({escape_cell(one.reason)})" for one in result.judged.shapes]
        lines.append("")
    for figure in entry.figures():
        if figure in entry.of_runs.drawn[:1]:
            lines += ["Of one run each, the first repeat of its point that went through:", ""]
        lines += [f"![{figure.title}]({figures}/{entry.figure_name(figure)})", ""]
    lines += [line for one in entry.of_runs.missing for line in (f"Not drawn: {one}.", "")]
    return [*lines, *describe_origin(entry, result)]


def describe_origin(entry: ResultEntry, result: SweepResult) -> list[str]:
    """Date, machine, versions and how much ran."""
    info = entry.info
    machine = info.get("machine", {})
    began = str(info.get("created", ""))
    versions = ", ".join(f"{name} {version}" for name, version in entry.versions.items())
    told = [
        f"{began[:10]}",
        f"{machine.get('cpus')} cores, {show(float(machine.get('memory_bytes', 0)), 'B')} of memory",
    ]
    told += [versions] if versions else []
    told += [describe_counts(result.judged.counts or {})]
    # Not from beginning to end: a sweep may have been interrupted, and have been resumed the next day.
    if entry.took_s:
        took = f"{entry.took_s / 60:.0f} min" if entry.took_s >= 90 else f"{entry.took_s:.0f} s"
        told.append(f"its runs took {took} in all")
    left_out = {state: count for state, count in (result.judged.left_out or {}).items() if count}
    if left_out:
        told.append("values left out of means: " + ", ".join(f"{count} {state}" for state, count in left_out.items()))
    remarks = list(entry.remarks)
    if info.get("quick"):
        remarks.append(f"{COARSE} (few values of each axis, one repeat)")
    if result.state != "done":
        remarks.append(f"{INCOMPLETE} ({result.state})")
    lines = [f"Measured {'; '.join(told)}."]
    lines += [f"**Note:** {remark}." for remark in remarks]
    return lines
