"""The throughput section: messages and bytes over time."""

from __future__ import annotations

from dataclasses import replace

from stream2gym.analysis.result_tables import Analysis, FlowPoint
from stream2gym.figures.figure import Axis, Chart, Series
from stream2gym.figures.time_charts import THROUGHPUT
from stream2gym.report.blocks import missing
from stream2gym.report.facts import Facts
from stream2gym.report.page import Part, Section
from stream2gym.report.series import make_rate_series, pick_busiest

_MESSAGES = THROUGHPUT.y
_ORDER = ("sent", "acknowledged", "received")


def make_throughput_section(facts: Facts) -> Section:
    analysis = facts.analysis
    if analysis is None or not analysis.flow:
        return Section("throughput", "Throughput", (missing("No message was sent or received."),))
    whole = _make_chart(facts, THROUGHPUT.name, THROUGHPUT.title, _MESSAGES, _make_series_by_kind(analysis))
    parts: list[Part] = [replace(whole, marks=facts.death_marks, wide=True)]
    parts.append(
        _make_chart(
            facts, "throughput-bytes", "Payload", Axis("payload a second", "B/s"), _make_byte_series(analysis)
        )
    )
    for name, title, kind, key in (
        ("throughput-topics", "Acknowledged, by topic", "acknowledged", "topic"),
        ("throughput-producers", "Acknowledged, by producer", "acknowledged", "client"),
        ("throughput-consumers", "Received, by consumer", "received", "client"),
    ):
        series = _make_series_by(analysis, kind, key)
        if len(series) > 1:
            parts.append(_make_chart(facts, name, title, _MESSAGES, series))
    return Section("throughput", "Throughput", tuple(parts))


def _make_chart(facts: Facts, name: str, title: str, axis: Axis, series: list[Series]) -> Chart:
    shown, note = pick_busiest(series)
    return Chart(name, title, facts.time, axis, shown, facts.fault_bands, note=note)


def _make_series_by_kind(analysis: Analysis) -> list[Series]:
    series = make_rate_series(analysis.flow, lambda p: p.kind, lambda p: p.messages, analysis)
    return _order_series(series, analysis)


def _make_byte_series(analysis: Analysis) -> list[Series]:
    series = make_rate_series(analysis.flow, lambda p: p.kind, lambda p: p.bytes, analysis)
    return _order_series(series, analysis)


def _order_series(series: list[Series], analysis: Analysis) -> list[Series]:
    """The series in the order sent, acknowledged, received. The name of the last says when it counts several
    groups."""
    groups = {point.group for point in analysis.flow if point.kind == "received"}
    many = f"received by {len(groups)} groups together" if len(groups) > 1 else "received"
    ordered = sorted(series, key=lambda one: _ORDER.index(one.name))
    return [replace(one, name=many) if one.name == "received" else one for one in ordered]


def _make_series_by(analysis: Analysis, kind: str, key: str) -> list[Series]:
    def name(point: FlowPoint) -> str:
        return point.topic if key == "topic" else point.client

    points = [point for point in analysis.flow if point.kind == kind]
    return make_rate_series(points, name, lambda p: p.messages, analysis)
