"""Draws a time line: one lane for each name, spans of time as boxes, marks as diamonds."""

from __future__ import annotations

from stream2gym.figures.canvas import Canvas, shorten, text_width
from stream2gym.figures.figure import Axis, Lane, Timeline
from stream2gym.figures.number_text import show
from stream2gym.figures.plot_area import SMALL, X_AXIS_HEIGHT, Area, draw_x_axis
from stream2gym.figures.scales import make_scale

_LANE = 24.0
_NARROW = 460.0  # below this, names stand above their lanes


def draw_timeline(canvas: Canvas, figure: Timeline, ident: str, top: float) -> float:
    narrow = canvas.width < _NARROW
    names = 0.0
    if not narrow:
        names = min(max((text_width(lane.name) for lane in figure.lanes), default=0.0) + 12, canvas.width * 0.24)
    times = [edge for lane in figure.lanes for span in lane.spans for edge in (span.start, span.end)]
    times += [mark.at for lane in figure.lanes for mark in lane.marks]
    pitch = _LANE + (15.0 if narrow else 4.0)
    y = Axis("")
    area = Area(
        names + 6, top + 4, canvas.width - names - 14, pitch * len(figure.lanes),
        make_scale(figure.x, times, tight=True), make_scale(y, (0.0, 1.0)),
    )  # fmt: skip
    draw_x_axis(canvas, area)
    if area.x.low < 0 < area.x.high and not narrow:
        canvas.line((area.px(0), area.top), (area.px(0), area.bottom), "mark")
    for number, lane in enumerate(figure.lanes):
        lane_top = area.top + number * pitch
        if narrow:
            canvas.text(0, lane_top + 11, shorten(lane.name, canvas.width, SMALL), "small soft", tip=lane.name)
            lane_top += 14
        else:
            canvas.text(0, lane_top + 16, shorten(lane.name, names - 4), "", tip=lane.name)
        canvas.rect(area.left, lane_top + 2, area.width, _LANE - 4, "well")
        _draw_lane(canvas, area, lane, lane_top)
    return area.bottom + X_AXIS_HEIGHT


def _draw_lane(canvas: Canvas, area: Area, lane: Lane, top: float) -> None:
    for span in lane.spans:
        start, end = area.px(span.start), area.px(span.end)
        width = max(end - start, 2.0)
        tip = f"{span.label}: {show(span.start, 's')} to {show(span.end, 's')} ({show(span.end - span.start, 's')})"
        canvas.rect(start + 0.5, top + 2, width - 1, _LANE - 4, f"box fill {span.tone}", tip=tip)
        label = shorten(span.label, width - 8, SMALL)
        if label == span.label or len(label) > 6:
            canvas.text(start + width / 2, top + 16, label, "small inv", anchor="middle")
    for mark in lane.marks:
        tip = f"{mark.label} at {show(mark.at, 's')}"
        canvas.diamond((area.px(mark.at), top + _LANE / 2), 5.5, f"fill {mark.tone}", tip=tip)
