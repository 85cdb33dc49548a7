"""Draws a topology as SVG, good enough for a paper.

Switches are dark pills, hosts light cards with what runs on them; links carry latency and bandwidth, unless most
are alike, which is then said once below. Text is measured by guess, so it needs no font on the machine.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from stream2gym.figures.canvas import SVG_NAMESPACE
from stream2gym.figures.markup import Markup, element, empty_element, join
from stream2gym.figures.topology_graph import Graph, Layout, Point
from stream2gym.figures.topology_layout import lay_out
from stream2gym.plan.link_text import bandwidth, milliseconds
from stream2gym.plan.natural_order import natural
from stream2gym.plan.planned import Plan, PlannedComponent, PlannedLink
from stream2gym.units import Share

_FONT = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"
_INK, _GREY, _LINE, _SWITCH, _CARD = "#1d2733", "#68727d", "#8b98a5", "#2f4b6e", "#ffffff"
_COLOURS = {
    "broker": "#d1495b", "store": "#8d6a9f", "source": "#3d8f8f", "sink": "#a47148",
    "engine": "#edae49", "consumer": "#4c956c", "producer": "#3d7ea6",
}  # fmt: skip
_MARGIN = 28.0
_LABEL_ALL = 14  # with more links than this, what is most common is said once
_LABEL_ALIKE = 6  # and already with more than this where all are alike
_ADDRESSES = 30  # with at most this many hosts each shows its address
_RUNS_SHOWN = 6

Box = tuple[float, float, float, float]  # left, top, right, bottom


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
        self.links = plan.network.links
        self.said, self.labels = _labels(self.links, {host.name for host in plan.network.hosts})
        self.runs: dict[str, list[PlannedComponent]] = {}
        for component in plan.components:
            self.runs.setdefault(component.host, []).append(component)
        self.addresses = len(plan.network.hosts) <= _ADDRESSES
        self.cards = {host.name: self._card(host.name, host.address) for host in plan.network.hosts}
        self.graph = self._graph()
        self.layout = lay_out(self.graph) if self.graph.sizes else Layout()
        self.taken: list[Box] = []
        self.spines: dict[tuple[str, int], float] = {}

    def _card(self, name: str, address: str) -> list[tuple[str, str]]:
        """The lines of a host's card, each a text and the colour of its mark. The first is the name."""
        lines = [(name, "")]
        if self.addresses:
            lines.append((address, ""))
        runs = self.runs.get(name, [])
        shown = runs if len(runs) <= _RUNS_SHOWN else runs[: _RUNS_SHOWN - 1]
        for part in shown:
            count = f" ×{part.instances}" if part.instances > 1 else ""
            lines.append((_short(part.name, 26) + count, _COLOURS.get(part.kind, _GREY)))
        if len(shown) < len(runs):
            lines.append((f"and {len(runs) - len(shown)} more", _GREY))
        return lines

    def _graph(self) -> Graph:
        sizes = {}
        for name, lines in self.cards.items():
            widths = [_width(lines[0][0], 12, bold=True) + 16]
            widths += [_width(text, 10) + (26 if colour else 16) for text, colour in lines[1:]]
            sizes[name] = (max(36.0, *widths), 22.0 + 14.0 * (len(lines) - 1))
        for name in self.plan.network.switches:
            sizes[name] = (max(34.0, _width(name, 12, bold=True) + 20), 24.0)
        joined: dict[str, set[str]] = {name: set() for name in sizes}
        for link in self.links:
            joined[link.a].add(link.b)
            joined[link.b].add(link.a)
        near = {name: sorted(others, key=natural) for name, others in joined.items()}
        label_width = max((_width(text, 10) for text in self.labels.values()), default=0.0)
        return Graph(sizes, set(self.cards), near, min(label_width, 110.0))

    def finish(self) -> TopologyDrawing:
        self.taken = [self._box(name) for name in self.layout.at]
        lines, texts = self._draw_links()
        nodes = [self._host(name) if name in self.cards else self._switch(name) for name in self.layout.at]
        left, top, right, bottom = _around(self.taken) if self.taken else (0.0, 0.0, 300.0, 40.0)
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

    def _box(self, name: str, margin: float = 2.0) -> Box:
        x, y = self.layout.at[name]
        width, height = self.graph.sizes[name]
        return (
            x - width / 2 - margin,
            y - height / 2 - margin,
            x + width / 2 + margin,
            y + height / 2 + margin,
        )

    def _draw_links(self) -> tuple[list[Markup], list[Markup]]:
        lines, texts = [], []
        parallel: Counter[frozenset[str]] = Counter()
        together = Counter(frozenset((link.a, link.b)) for link in self.links)
        for link in self.links:
            ends = frozenset((link.a, link.b))
            number, among = parallel[ends], together[ends]
            parallel[ends] += 1
            path, way = self._way(link, number - (among - 1) / 2)
            down = not (link.forward.up and link.backward.up)
            dashes = "5 4" if down else ""
            lines.append(empty_element("path", d=path, stroke=_LINE, stroke_width="1.4", stroke_dasharray=dashes))
            text = self.labels.get(link.name)
            if text:
                texts.append(self._label(text, way))
        return lines, texts

    def _way(self, link: PlannedLink, offset: float) -> tuple[str, list[Point]]:
        """The path of a link, and points along it where a label may stand."""
        (ax, ay), (bx, by) = self.layout.at[link.a], self.layout.at[link.b]
        host = link.a if link.a in self.layout.stacked else link.b if link.b in self.layout.stacked else ""
        if host:
            return self._spine(host, link.b if host == link.a else link.a)
        bulge = self.layout.bulging.get(frozenset((link.a, link.b)))
        if bulge is not None:
            x = max(ax, bx) + bulge if bulge > 0 else min(ax, bx) + bulge
            self.taken.append((min(ax, x), min(ay, by), max(ax, x), min(ay, by)))
            points = [((ax + bx) / 2 + (x - (ax + bx) / 2) * 0.75, (ay + by) / 2)]
            return f"M{ax:.1f} {ay:.1f}C{x:.1f} {ay:.1f} {x:.1f} {by:.1f} {bx:.1f} {by:.1f}", points
        length = math.hypot(bx - ax, by - ay) or 1.0
        sx, sy = -(by - ay) / length * offset * 16, (bx - ax) / length * offset * 16
        start, end = _visible((ax, ay), self._box(link.a), (bx, by), self._box(link.b))
        shares = (0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74, 0.2, 0.8)
        points = [(start[0] + (end[0] - start[0]) * t + sx, start[1] + (end[1] - start[1]) * t + sy) for t in shares]
        if not offset:
            return f"M{ax:.1f} {ay:.1f}L{bx:.1f} {by:.1f}", points
        mx, my = (ax + bx) / 2 + 2 * sx, (ay + by) / 2 + 2 * sy
        return f"M{ax:.1f} {ay:.1f}Q{mx:.1f} {my:.1f} {bx:.1f} {by:.1f}", points

    def _spine(self, host: str, switch: str) -> tuple[str, list[Point]]:
        (x, y), (hx, hy) = self.layout.at[switch], self.layout.at[host]
        width, _ = self.graph.sizes[host]
        left = hx - width / 2
        spine = left - 9
        turn = y + self.graph.sizes[switch][1] / 2 + 16
        label = self.labels.get(self._link_name(host, switch), "")
        points = [(left + width + 6 + _width(label, 10) / 2, hy)]
        # Hosts of a stack share one spine, drawn down to where an earlier host has not drawn it yet.
        drawn = self.spines.get((switch, round(spine)))
        self.spines[switch, round(spine)] = max(hy, drawn or hy)
        trunk = f"M{x:.1f} {y:.1f}V{turn:.1f}H{spine:.1f}" if drawn is None else f"M{spine:.1f} {drawn:.1f}"
        return f"{trunk}V{hy:.1f}H{left:.1f}", points

    def _link_name(self, a: str, b: str) -> str:
        return next((link.name for link in self.links if {link.a, link.b} == {a, b}), "")

    def _label(self, text: str, way: list[Point]) -> Markup:
        width = _width(text, 10) + 4
        best, least = way[0], math.inf
        for x, y in way:
            box = (x - width / 2, y - 7, x + width / 2, y + 7)
            overlap = sum(_overlap(box, other) for other in self.taken)
            if overlap < least:
                best, least = (x, y), overlap
            if not overlap:
                break
        x, y = best
        self.taken.append((x - width / 2, y - 7, x + width / 2, y + 7))
        return _rect(x - width / 2, y - 7, width, 14, fill="#ffffff") + _text(x, y + 3.5, text, size=10)

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
        for number, (text, colour) in enumerate(self.cards[name][1:], 1):
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
        items += [(text, "link") for text in self.said]
        room = max(room, 360.0)
        parts, x, y, widest = [], 0.0, 0.0, 0.0
        for text, mark in items:
            width = 22 + _width(text, 11) + 20
            if x and x + width > room:
                x, y = 0.0, y + 20
            parts += [_mark(mark, x, y), _text(x + 24, y + 4, text, size=11, anchor="start", colour=_GREY)]
            x += width
            widest = max(widest, x)
        return parts, widest, y + 26


