"""Puts sections together into one HTML file that opens offline: no scripts, nothing fetched, and a policy that
would refuse both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stream2gym.figures.draw import escaped
from stream2gym.figures.model import Figure, Table
from stream2gym.report.blocks import figure_block, table_block
from stream2gym.report.style import report_stylesheet

Part = str | Figure | Table  # a piece of HTML, or something that is drawn here

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


@dataclass(frozen=True)
class Section:
    """A titled part of the page; figures that follow each other share rows."""

    ident: str
    title: str
    parts: tuple[Part, ...]

    @property
    def exhibits(self) -> tuple[Figure | Table, ...]:
        """What has data of its own."""
        return tuple(part for part in self.parts if not isinstance(part, str))


def page(title: str, head: str, sections: Sequence[Section], foot: str) -> str:
    links = "".join(f'<a href="#{section.ident}">{escaped(section.title)}</a>' for section in sections)
    body = "".join(_section(section) for section in sections)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escaped(title)}</title><style>{report_stylesheet()}</style></head>\n"
        f'<body><header>{head}<nav aria-label="Sections">{links}</nav></header>\n'
        f"<main>{body}</main>\n<footer>{foot}</footer></body></html>\n"
    )


def _section(section: Section) -> str:
    pieces: list[str] = []
    row: list[str] = []
    for part in section.parts:
        if not isinstance(part, str | Table):
            row.append(figure_block(part))
            continue
        pieces.extend(_row(row))
        row = []
        pieces.append(part if isinstance(part, str) else table_block(part))
    pieces.extend(_row(row))
    return (
        f'<section id="{section.ident}" aria-labelledby="{section.ident}-h">'
        f'<h2 id="{section.ident}-h">{escaped(section.title)}</h2>{"".join(pieces)}</section>\n'
    )


def _row(figures: list[str]) -> list[str]:
    return [f'<div class="figures">{"".join(figures)}</div>'] if figures else []
