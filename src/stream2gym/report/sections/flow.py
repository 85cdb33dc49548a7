"""Throughput in messages and bytes, over time."""

from __future__ import annotations

from dataclasses import replace

from stream2gym.analysis.tables import Analysis, FlowPoint
from stream2gym.figures.model import Axis, Chart, Series
from stream2gym.report.blocks import missing
from stream2gym.report.choose import busiest
from stream2gym.report.facts import Facts
from stream2gym.report.page import Part, Section
from stream2gym.report.series import rates

_MESSAGES = Axis("messages a second", "/s")
_ORDER = ("sent", "acknowledged", "received")


def flow(facts: Facts) -> Section:
    analysis = facts.analysis
    if analysis is None or not analysis.flow:
        return Section("throughput", "Throughput", (missing("No message was sent or received."),))
    whole = _chart(facts, "throughput", "All together", _MESSAGES, _by_kind(analysis))
    parts: list[Part] = [replace(whole, marks=facts.deaths, wide=True)]
    parts.append(
        _chart(facts, "throughput-bytes", "Payload", Axis("payload a second", "B/s"), _bytes(analysis))
    )
    for name, title, kind, key in (
        ("throughput-topics", "Acknowledged, by topic", "acknowledged", "topic"),
        ("throughput-producers", "Acknowledged, by producer", "acknowledged", "client"),
        ("throughput-consumers", "Received, by consumer", "received", "client"),
    ):
        series = _by(analysis, kind, key)
        if len(series) > 1:
            parts.append(_chart(facts, name, title, _MESSAGES, series))
    return Section("throughput", "Throughput", tuple(parts))


def _chart(facts: Facts, name: str, title: str, axis: Axis, series: list[Series]) -> Chart:
    shown, note = busiest(series)
    return Chart(name, title, facts.time, axis, shown, facts.windows, note=note)


def _by_kind(analysis: Analysis) -> list[Series]:
    series = rates(analysis.flow, lambda p: p.kind, lambda p: p.messages, analysis)
    return _named(series, analysis)


def _bytes(analysis: Analysis) -> list[Series]:
    series = rates(analysis.flow, lambda p: p.kind, lambda p: p.bytes, analysis)
    return _named(series, analysis)


def _named(series: list[Series], analysis: Analysis) -> list[Series]:
    """In the order of a message's life; received counts every group, which its name then says."""
    groups = {point.group for point in analysis.flow if point.kind == "received"}
    many = f"received by {len(groups)} groups together" if len(groups) > 1 else "received"
    ordered = sorted(series, key=lambda one: _ORDER.index(one.name))
    return [replace(one, name=many) if one.name == "received" else one for one in ordered]


def _by(analysis: Analysis, kind: str, key: str) -> list[Series]:
    def name(point: FlowPoint) -> str:
        return point.topic if key == "topic" else point.client

    points = [point for point in analysis.flow if point.kind == kind]
    return rates(points, name, lambda p: p.messages, analysis)