def _labels(links: Sequence[PlannedLink], hosts: set[str]) -> tuple[list[str], dict[str, str]]:
    """The texts that are said once for many links, and the labels of the other links."""
    texts = {link.name: _link_text(link) for link in links}
    outer = {link.name for link in links if link.a in hosts or link.b in hosts}
    if len(texts) > _LABEL_ALL and len(set(texts.values())) == 1:
        return [f"every link: {next(iter(texts.values()))}"], {}
    said: list[str] = []
    labels: dict[str, str] = {}
    for names, words in ((outer, "links of hosts"), (texts.keys() - outer, "links between switches")):
        own = {name: text for name, text in texts.items() if name in names}
        common, count = Counter(own.values()).most_common(1)[0] if own else ("", 0)
        if (len(own) <= _LABEL_ALL and (len(own) <= _LABEL_ALIKE or count < len(own))) or count * 2 < len(own):
            labels |= own
        else:
            others = "" if count == len(own) else " without a label"
            said.append(f"{words}{others}: {common}")
            labels |= {name: text for name, text in own.items() if text != common}
    return said, labels


def _link_text(link: PlannedLink) -> str:
    there, back = link.forward, link.backward
    words = [_both(milliseconds(there.latency_ms), milliseconds(back.latency_ms))]
    words.append(_both(bandwidth(there.bandwidth_bps), bandwidth(back.bandwidth_bps)))
    if there.loss or back.loss:
        words.append(_both(str(Share(there.loss)), str(Share(back.loss))) + " loss")
    if there.bursts or back.bursts:
        words.append("burst loss")
    if not (there.up and back.up):
        words.append("down")
    return ", ".join(words)


