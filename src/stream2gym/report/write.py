"""Writes ``report.html`` of a run, and each figure's data and drawing into ``figures/``."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from stream2gym.analysis.result_tables import Analysis
from stream2gym.figures.figure import Figure, Table
from stream2gym.figures.figure_csv import make_csv_bytes, make_slug
from stream2gym.figures.markup import Markup, element
from stream2gym.figures.svg import render_file
from stream2gym.judge.verdict import Verdict
from stream2gym.report.facts import Facts, read_facts
from stream2gym.report.page import Section, find_ids, make_page
from stream2gym.report.sections.comparison import make_comparison_section
from stream2gym.report.sections.delivery import make_delivery_section
from stream2gym.report.sections.expectations import make_expectations_section
from stream2gym.report.sections.faults import make_faults_section
from stream2gym.report.sections.fidelity import make_fidelity_section
from stream2gym.report.sections.head import find_outcome, make_head
from stream2gym.report.sections.kafka_streams import make_kafka_streams_section
from stream2gym.report.sections.key_numbers import make_key_numbers_section
from stream2gym.report.sections.latency import make_latency_section
from stream2gym.report.sections.leadership import make_leadership_section
from stream2gym.report.sections.links import make_links_section
from stream2gym.report.sections.network import make_network_section
from stream2gym.report.sections.other_measurements import make_other_measurements_section
from stream2gym.report.sections.reproduction import make_reproduction_section
from stream2gym.report.sections.resources import make_resources_section
from stream2gym.report.sections.results import make_results_section
from stream2gym.report.sections.spark import make_spark_section
from stream2gym.report.sections.throughput import make_throughput_section
from stream2gym.report.sections.timeline import make_timeline_section
from stream2gym.version import __version__

SECTIONS = (
    make_expectations_section,
    make_key_numbers_section,
    make_network_section,
    make_timeline_section,
    make_faults_section,
    make_throughput_section,
    make_latency_section,
    make_delivery_section,
    make_results_section,
    make_links_section,
    make_leadership_section,
    make_spark_section,
    make_kafka_streams_section,
    make_resources_section,
    make_other_measurements_section,
    make_fidelity_section,
    make_comparison_section,
    make_reproduction_section,
)


# The figures of the sections, by name. Which of them a report has depends on its run.
FIGURES = (
    "timeline", "faults-debt",
    "throughput", "throughput-bytes", "throughput-topics", "throughput-producers", "throughput-consumers",
    "latency-time", "latency-percentiles", "latency-topics", "delivery-matrix",
    "access-ports", "port-throughput", "port-drops", "port-queues", "port-bars",
    "leadership", "leaders", "under-replicated", "lag",
    "spark-rates", "spark-batches", "spark-state", "spark-watermark",
    "streams-rows", "streams-partitions", "streams-lag", "streams-state",
    "memory", "cpu", "machine-memory", "machine-cpu", "phases", "machine", "lateness",
)  # fmt: skip
# What figures of other measurements begin with; their names depend on the run.
OTHER_FIGURE = "gauge-"


def write_report(
    folder: Path,
    analysis: Analysis | None = None,
    verdict: Verdict | None = None,
    out: Path | None = None,
) -> Path:
    """Write the report of a run folder and return its path. What is not given is read from the folder."""
    facts = read_facts(folder, analysis, verdict)
    sections = make_sections(facts)
    _write_figures(folder / "figures", sections)
    target = out or folder / "report.html"
    _replace(target, make_report_page(facts, sections).source.encode("utf-8", "replace"))
    return target


def make_sections(facts: Facts) -> list[Section]:
    return [section for make in SECTIONS if (section := make(facts)) is not None]


def make_figures(facts: Facts) -> dict[str, Figure]:
    """The figures of a report, by name."""
    exhibits = (exhibit for section in make_sections(facts) for exhibit in section.exhibits)
    return {make_slug(one.name): one for one in exhibits if not isinstance(one, Table)}


def pick_figure(figures: Iterable[str], name: str) -> str | None:
    """The name of the figure that a user means: this one, or the first one that begins so."""
    known = list(figures)
    return name if name in known else next((one for one in known if one.startswith(f"{name}-")), None)


def make_report_page(facts: Facts, sections: list[Section]) -> Markup:
    foot = element(
        "p",
        f"Written by stream2gym {__version__}. ",
        "The data and the drawing of every figure also lie in the run folder, in ",
        element("code", "figures/"),
        ".",
    )
    return make_page(f"{facts.name}: {find_outcome(facts)}", make_head(facts, find_ids(sections)), sections, foot)


def _write_figures(folder: Path, sections: list[Section]) -> None:
    folder.mkdir(exist_ok=True)
    for section in sections:
        for exhibit in section.exhibits:
            _replace(folder / f"{make_slug(exhibit.name)}.csv", make_csv_bytes(exhibit))
            if not isinstance(exhibit, Table):
                drawing = render_file(exhibit)
                _replace(folder / f"{make_slug(exhibit.name)}.svg", drawing.encode("utf-8", "replace"))


def _replace(target: Path, data: bytes) -> None:
    """Replace a file in one step, so that readers see the old one or the new one, never a part."""
    unfinished = target.with_name(f".{target.name}.{os.getpid()}.new")
    try:
        unfinished.write_bytes(data)
        os.replace(unfinished, target)
    except OSError:
        unfinished.unlink(missing_ok=True)
        raise
