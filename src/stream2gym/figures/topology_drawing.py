"""Draws a topology as SVG, good enough for a paper.

Switches are dark pills, hosts light cards with what runs on them; links carry latency and bandwidth, unless most
are alike, which is then said once below. Text is measured by guess, so it needs no font on the machine.
"""

from __future__ import annotations

from dataclasses import dataclass

from stream2gym.figures.canvas import SVG_NAMESPACE
from stream2gym.figures.markup import Markup, element, empty_element, join
from stream2gym.figures.topology_graph import Point
from stream2gym.figures.topology_placement import TopologyPlacement, text_width
from stream2gym.plan.planned import Plan

_FONT = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"
_INK, _GREY, _LINE, _SWITCH, _CARD = "#1d2733", "#68727d", "#8b98a5", "#2f4b6e", "#ffffff"
_COLOURS = {
    "broker": "#d1495b", "store": "#8d6a9f", "source": "#3d8f8f", "sink": "#a47148",
    "engine": "#edae49", "consumer": "#4c956c", "producer": "#3d7ea6",
}  # fmt: skip
_MARGIN = 28.0


@dataclass(frozen=True)
class TopologyDrawing:
    """A drawing as an ``svg`` element, and its width in pixels."""

    markup: Markup
    width: float


def draw_topology(plan: Plan) -> TopologyDrawing:
    """Draw the planned network."""
    return _Drafting(plan).finish()


class _Drafting:
    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.placement = TopologyPlacement(plan)
        self.cards = self.placement.cards
        self.graph = self.placement.graph
        self.layout = self.placement.layout

    def finish(self) -> TopologyDrawing:
        lines, texts = self._draw_links()
        nodes = [self._host(name) if name in self.cards else self._switch(name) for name in self.layout.at]
        left, top, right, bottom = self.placement.bounds()
        legend, legend_width, legend_height = self._legend(right - left)
        width = max(right - left, legend_width) + 2 * _MARGIN
        title_height = 30.0
        height = bottom - top + 2 * _MARGIN + title_height + legend_height
        shift_x = _MARGIN - left + (width - 2 * _MARGIN - (right - left)) / 2
        shift_y = _MARGIN + title_height - top
        legend_y = _MARGIN + title_height + (bottom - top) + 22
        drawn_lines = element("g", join(lines, "\n"), fill="none", stroke_linecap="round")
        parts = [
            element("title", self.plan.name),
            empty_element("rect", width="100%", height="100%", fill="#ffffff"),
            _text(_MARGIN, _MARGIN + 10, self.plan.name, size=15, bold=True, anchor="start"),
            _moved(join([drawn_lines, *nodes, *texts], "\n"), shift_x, shift_y),
            _moved(join(legend, "\n"), _MARGIN, legend_y),
        ]
        markup = element(
            "svg",
            join(parts, "\n"),
            xmlns=SVG_NAMESPACE,
            width=f"{width:.0f}",
            height=f"{height:.0f}",
            viewBox=f"0 0 {width:.0f} {height:.0f}",
            font_family=_FONT,
            role="img",
        )
        return TopologyDrawing(markup, round(width))

    def _draw_links(self) -> tuple[list[Markup], list[Markup]]:
        lines, texts = [], []
        for placed in self.placement.links:
            down = not (placed.link.forward.up and placed.link.backward.up)
            dashes = "5 4" if down else ""
            lines.append(
                empty_element("path", d=placed.path, stroke=_LINE, stroke_width="1.4", stroke_dasharray=dashes)
            )
            if placed.label:
                texts.append(_label(placed.label, placed.at))
        return lines, texts

    def _switch(self, name: str) -> Markup:
        x, y = self.layout.at[name]
        width, height = self.graph.sizes[name]
        pill = _rect(x - width / 2, y - height / 2, width, height, rx=f"{height / 2:.1f}", fill=_SWITCH)
        return pill + _text(x, y + 4.2, name, size=12, bold=True, colour="#ffffff")

    def _host(self, name: str) -> Markup:
        x, y = self.layout.at[name]
        width, height = self.graph.sizes[name]
        left, top = x - width / 2, y - height / 2
        parts = [
            _rect(left, top, width, height, rx="4", fill=_CARD, stroke=_INK, stroke_width="1.2"),
            _text(x, top + 15, name, size=12, bold=True),
        ]
        for number, card_line in enumerate(self.cards[name][1:], 1):
            text, colour = card_line.text, _COLOURS.get(card_line.kind, _GREY) if card_line.kind else ""
            line = top + 14 * number + 14
            if colour:
                mark = _rect(left + 8, line - 7, 7, 7, fill=colour)
                parts += [mark, _text(left + 20, line, text, size=10, anchor="start")]
            else:
                parts.append(_text(x, line, text, size=10, colour=_GREY))
        return join(parts)

    def _legend(self, room: float) -> tuple[list[Markup], float, float]:
        """The legend, in rows that are no wider than the drawing, with its width and height."""
        items: list[tuple[str, str]] = [("switch", "switch"), ("host", "host")]
        kinds = {component.kind for component in self.plan.components}
        items += [(kind, colour) for kind, colour in _COLOURS.items() if kind in kinds]
        items += [(text, "link") for text in self.placement.said]
        room = max(room, 360.0)
        parts, x, y, widest = [], 0.0, 0.0, 0.0
        for text, mark in items:
            width = 22 + text_width(text, 11) + 20
            if x and x + width > room:
                x, y = 0.0, y + 20
            parts += [_mark(mark, x, y), _text(x + 24, y + 4, text, size=11, anchor="start", colour=_GREY)]
            x += width
            widest = max(widest, x)
        return parts, widest, y + 26


def _label(text: str, at: Point) -> Markup:
    x, y = at
    width = text_width(text, 10) + 4
    return _rect(x - width / 2, y - 7, width, 14, fill="#ffffff") + _text(x, y + 3.5, text, size=10)


def _mark(kind: str, x: float, y: float) -> Markup:
    """The mark of an entry of the legend. A kind that is neither switch, host nor link is a colour."""
    if kind == "switch":
        return _rect(x, y - 6, 18, 12, rx="6", fill=_SWITCH)
    if kind == "host":
        return _rect(x, y - 6, 18, 12, rx="3", fill=_CARD, stroke=_INK, stroke_width="1.2")
    if kind == "link":
        return empty_element("path", d=f"M{x:.1f} {y:.1f}h18", stroke=_LINE, stroke_width="1.4")
    return _rect(x + 6, y - 4, 8, 8, fill=kind)


def _rect(x: float, y: float, width: float, height: float, **look: str) -> Markup:
    return empty_element("rect", x=f"{x:.1f}", y=f"{y:.1f}", width=f"{width:.1f}", height=f"{height:.1f}", **look)


def _moved(drawing: Markup, x: float, y: float) -> Markup:
    return element("g", drawing, transform=f"translate({x:.1f} {y:.1f})")


def _text(
    x: float,
    y: float,
    text: str,
    *,
    size: int,
    bold: bool = False,
    colour: str = _INK,
    anchor: str = "middle",
) -> Markup:
    weight = "bold" if bold else ""
    place = {"x": f"{x:.1f}", "y": f"{y:.1f}"}
    return element("text", text, **place, font_size=str(size), fill=colour, text_anchor=anchor, font_weight=weight)