def _both(there: str, back: str) -> str:
    return there if there == back else f"{there} / {back}"


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


def _width(text: str, size: float, *, bold: bool = False) -> float:
    """About how wide a text is in a sans-serif font, in pixels."""
    ems = sum(
        0.3 if c in "iljtfrI.,:;'|!-() /" else 0.88 if c in "mwMW%@" else 0.7 if c.isupper() else 0.56 for c in text
    )
    return ems * size * (1.06 if bold else 1.0)


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _visible(a: Point, box_a: Box, b: Point, box_b: Box) -> tuple[Point, Point]:
    """The part of a straight line outside the boxes at its ends."""
    return _leaving(a, b, box_a), _leaving(b, a, box_b)


def _leaving(start: Point, towards: Point, box: Box) -> Point:
    dx, dy = towards[0] - start[0], towards[1] - start[1]
    half_x, half_y = (box[2] - box[0]) / 2, (box[3] - box[1]) / 2
    share = min(half_x / abs(dx) if dx else math.inf, half_y / abs(dy) if dy else math.inf, 0.5)
    return start[0] + dx * share, start[1] + dy * share


def _overlap(a: Box, b: Box) -> float:
    wide, high = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    return wide * high if wide > 0 and high > 0 else 0.0


def _around(every: Sequence[Box]) -> Box:
    return (
        min(b[0] for b in every), min(b[1] for b in every), max(b[2] for b in every), max(b[3] for b in every),
    )  # fmt: skip
