"""Writes ``report.html`` of a run, and each figure's data and drawing into ``figures/``."""

from __future__ import annotations

import os
from pathlib import Path

from stream2gym import __version__
from stream2gym.analysis.tables import Analysis
from stream2gym.figures.draw import escaped
from stream2gym.figures.export import csv_bytes, slug
from stream2gym.figures.model import Table
from stream2gym.figures.svg import render_file
from stream2gym.judge.verdict import Verdict
from stream2gym.report.facts import Facts, gather
from stream2gym.report.page import Section, page
from stream2gym.report.sections.again import again
from stream2gym.report.sections.cluster import cluster
from stream2gym.report.sections.delivery import delivery
from stream2gym.report.sections.expectations import expectations
from stream2gym.report.sections.faults import faults
from stream2gym.report.sections.fidelity import fidelity
from stream2gym.report.sections.flow import flow
from stream2gym.report.sections.head import head, outcome
from stream2gym.report.sections.latency import latency
from stream2gym.report.sections.links import links
from stream2gym.report.sections.network import network
from stream2gym.report.sections.numbers import numbers
from stream2gym.report.sections.others import others
from stream2gym.report.sections.resources import resources
from stream2gym.report.sections.timeline import timeline

SECTIONS = (
    expectations, numbers, network, timeline, faults, flow, latency, delivery, links, cluster, resources, others,
    fidelity, again,
)  # fmt: skip


def write_report(
    folder: Path,
    analysis: Analysis | None = None,
    verdict: Verdict | None = None,
    out: Path | None = None,
) -> Path:
    """Write the report of a run folder and return its path; what is not given is read from the folder."""
    facts = gather(folder, analysis, verdict)
    sections = make_sections(facts)
    _write_figures(folder / "figures", sections)
    target = out or folder / "report.html"
    _replace(target, report_page(facts, sections).encode("utf-8", "replace"))
    return target


def make_sections(facts: Facts) -> list[Section]:
    return [section for make in SECTIONS if (section := make(facts)) is not None]


def report_page(facts: Facts, sections: list[Section]) -> str:
    foot = (
        f"<p>Written by stream2gym {escaped(__version__)}. The data and the drawing of every figure also lie in the "
        "run folder, in <code>figures/</code>.</p>"
    )
    return page(f"{facts.name}: {outcome(facts)}", head(facts), sections, foot)


def _write_figures(folder: Path, sections: list[Section]) -> None:
    folder.mkdir(exist_ok=True)
    for section in sections:
        for exhibit in section.exhibits:
            _replace(folder / f"{slug(exhibit.name)}.csv", csv_bytes(exhibit))
            if not isinstance(exhibit, Table):
                drawing = render_file(exhibit)
                _replace(folder / f"{slug(exhibit.name)}.svg", drawing.encode("utf-8", "replace"))


def _replace(target: Path, data: bytes) -> None:
    """Readers see the old file or the new one, never a part."""
    unfinished = target.with_name(f".{target.name}.{os.getpid()}.new")
    try:
        unfinished.write_bytes(data)
        os.replace(unfinished, target)
    except OSError:
        unfinished.unlink(missing_ok=True)
        raise
