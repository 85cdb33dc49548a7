"""A figure as plain data: what is shown, in which units, and never how it is drawn.

``figures.svg`` draws any of these, ``figures.export`` writes any of these as CSV. Values are in base units
(seconds, bytes, bits per second, fractions of one); whoever draws picks the prefix. Times on an axis are
seconds from the start of load.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from stream2gym.jsonable import Jsonable

ScaleKind = Literal["linear", "log", "percentile"]
Shape = Literal["line", "step", "area", "points"]
Tone = Literal["neutral", "good", "bad", "warn", "fault", "phase"]


@dataclass(frozen=True)
class Axis(Jsonable):
    """What an axis counts. ``percentile`` spreads shares towards 1: 0, 90 %, 99 %, 99.9 % are equally far."""

    label: str
    unit: str = ""  # "s", "B", "B/s", "bps", "/s", "share", "" for plain counts
    scale: ScaleKind = "linear"
    low: float | None = None
    high: float | None = None


TIME = Axis("time from the start of load", "s")


@dataclass(frozen=True)
class Series(Jsonable):
    """Points in order of x; a y of None is a gap, not a zero.

    In a ``step`` a value holds until the next x, the last one for as long as the one before it.
    """

    name: str
    x: tuple[float, ...]
    y: tuple[float | None, ...]
    shape: Shape = "line"
    tone: Tone = "neutral"  # other than neutral: drawn in the colour of its meaning


@dataclass(frozen=True)
class Band(Jsonable):
    """A shaded window on the x axis: a fault, a phase, seconds in which the emulation could not keep up."""

    start: float
    end: float
    label: str
    tone: Tone = "fault"


@dataclass(frozen=True)
class Mark(Jsonable):
    """Something that happened at one moment."""

    at: float
    label: str
    tone: Tone = "neutral"


@dataclass(frozen=True)
class Chart(Jsonable):
    """Lines, steps, areas or points over two axes."""

    name: str
    title: str
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    bands: tuple[Band, ...] = ()
    marks: tuple[Mark, ...] = ()
    note: str = ""
    wide: bool = False  # deserves the whole width of a page
    kind: str = "chart"


@dataclass(frozen=True)
class Histogram(Jsonable):
    """Counts between edges; there is one edge more than there are counts."""

    name: str
    title: str
    x: Axis
    y: Axis
    edges: tuple[float, ...]
    counts: tuple[float, ...]
    note: str = ""
    wide: bool = False
    kind: str = "histogram"


@dataclass(frozen=True)
class BarSeries(Jsonable):
    """One value a category; None is unknown."""

    name: str
    values: tuple[float | None, ...]
    tone: Tone = "neutral"


@dataclass(frozen=True)
class Bars(Jsonable):
    """One bar, or a group or a stack of bars, a category."""

    name: str
    title: str
    axis: Axis
    categories: tuple[str, ...]
    series: tuple[BarSeries, ...]
    stacked: bool = False
    category_label: str = ""
    note: str = ""
    wide: bool = False
    kind: str = "bars"


@dataclass(frozen=True)
class Layer(Jsonable):
    """One part of every cell of a matrix; ``told``: the number in the cell is the share of such parts."""

    name: str
    values: tuple[tuple[float, ...], ...]
    tone: Tone = "neutral"
    told: bool = False


@dataclass(frozen=True)
class Matrix(Jsonable):
    """What became of things between rows and columns, such as producer × group: each cell is divided by layers.

    A cell in which all layers are zero is unknown and drawn as such.
    """

    name: str
    title: str
    label: str  # of the number in the cells
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    layers: tuple[Layer, ...]
    row_label: str = ""
    column_label: str = ""
    note: str = ""
    wide: bool = False
    kind: str = "matrix"

    def cell(self, row: int, column: int) -> list[float]:
        return [layer.values[row][column] for layer in self.layers]

    def share(self, row: int, column: int) -> float | None:
        """The share of the layers that the number tells; None where nothing is known."""
        values = self.cell(row, column)
        told = sum(value for value, layer in zip(values, self.layers, strict=True) if layer.told)
        return told / sum(values) if sum(values) else None


@dataclass(frozen=True)
class Span(Jsonable):
    """A stretch of time in a lane."""

    start: float
    end: float
    label: str
    tone: Tone = "phase"


@dataclass(frozen=True)
class Lane(Jsonable):
    """One row of a time line: what happened to one thing."""

    name: str
    spans: tuple[Span, ...] = ()
    marks: tuple[Mark, ...] = ()


@dataclass(frozen=True)
class Timeline(Jsonable):
    """Lanes over a common time axis: phases, faults, lives of components, events."""

    name: str
    title: str
    lanes: tuple[Lane, ...]
    x: Axis = TIME
    note: str = ""
    wide: bool = True
    kind: str = "timeline"


Figure = Chart | Histogram | Bars | Matrix | Timeline

Cell = float | str | None


@dataclass(frozen=True)
class Column(Jsonable):
    """What a column of a table holds; ``alarm``: a value other than zero is bad news."""

    label: str
    unit: str | None = None  # None: text
    alarm: bool = False
    quiet: bool = False  # not shown on a page where every value is zero or empty


@dataclass(frozen=True)
class Table:
    """Rows of text and numbers, for a page and for CSV; ``alarms`` are rows that must not be overlooked."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    alarms: frozenset[int] = frozenset()
    in_order: bool = False  # the order means something; else alarms come first


KINDS: dict[str, type[Figure]] = {
    "chart": Chart,
    "histogram": Histogram,
    "bars": Bars,
    "matrix": Matrix,
    "timeline": Timeline,
}


def figure_from_json(data: dict[str, Any]) -> Figure:
    """The figure that ``to_json`` wrote."""
    return KINDS[data["kind"]].from_json(data)
