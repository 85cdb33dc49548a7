"""Where everything of a topology stands: a figure as plain data, which the drawing of the report and the page show.

Hosts are cards with lines of text, switches are pills, links are paths with labels. Where most links are alike, that
is said once instead of at every link. Text is measured by guess, so it needs no font on the machine.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from stream2gym.figures.topology_graph import Graph, Layout, Point
from stream2gym.figures.topology_layout import lay_out
from stream2gym.plan.link_text import bandwidth, milliseconds
from stream2gym.plan.natural_order import natural
from stream2gym.plan.planned import Plan, PlannedComponent, PlannedLink
from stream2gym.units import Share

_LABEL_ALL = 14  # with more links than this, what is most common is said once
_LABEL_ALIKE = 6  # and already with more than this where all are alike
_ADDRESSES = 30  # with at most this many hosts each shows its address
_RUNS_SHOWN = 6

Box = tuple[float, float, float, float]  # left, top, right, bottom


@dataclass(frozen=True)
class CardLine:
    """A line of a host's card. ``kind`` is the kind of the component that it names; empty: the host itself."""

    text: str
    kind: str = ""
    # The component that the line names; empty for the name and the address of the host, and for "and 3 more".
    component: str = ""


@dataclass(frozen=True)
class PlacedLink:
    """The path of a link from ``a`` to ``b`` as SVG has it, its label, and the centre of the label."""

    link: PlannedLink
    path: str
    label: str
    at: Point


