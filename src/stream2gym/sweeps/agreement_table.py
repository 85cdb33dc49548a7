"""The table of agreement as text: for a terminal, and as Markdown. Pure."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from stream2gym.sweeps.agreement import OURS, AgreementJudgement
from stream2gym.sweeps.agreement_grammar import ERRORS
from stream2gym.sweeps.agreement_numbers import NOTHING
from stream2gym.sweeps.published_values import KINDS, PUBLISHED

HEADINGS = ("", "ours", "published", "tolerance", "")
_GAP = "  "
_WIDEST = 44


def list_cells(line: AgreementJudgement) -> tuple[str, str, str, str, str]:
    """The cells of a line: what is compared, both values, the tolerance, and the outcome.

    A value that nobody published says what it is instead. Errors are held against what the name of the line says.
    """
    is_marked = line.reference != PUBLISHED and line.published != NOTHING and line.what not in ERRORS
    mark = f" ({KINDS.get(line.reference, OURS)})" if is_marked else ""
    return line.name, line.ours, f"{line.published}{mark}", line.tolerance or "none claimed", line.outcome


def list_sources(lines: Sequence[AgreementJudgement]) -> list[str]:
    """Where the values come from that ours are compared with, each once."""
    return list(dict.fromkeys(source for line in lines for source in line.sources))


def show_agreement(lines: Sequence[AgreementJudgement]) -> list[str]:
    """The lines of a table for a terminal. Below a line stands why it is unknown, or differs."""
    if not lines:
        return []
    cells = [HEADINGS, *map(list_cells, lines)]
    widths = [min(_WIDEST, max(len(row[column]) for row in cells)) for column in range(len(HEADINGS))]
    shown: list[str] = []
    for number, row in enumerate(cells):
        wrapped = [textwrap.wrap(cell, width) or [""] for cell, width in zip(row, widths, strict=True)]
        for index in range(max(map(len, wrapped))):
            parts = [part[index] if index < len(part) else "" for part in wrapped]
            shown.append(
                "  " + _GAP.join(f"{part:<{width}}" for part, width in zip(parts, widths, strict=True)).rstrip()
            )
        reason = lines[number - 1].reason if number else ""
        if reason and lines[number - 1].outcome in ("unknown", "differs"):
            shown += textwrap.wrap(reason, 100, initial_indent="      ", subsequent_indent="      ")
    return shown


def write_agreement(lines: Sequence[AgreementJudgement]) -> list[str]:
    """The lines of a table in Markdown, with the reasons and notes in a column of their own."""
    head = ["| what is compared | ours | published | tolerance | agreement | remark |", "|---|---|---|---|---|---|"]
    rows = []
    for line in lines:
        remark = "; ".join(filter(None, (line.reason, line.note)))
        cells = [*list_cells(line)[:4], f"**{line.outcome}**", remark]
        rows.append(f"| {' | '.join(escape_cell(cell) for cell in cells)} |")
    return [*head, *rows]


def escape_cell(text: str) -> str:
    """Text as a cell of a table in Markdown."""
    return " ".join(text.replace("|", "\\|").replace("<", "&lt;").split())
