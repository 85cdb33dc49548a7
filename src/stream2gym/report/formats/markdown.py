"""The report of a run as Markdown, for comments on a change: verdict, findings, expectations, figures, results."""

from __future__ import annotations

import re

from stream2gym.judge.compare import compare
from stream2gym.judge.verdict import Judgement
from stream2gym.report.facts import Facts
from stream2gym.report.recorded_results import ResultSample

_ICONS = {"pass": "✅", "fail": "❌", "unknown": "❔"}
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~])")
_MOST_EVIDENCE = 3
# Of the results, a comment has a few rows only.
_MOST_SAMPLES = 4
_MOST_ROWS = 3
_LONGEST_CELL = 100


def make_markdown(facts: Facts) -> str:
    """The text. What comes from the run cannot become markup."""
    verdict = facts.verdict
    outcome = verdict.outcome if verdict else "unknown"
    lines = [f"## {_ICONS[outcome]} {escape(facts.name)}: {outcome}", ""]
    lines += [escape(finding.text) for finding in facts.findings] or ["Nothing has judged this run yet."]
    lines.append("")
    if verdict and verdict.judgements:
        lines += ["| | expectation | measured |", "|---|---|---|", *map(_make_row, verdict.judgements), ""]
        lines += _list_evidence(verdict.judgements)
    if verdict:
        lines += [f"- {escape(text)}" for text in (*verdict.failures, *verdict.remarks, *verdict.warnings)]
    lines += _make_figures(facts)
    lines += _show_results(facts.results)
    lines += ["", f"Run `{facts.folder.name.replace('`', '')}`, seed {facts.info.get('seed', '?')}."]
    return "\n".join(lines) + "\n"


def escape(text: str) -> str:
    """Text in which no character has a meaning of its own in Markdown or HTML."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split())).replace("\\<", "&lt;").replace("\\>", "&gt;")


def _make_row(one: Judgement) -> str:
    measured = ": ".join(part for part in (one.shown, one.reason) if part)
    return f"| {_ICONS[one.outcome]} {one.outcome} | {escape(one.text)} | {escape(measured)} |"


def _list_evidence(judgements: tuple[Judgement, ...]) -> list[str]:
    found = []
    for one in judgements:
        if one.outcome != "pass" and one.evidence:
            found += [f"- {escape(one.text)}: {escape(text)}" for text in one.evidence[:_MOST_EVIDENCE]]
    return found


def _make_figures(facts: Facts) -> list[str]:
    """The usual figures as a table."""
    if facts.analysis is None:
        return []
    rows = compare([(facts.folder.name, facts.analysis, [dict(event) for event in facts.events])]).rows
    table = [f"| {escape(row.text)} | {escape(row.shown[0])} |" for row in rows]
    return ["", "### Figures", "", "| metric | value |", "|---|---|", *table]


def _show_results(samples: tuple[ResultSample, ...]) -> list[str]:
    """The first rows of the first results."""
    lines = []
    for sample in samples[:_MOST_SAMPLES]:
        head = [f"| {' | '.join(map(escape, sample.columns))} |", f"|{'---|' * len(sample.columns)}"]
        rows = [f"| {' | '.join(escape(_cut(cell or '')) for cell in row)} |" for row in sample.rows[:_MOST_ROWS]]
        lines += [f"{escape(sample.title)}:", "", *head, *rows, ""]
    return ["", "### Results", "", *lines] if lines else []


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_CELL else text[: _LONGEST_CELL - 1] + "…"