class TopologyPlacement:
    """Places the nodes and the links of a plan. ``taken`` are the boxes of nodes and labels."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.said, self.labels = _labels(plan.network.links, {host.name for host in plan.network.hosts})
        self.runs: dict[str, list[PlannedComponent]] = {}
        for component in plan.components:
            self.runs.setdefault(component.host, []).append(component)
        self.addresses = len(plan.network.hosts) <= _ADDRESSES
        self.cards = {host.name: self._card(host.name, host.address) for host in plan.network.hosts}
        self.graph = self._graph()
        self.layout = lay_out(self.graph) if self.graph.sizes else Layout()
        self.taken: list[Box] = [self.box(name) for name in self.layout.at]
        self.links = self._place_links()

    def box(self, name: str, margin: float = 2.0) -> Box:
        """The box of a node."""
        x, y = self.layout.at[name]
        width, height = self.graph.sizes[name]
        return (
            x - width / 2 - margin,
            y - height / 2 - margin,
            x + width / 2 + margin,
            y + height / 2 + margin,
        )

    def bounds(self) -> Box:
        """The box around all nodes, labels and links."""
        if not self.taken:
            return 0.0, 0.0, 300.0, 40.0
        lefts, tops, rights, bottoms = zip(*self.taken, strict=True)
        return min(lefts), min(tops), max(rights), max(bottoms)

    def _card(self, name: str, address: str) -> list[CardLine]:
        lines = [CardLine(name)]
        if self.addresses:
            lines.append(CardLine(address))
        runs = self.runs.get(name, [])
        shown = runs if len(runs) <= _RUNS_SHOWN else runs[: _RUNS_SHOWN - 1]
        for part in shown:
            count = f" ×{part.instances}" if part.instances > 1 else ""
            lines.append(CardLine(_short(part.name, 26) + count, part.kind, part.name))
        if len(shown) < len(runs):
            lines.append(CardLine(f"and {len(runs) - len(shown)} more", "more"))
        return lines

    def _graph(self) -> Graph:
        sizes = {}
        for name, lines in self.cards.items():
            widths = [text_width(lines[0].text, 12, bold=True) + 16]
            widths += [text_width(line.text, 10) + (30 if line.kind else 16) for line in lines[1:]]
            sizes[name] = (max(36.0, *widths), 22.0 + 14.0 * (len(lines) - 1))
        for name in self.plan.network.switches:
            sizes[name] = (max(34.0, text_width(name, 12, bold=True) + 20), 24.0)
        joined: dict[str, set[str]] = {name: set() for name in sizes}
        for link in self.plan.network.links:
            joined[link.a].add(link.b)
            joined[link.b].add(link.a)
        near = {name: sorted(others, key=natural) for name, others in joined.items()}
        label_width = max((text_width(text, 10) for text in self.labels.values()), default=0.0)
        return Graph(sizes, set(self.cards), near, min(label_width, 110.0))

    def _place_links(self) -> list[PlacedLink]:
        placed = []
        parallel: Counter[frozenset[str]] = Counter()
        together = Counter(frozenset((link.a, link.b)) for link in self.plan.network.links)
        for link in self.plan.network.links:
            ends = frozenset((link.a, link.b))
            number, among = parallel[ends], together[ends]
            parallel[ends] += 1
            path, way = self._way(link, number - (among - 1) / 2)
            label = self.labels.get(link.name, "")
            placed.append(PlacedLink(link, path, label, self._place_label(label, way) if label else way[0]))
        return placed

    def _way(self, link: PlannedLink, offset: float) -> tuple[str, list[Point]]:
        """The path of a link, and points along it where a label may stand."""
        (ax, ay), (bx, by) = self.layout.at[link.a], self.layout.at[link.b]
        if link.a in self.layout.stacked:
            return self._spine(link.a, link.b, link.name, from_host=True)
        if link.b in self.layout.stacked:
            return self._spine(link.b, link.a, link.name, from_host=False)
        bulge = self.layout.bulging.get(frozenset((link.a, link.b)))
        if bulge is not None:
            x = max(ax, bx) + bulge if bulge > 0 else min(ax, bx) + bulge
            self.taken.append((min(ax, x), min(ay, by), max(ax, x), min(ay, by)))
            points = [((ax + bx) / 2 + (x - (ax + bx) / 2) * 0.75, (ay + by) / 2)]
            return f"M{ax:.1f} {ay:.1f}C{x:.1f} {ay:.1f} {x:.1f} {by:.1f} {bx:.1f} {by:.1f}", points
        length = math.hypot(bx - ax, by - ay) or 1.0
        sx, sy = -(by - ay) / length * offset * 16, (bx - ax) / length * offset * 16
        start, end = _visible((ax, ay), self.box(link.a), (bx, by), self.box(link.b))
        shares = (0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74, 0.2, 0.8)
        points = [(start[0] + (end[0] - start[0]) * t + sx, start[1] + (end[1] - start[1]) * t + sy) for t in shares]
        if not offset:
            return f"M{ax:.1f} {ay:.1f}L{bx:.1f} {by:.1f}", points
        mx, my = (ax + bx) / 2 + 2 * sx, (ay + by) / 2 + 2 * sy
        return f"M{ax:.1f} {ay:.1f}Q{mx:.1f} {my:.1f} {bx:.1f} {by:.1f}", points

    def _spine(self, host: str, switch: str, link: str, *, from_host: bool) -> tuple[str, list[Point]]:
        """The path between a switch and a host that is stacked on a spine, which its neighbours share."""
        (x, y), (hx, hy) = self.layout.at[switch], self.layout.at[host]
        width, _ = self.graph.sizes[host]
        left = hx - width / 2
        spine = left - 9
        turn = y + self.graph.sizes[switch][1] / 2 + 16
        points = [(left + width + 6 + text_width(self.labels.get(link, ""), 10) / 2, hy)]
        if from_host:
            return f"M{left:.1f} {hy:.1f}H{spine:.1f}V{turn:.1f}H{x:.1f}V{y:.1f}", points
        return f"M{x:.1f} {y:.1f}V{turn:.1f}H{spine:.1f}V{hy:.1f}H{left:.1f}", points

    def _place_label(self, text: str, way: list[Point]) -> Point:
        """The first point where the label covers nothing, or the one where it covers least."""
        width = text_width(text, 10) + 4
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
        return best


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """About how wide a text is in a sans-serif font, in pixels."""
    ems = sum(
        0.3 if c in "iljtfrI.,:;'|!-() /" else 0.88 if c in "mwMW%@" else 0.7 if c.isupper() else 0.56 for c in text
    )
    return ems * size * (1.06 if bold else 1.0)


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


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
