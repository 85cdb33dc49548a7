"""Puts sections together into one HTML page that opens offline. It has no scripts and fetches nothing, and its
content security policy forbids both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stream2gym.figures.figure import Figure, Table
from stream2gym.figures.markup import Markup, element, empty_element, join, trust
from stream2gym.report.blocks import exhibit_id, figure_block, table_block
from stream2gym.report.style import make_report_stylesheet

Part = Markup | Figure | Table  # a piece of HTML, or something that is drawn here

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


@dataclass(frozen=True)
class Section:
    """A part of the page with a title. Figures that follow each other share rows."""

    ident: str
    title: str
    parts: tuple[Part, ...]

    @property
    def exhibits(self) -> tuple[Figure | Table, ...]:
        """The figures and tables of the section."""
        return tuple(part for part in self.parts if not isinstance(part, Markup))


def find_ids(sections: Sequence[Section]) -> set[str]:
    """The ids of sections, figures and tables that links of the page may name."""
    found = {section.ident for section in sections}
    for section in sections:
        found |= {exhibit_id(exhibit) for exhibit in section.exhibits}
    return found


def make_page(title: str, head: Markup, sections: Sequence[Section], foot: Markup) -> Markup:
    html_head = element(
        "head",
        empty_element("meta", charset="utf-8"),
        empty_element("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        empty_element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", title),
        element("style", trust(make_report_stylesheet())),
    )
    links = (element("a", section.title, href=f"#{section.ident}") for section in sections)
    body = element(
        "body",
        element("header", head, element("nav", *links, aria_label="Sections")),
        element("main", join(map(_make_section, sections), "\n")),
        element("footer", foot),
    )
    return trust("<!DOCTYPE html>\n") + element("html", html_head, "\n", body, lang="en") + trust("\n")


def _make_section(section: Section) -> Markup:
    blocks: list[Markup] = []
    row: list[Markup] = []
    for part in section.parts:
        if not isinstance(part, Markup | Table):
            row.append(figure_block(part))
            continue
        blocks.extend(_make_row(row))
        row = []
        blocks.append(part if isinstance(part, Markup) else table_block(part))
    blocks.extend(_make_row(row))
    title_id = f"{section.ident}-h"
    title = element("h2", section.title, id=title_id)
    return element("section", title, *blocks, id=section.ident, aria_labelledby=title_id)


def _make_row(figures: list[Markup]) -> list[Markup]:
    return [element("div", *figures, class_="figures")] if figures else []
