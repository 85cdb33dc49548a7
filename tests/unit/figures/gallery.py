"""One figure of each kind, with names that would break careless drawing."""

from __future__ import annotations

from stream2gym.figures.figure import (
    TIME,
    Axis,
    Band,
    Bars,
    BarSeries,
    Chart,
    Figure,
    Histogram,
    Lane,
    Layer,
    Mark,
    Matrix,
    Series,
    Span,
    Timeline,
)

HOSTILE = "<script>alert('x')</script>&\"\x00\x1b\ud800]]>"


def gallery(name: str = "in") -> list[Figure]:
    bands = (Band(2.0, 4.0, f"cut {name}"),)
    return [
        Chart(
            "over-time", f"Throughput {name}", TIME, Axis("messages a second", "/s"),
            (
                Series(name, (0.0, 1.0, 2.0, 3.0), (10.0, None, 12.0, 11.0)),
                Series("steps", (0.0, 3.0), (1.0, 2.0), "step"),
                Series("alone", (1.0,), (3.0,), "points"),
            ),
            bands, (Mark(3.0, f"{name} died", "bad"),), wide=True,
        ),
        Chart(
            "by-percentile", "Latency", Axis("percentile", "share", "percentile"), Axis("latency", "s", "log"),
            (Series(name, (0.0, 0.5, 0.99, 1.0), (0.001, 0.002, 0.1, 2.0)),),
        ),
        Histogram(
            "spread", "Lateness", Axis("lateness", "s", "log"), Axis(f"packets {name}"), (1e-6, 1e-5, 1e-4),
            (5.0, 2.0),
        ),
        Bars(
            "bars", "Leadership", Axis("time led", "share"), (name, "other"),
            (BarSeries("led", (0.25, None)), BarSeries("lost", (0.0, 3.0), "bad")),
        ),
        Bars("stack", "Stack", Axis("rows"), (name,), (BarSeries("a", (1.0,)), BarSeries("b", (2.0,))), stacked=True),
        Matrix(
            "matrix", "Delivered", "arrived, in %", (name, "b"), ("x", name),
            (
                Layer("in time", ((10.0, 0.0), (4.0, 0.0)), told=True),
                Layer("late", ((0.0, 0.0), (1.0, 0.0)), "warn", told=True),
                Layer("lost", ((0.0, 0.0), (995.0, 5.0)), "bad"),
            ), "producer", "consumer",
        ),
        Timeline(
            "life", "What happened",
            (
                Lane("phases", (Span(-3.0, 0.0, "brokers"), Span(0.0, 5.0, name))),
                Lane(name, (), (Mark(1.0, name, "bad"),)),
            ),
        ),
    ]  # fmt: skip
