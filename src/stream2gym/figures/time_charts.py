"""The charts over time that both the report and the page of a run show: names, titles and axes, without series.

The report fills them from the analysis and draws them as SVG. The page fills them from what it has seen so far and
draws them on a canvas, with the heads that ``make_chart_heads`` gives it.
"""

from __future__ import annotations

from typing import Any

from stream2gym.figures.figure import TIME, Axis, Chart

THROUGHPUT = Chart("throughput", "Sent, acknowledged, received", TIME, Axis("messages a second", "/s"), ())
LATENCY = Chart("latency", "End to end over time", TIME, Axis("latency", "s", "log"), ())
LAG = Chart("lag", "Lag by group", TIME, Axis("messages behind", low=0.0), ())
CPU = Chart("cpu", "CPU by component", TIME, Axis("share of the whole machine", "share"), ())
MEMORY = Chart("memory", "Memory by component", TIME, Axis("resident memory", "B"), ())
QUEUES = Chart("queues", "Queues of links", TIME, Axis("waiting at the head of the link", "B"), ())
MACHINE = Chart("machine", "CPUs of the machine", TIME, Axis("share", "share", low=0.0, high=1.0), ())

TIME_CHARTS = (THROUGHPUT, LATENCY, LAG, CPU, MEMORY, QUEUES, MACHINE)


def make_chart_heads() -> list[dict[str, Any]]:
    """What a page needs to draw each chart with series of its own."""
    return [
        {"name": chart.name, "title": chart.title, "label": chart.y.label, "unit": chart.y.unit}
        for chart in TIME_CHARTS
    ]
