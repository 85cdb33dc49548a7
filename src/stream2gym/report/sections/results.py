"""The results section: the last messages of output topics and the last rows of tables."""

from __future__ import annotations

from stream2gym.figures.figure import Column, Table
from stream2gym.figures.figure_csv import make_slug
from stream2gym.report.blocks import paragraph
from stream2gym.report.facts import Facts
from stream2gym.report.page import Part, Section

_NOT_AT_END = "The run came to no end at which they could be read: this is what was seen last."


def make_results_section(facts: Facts) -> Section | None:
    """The section. None if nothing is known of any result."""
    if not facts.results:
        return None
    words = "A sample: what topics and tables held at the end of the run, the last first. Long texts are cut off."
    parts: list[Part] = [paragraph(words, "soft")]
    names: set[str] = set()
    for number, sample in enumerate(facts.results, 1):
        name = make_slug(f"results-{sample.title.split(' ', 3)[-1].split(', by ')[0]}")
        name = name if name not in names else f"{name}-{number}"
        names.add(name)
        columns = tuple(Column(label, quiet=label == "key") for label in sample.columns)
        note = "" if sample.at_end else _NOT_AT_END
        parts.append(Table(name, sample.title, columns, sample.rows, note, in_order=True))
    return Section("results", "Results", tuple(parts))
