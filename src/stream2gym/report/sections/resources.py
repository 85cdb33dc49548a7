"""The resources section: CPU and memory of every component, and how long each phase took."""

from __future__ import annotations

from dataclasses import replace

from stream2gym.analysis.result_tables import Analysis
from stream2gym.figures.figure import Axis, Bars, BarSeries, Chart, Column, Table
from stream2gym.figures.time_charts import CPU, MACHINE, MEMORY
from stream2gym.report.blocks import missing
from stream2gym.report.facts import Facts
from stream2gym.report.page import Part, Section
from stream2gym.report.series import make_sample_series, pick_busiest

_MACHINE_CHARTS = (
    (
        "machine-memory", "machine-use memory", "Memory of the machine", Axis("memory", "B", low=0.0),
        (("used_bytes", "used"), ("total_bytes", "there is")),
    ),
    (
        "machine-cpu", "machine-use cpu", MACHINE.title, MACHINE.y,
        (("busy", "busy"), ("steal", "taken by other machines (steal)"), ("io_wait", "waiting for a disk")),
    ),
)  # fmt: skip


def make_resources_section(facts: Facts) -> Section:
    analysis = facts.analysis
    parts: list[Part] = []
    if analysis is not None:
        for chart, metric in ((MEMORY, "memory_bytes"), (CPU, "cpu")):
            series, note = pick_busiest(make_sample_series(analysis.resource_series, metric))
            if series:
                parts.append(replace(chart, x=facts.time, series=series, bands=facts.fault_bands, note=note))
        parts += _make_machine_charts(facts, analysis)
    if facts.phase_spans:
        bars = (BarSeries("took", tuple(span.end - span.start for span in facts.phase_spans)),)
        names = tuple(span.label for span in facts.phase_spans)
        parts.append(Bars("phases", "How long each phase took", Axis("time", "s"), names, bars, False, "phase"))
    if analysis is not None and analysis.resources:
        parts.append(_make_table(analysis))
    else:
        parts.append(missing("Nobody measured the CPU and memory of components."))
    return Section("resources", "Resources", tuple(parts))


def _make_machine_charts(facts: Facts, analysis: Analysis) -> list[Part]:
    """Memory and CPUs of the whole machine, with what other programs use of it."""
    parts: list[Part] = []
    for name, obj, title, axis, metrics in _MACHINE_CHARTS:
        gauges = [point for point in analysis.gauges if point.object == obj]
        series = tuple(
            replace(one, name=label) for metric, label in metrics for one in make_sample_series(gauges, metric)
        )
        if series:
            parts.append(Chart(name, title, facts.time, axis, series, facts.fault_bands))
    return parts


def _make_table(analysis: Analysis) -> Table:
    columns = (
        Column("component"), Column("host"), Column("CPU, mean", "share"), Column("CPU, highest", "share"),
        Column("CPU time", "s"), Column("memory, mean", "B"), Column("memory, highest", "B"),
    )  # fmt: skip
    rows = tuple(
        (r.component, r.host, r.cpu_mean, r.cpu_max, r.cpu_s, r.memory_mean_bytes, r.memory_max_bytes)
        for r in analysis.resources
    )
    total = sum(row.memory_max_bytes for row in analysis.resources)
    note = f"CPU as a share of the whole machine. The highest memory of all together: at most {total / 1e6:.0f} MB."
    return Table("resources-table", "Every component", columns, rows, note)
