"""A figure as plain data: what is shown, in which units, and never how it is drawn.

``figures.svg`` draws any of these, ``figures.figure_csv`` writes any of these as CSV. Values are in base units
(seconds, bytes, bits per second, fractions of one); whoever draws picks the prefix. Times on an axis are
seconds from the start of load.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

ScaleKind = Literal["linear", "log", "percentile"]
Shape = Literal["line", "step", "area", "points", "marked", "hollow"]
Tone = Literal["neutral", "good", "bad", "warn", "fault", "phase"]


@dataclass(frozen=True)
class Axis:
    """What an axis counts. On a ``percentile`` scale 0, 90 %, 99 % and 99.9 % are equally far apart."""

    label: str
    unit: str = ""  # "s", "B", "B/s", "bps", "/s", "share", "" for plain counts
    scale: ScaleKind = "linear"
    low: float | None = None
    high: float | None = None
    # Categories at 0, 1, 2 ... instead of numbers.
    names: tuple[str, ...] = ()
    # Between two whole numbers there is nothing, and no tick.
    is_whole: bool = False


TIME = Axis("time from the start of load", "s")


@dataclass(frozen=True)
class Series:
    """Points in order of x; a y of None is a gap, not a zero.

    In a ``step`` a value holds until the next x, the last one for as long as the one before it. ``marked`` is a line
    with a dot at each value, ``hollow`` are circles for values that are in doubt. Values may have bounds, which are
    drawn as a bar from low to high. ``beside`` is the series that this one is there to be compared with: it has the
    same colour, and a thin dotted line. Hollow series of one name share an entry of the legend.
    """

    name: str
    x: tuple[float, ...]
    y: tuple[float | None, ...]
    shape: Shape = "line"
    tone: Tone = "neutral"  # other than neutral: drawn in the colour of its meaning
    low: tuple[float | None, ...] = ()
    high: tuple[float | None, ...] = ()
    beside: str = ""

    def bounds(self) -> list[tuple[float, float, float]]:
        """x, low and high of the values that have bounds."""
        return [
            (x, low, high)
            for x, low, high in zip(self.x, self.low, self.high, strict=False)
            if low is not None and high is not None
        ]


@dataclass(frozen=True)
class Band:
    """A shaded window on the x axis: a fault, a phase, seconds in which the machine could not keep up."""

    start: float
    end: float
    label: str
    tone: Tone = "fault"


@dataclass(frozen=True)
class Mark:
    """Something that happened at one moment, or a value that stands out."""

    at: float
    label: str
    tone: Tone = "neutral"


@dataclass(frozen=True)
class Chart:
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
class Histogram:
    """Counts of values between edges. There is one edge more than there are counts."""

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
class BarSeries:
    """One value for each category. None: unknown."""

    name: str
    values: tuple[float | None, ...]
    tone: Tone = "neutral"


@dataclass(frozen=True)
class Bars:
    """One bar for each category, or a group or a stack of bars. ``marks`` are values to compare all bars with."""

    name: str
    title: str
    axis: Axis
    categories: tuple[str, ...]
    series: tuple[BarSeries, ...]
    stacked: bool = False
    category_label: str = ""
    note: str = ""
    wide: bool = False
    marks: tuple[Mark, ...] = ()
    kind: str = "bars"


@dataclass(frozen=True)
class Layer:
    """One part of every cell of a matrix. ``told``: the number in a cell is the share of the layers with this
    mark."""

    name: str
    values: tuple[tuple[float, ...], ...]
    tone: Tone = "neutral"
    told: bool = False


@dataclass(frozen=True)
class Matrix:
    """What became of things between rows and columns, such as producer by group: each cell is divided by layers.

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
        """The share of the layers marked ``told`` in a cell. None: nothing is known of the cell."""
        values = self.cell(row, column)
        told = sum(value for value, layer in zip(values, self.layers, strict=True) if layer.told)
        return told / sum(values) if sum(values) else None


@dataclass(frozen=True)
class Span:
    """A time in a lane, drawn as a box."""

    start: float
    end: float
    label: str
    tone: Tone = "phase"


@dataclass(frozen=True)
class Lane:
    """One row of a time line: what happened to one thing."""

    name: str
    spans: tuple[Span, ...] = ()
    marks: tuple[Mark, ...] = ()


@dataclass(frozen=True)
class Timeline:
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
class Column:
    """What a column of a table holds. ``alarm``: a value other than zero is shown as an alarm."""

    label: str
    unit: str | None = None  # None: text
    alarm: bool = False
    quiet: bool = False  # not shown on a page where every value is zero or empty


@dataclass(frozen=True)
class Table:
    """Rows of text and numbers, for a page and for CSV. ``alarms`` are the numbers of rows that are shown as
    alarms."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    alarms: frozenset[int] = frozenset()
    in_order: bool = False  # the order means something; else alarms come first
