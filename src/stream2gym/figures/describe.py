"""Describes a figure in words, for people who cannot see it."""

from __future__ import annotations

from stream2gym.figures.figure import Band, Bars, Chart, Figure, Histogram, Matrix, Timeline
from stream2gym.figures.matrix import describe_cell
from stream2gym.figures.number_text import show

_MOST = 12


def describe(figure: Figure) -> str:
    if isinstance(figure, Chart):
        text = _describe_chart(figure)
    elif isinstance(figure, Histogram):
        text = f"Histogram of {figure.x.label}: {show(sum(figure.counts))} in {len(figure.counts)} bins."
    elif isinstance(figure, Bars):
        text = _describe_bars(figure)
    elif isinstance(figure, Matrix):
        text = _describe_matrix(figure)
    else:
        text = _describe_timeline(figure)
    return f"{text} {figure.note}".strip()


def _describe_chart(figure: Chart) -> str:
    parts = [f"{figure.y.label} over {figure.x.label}."]
    for series in figure.series[:_MOST]:
        there = [value for value in series.y if value is not None]
        if there:
            low, high = show(min(there), figure.y.unit), show(max(there), figure.y.unit)
            parts.append(f"{series.name}: {low} to {high}.")
    return " ".join([*parts, *_describe_windows(figure.bands)])


def _describe_windows(bands: tuple[Band, ...]) -> list[str]:
    return [f"Window {band.label}: {show(band.start, 's')} to {show(band.end, 's')}." for band in bands[:_MOST]]


def _describe_bars(figure: Bars) -> str:
    parts = [f"{figure.axis.label}."]
    for index, name in list(enumerate(figure.categories))[:_MOST]:
        values = ", ".join(f"{s.name} {show(s.values[index], figure.axis.unit)}" for s in figure.series)
        parts.append(f"{name}: {values}.")
    parts += [f"Mark at {show(mark.at, figure.axis.unit)}: {mark.label}." for mark in figure.marks]
    return " ".join(parts)


def _describe_matrix(figure: Matrix) -> str:
    """The size of a matrix and the sums of its layers, then the cells with a share below one."""
    sums = [(layer.name, sum(map(sum, layer.values))) for layer in figure.layers]
    words = ", ".join(f"{show(value)} {name}" for name, value in sums if value)
    parts = [
        f"{figure.label}, {len(figure.rows)} rows and {len(figure.columns)} columns. In all: {words or 'nothing'}."
    ]
    places = [(row, column) for row in range(len(figure.rows)) for column in range(len(figure.columns))]
    worst = [place for place in places if figure.share(*place) not in (None, 1.0)]
    return " ".join([*parts, *(f"{describe_cell(figure, *place)}." for place in worst[:_MOST])])


def _describe_timeline(figure: Timeline) -> str:
    spans = [(lane.name, span) for lane in figure.lanes for span in lane.spans]
    parts = [f"{lane}, {span.label}: {show(span.start, 's')} to {show(span.end, 's')}." for lane, span in spans]
    return " ".join(["Time line.", *parts[: 2 * _MOST]])
