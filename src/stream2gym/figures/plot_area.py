"""What charts with two axes share: the plot area, its axes, shaded windows, marks and the legend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stream2gym.figures.canvas import Canvas, shorten, text_width
from stream2gym.figures.figure import Band, Mark
from stream2gym.figures.markup import Markup, element, empty_element
from stream2gym.figures.number_text import show
from stream2gym.figures.scales import Scale, Tick

LINE = 16.0  # of text
SMALL = 11.0
_STRIP_ROWS = 3


@dataclass(frozen=True)
class Area:
    """The rectangle inside the axes, and the places of values in it."""

    left: float
    top: float
    width: float
    height: float
    x: Scale
    y: Scale

    @property
    def right(self) -> float:
        return self.left + self.width

    @property
    def bottom(self) -> float:
        return self.top + self.height

    def px(self, value: float) -> float:
        return self.left + self.x.place(value) * self.width

    def py(self, value: float) -> float:
        return self.bottom - self.y.place(value) * self.height


def choose_plot_height(width: float) -> float:
    return min(max(width * 0.42, 170.0), 250.0)


def draw_axes(canvas: Canvas, area: Area, y_ticks: Sequence[Tick]) -> None:
    for tick in y_ticks:
        y = area.py(tick.value)
        canvas.line((area.left, y), (area.right, y), "grid")
        canvas.text(area.left - 6, y + 4, tick.text, "soft", anchor="end")
    draw_x_axis(canvas, area)


def draw_x_axis(canvas: Canvas, area: Area) -> None:
    """Draw the axis with as many ticks as have room, and its caption."""
    canvas.line((area.left, area.bottom), (area.right, area.bottom), "axis")
    free_from = 0.0
    for tick in area.x.ticks(max(2, int(area.width // 70))):
        x, half = area.px(tick.value), text_width(tick.text) / 2
        canvas.line((x, area.bottom), (x, area.bottom + 4), "axis")
        at = min(max(x, half), canvas.width - half)
        if at - half < free_from:
            continue
        canvas.text(at, area.bottom + 17, tick.text, "soft", anchor="middle")
        free_from = at + half + 6
    canvas.text(area.right, area.bottom + 33, area.x.caption, "soft small", anchor="end")


X_AXIS_HEIGHT = 38.0


@dataclass(frozen=True)
class PlacedLabel:
    """A label in the strip above the plot."""

    row: int
    x: float
    text: str
    tone: str


def place_labels(
    bands: Sequence[Band], marks: Sequence[Mark], left: float, right: float, px_of: Scale
) -> list[PlacedLabel]:
    """Place the labels of windows and marks in as few rows as they need. Labels without room are left out."""
    wanted = [(band.start, band.label, band.tone) for band in bands]
    wanted += [(mark.at, mark.label, mark.tone) for mark in marks]
    ends = [left - 8.0] * _STRIP_ROWS
    placed = []
    for at, label, tone in sorted(wanted):
        text = shorten(label, 150, SMALL)
        width = text_width(text, SMALL)
        x = min(left + px_of.place(at) * (right - left), right - width)
        x = max(x, left)
        for row in range(_STRIP_ROWS):
            if ends[row] + 8 <= x:
                ends[row] = x + width
                placed.append(PlacedLabel(row, x, text, tone))
                break
    return placed


def draw_windows(canvas: Canvas, area: Area, bands: Sequence[Band], marks: Sequence[Mark], ident: str) -> None:
    """Draw shaded windows and marks. Windows of faults are also hatched, so that they can be seen on paper."""
    for band in bands:
        start, end = area.px(band.start), area.px(band.end)
        width = max(end - start, 1.5)
        tip = f"{band.label}: {show(band.start, 's')} to {show(band.end, 's')}"
        canvas.rect(start, area.top, width, area.height, f"band {band.tone}", tip=tip)
        if band.tone == "fault":
            canvas.define(make_hatch(ident))
            canvas.rect(start, area.top, width, area.height, "", fill=f"url(#{ident}-h)")
            canvas.line((start, area.top), (start, area.bottom), "edge")
            canvas.line((start + width, area.top), (start + width, area.bottom), "edge")
    for mark in marks:
        x = area.px(mark.at)
        canvas.line((x, area.top), (x, area.bottom), f"mark {mark.tone}")


def make_hatch(ident: str) -> Markup:
    line = empty_element("line", class_="hatch", x1="0", y1="0", x2="0", y2="7")
    size = {"width": "7", "height": "7", "patternUnits": "userSpaceOnUse", "patternTransform": "rotate(45)"}
    return element("pattern", line, id=f"{ident}-h", **size)


def draw_labels(canvas: Canvas, placed: Sequence[PlacedLabel], top: float) -> float:
    """Draw the labels. Returns their height."""
    for label in placed:
        cls = "small alarm" if label.tone in ("fault", "bad") else "small soft"
        canvas.text(label.x, top + 11 + label.row * 14, label.text, cls)
    return 14.0 * (1 + max((label.row for label in placed), default=-1)) + (3 if placed else 0)


def draw_legend(canvas: Canvas, entries: Sequence[tuple[str, str]], top: float, *, filled: bool = False) -> float:
    """Draw the entries of a legend (class and name) in rows. Returns its height."""
    x, y = 2.0, top + 12
    for cls, name in entries:
        text = shorten(name, canvas.width - 34)
        width = 26 + text_width(text) + 12
        if x > 2 and x + width > canvas.width:
            x, y = 2.0, y + LINE + 2
        if filled:
            canvas.rect(x, y - 9, 14, 10, f"box {cls}")
        elif "hollow" in cls.split():
            canvas.circle((x + 9, y - 4), 4.2, cls)
        else:
            canvas.line((x, y - 4), (x + 18, y - 4), f"line key {cls}")
        canvas.text(x + (19 if filled else 23), y, text, "", tip=name if text != name else "")
        x += width
    return y + 6 - top if entries else 0.0
