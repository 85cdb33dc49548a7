"""Draws figures as PDF for papers: one page of the size of the drawing, vectors and text, no other program needed.

The canvas of the SVG is drawn again with the operators of PDF. What a class looks like is read from the same style
sheet (``figures.style``). Text is Helvetica, one of the fonts that every PDF reader has.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Sequence
from functools import cache

from stream2gym.figures.canvas import Canvas, Point, shorten
from stream2gym.figures.figure import Figure
from stream2gym.figures.markup import Markup
from stream2gym.figures.style import LIGHT, make_stylesheet
from stream2gym.figures.svg import DRAWERS, draw_note

_RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")
# How far the control points of a quarter of a circle are from its ends, in radii.
_ARC = 0.5523
# Characters of our figures that WinAnsi lacks.
_SPELLED = {"→": "->", "∞": "inf", "−": "-", "≤": "<=", "≥": ">=", "✓": "ok"}
# Widths of Helvetica in thousandths of its size (Adobe's metrics); other characters are taken as 556.
_WIDTHS = {
    " ": 278, "!": 278, "%": 889, "'": 191, "(": 333, ")": 333, ",": 278, "-": 333, ".": 278, "/": 278, ":": 278,
    ";": 278, "=": 584, ">": 584, "<": 584, "[": 278, "]": 278, "f": 278, "i": 222, "j": 222, "k": 500, "l": 222,
    "m": 833, "c": 500, "r": 333, "s": 500, "t": 278, "v": 500, "w": 722, "x": 500, "y": 500, "z": 500,
    "A": 667, "B": 667, "C": 722, "D": 722, "E": 667, "F": 611, "G": 778, "H": 722, "I": 278, "J": 500, "K": 667,
    "M": 833, "N": 722, "O": 778, "P": 667, "R": 722, "S": 667, "T": 611, "U": 722, "V": 667, "W": 944, "X": 667,
    "Y": 667, "Z": 611, "µ": 556,
}  # fmt: skip
Style = dict[str, str]


def render_pdf(figure: Figure, width: float = 460) -> bytes:
    """The bytes of a PDF file with the figure. The same figure always gives the same bytes."""
    canvas = PdfCanvas(width)
    canvas.text(0, 16, shorten(figure.title, width, 14.5), "head")
    end = DRAWERS[figure.kind](canvas, figure, "figure", 28.0)
    end = draw_note(canvas, figure.note, end)
    return canvas.finish_pdf(end + 6)


class PdfCanvas(Canvas):
    """A canvas whose shapes become operators of PDF. Tips and definitions (hatches) have no place there."""

    def __init__(self, width: float) -> None:
        super().__init__(width)
        self._operators: list[str] = []
        self._opacities: dict[str, str] = {}

    def line(self, start: Point, end: Point, cls: str) -> None:
        self._paint(f"{_pair(start)} m {_pair(end)} l", _find_style(cls), can_fill=False)

    def rect(
        self, x: float, y: float, width: float, height: float, cls: str, *, tip: str = "", fill: str = ""
    ) -> None:
        if not fill:
            self._paint(f"{x:.2f} {y:.2f} {max(width, 0):.2f} {max(height, 0):.2f} re", _find_style(cls))

    def circle(self, center: Point, radius: float, cls: str, *, tip: str = "") -> None:
        (x, y), arc = center, radius * _ARC
        corners = ((x + radius, y), (x, y + radius), (x - radius, y), (x, y - radius), (x + radius, y))
        controls = (
            ((x + radius, y + arc), (x + arc, y + radius)),
            ((x - arc, y + radius), (x - radius, y + arc)),
            ((x - radius, y - arc), (x - arc, y - radius)),
            ((x + arc, y - radius), (x + radius, y - arc)),
        )
        parts = [f"{_pair(corners[0])} m"]
        parts += [
            f"{_pair(one)} {_pair(other)} {_pair(corner)} c"
            for (one, other), corner in zip(controls, corners[1:], strict=True)
        ]
        self._paint(" ".join(parts), _find_style(cls))

    def diamond(self, center: Point, radius: float, cls: str, *, tip: str = "") -> None:
        x, y = center
        rest = ((x + radius, y), (x, y + radius), (x - radius, y))
        path = f"{_pair((x, y - radius))} m " + " ".join(f"{_pair(corner)} l" for corner in rest)
        self._paint(f"{path} h", _find_style(cls))

    def path(
        self, runs: Iterable[Sequence[Point]], cls: str, *, step: bool = False, close: float | None = None
    ) -> None:
        for run in runs:
            points = _make_steps(run) if step else list(run)
            if close is not None:
                points += [(points[-1][0], close), (points[0][0], close)]
            path = f"{_pair(points[0])} m " + " ".join(f"{_pair(point)} l" for point in points[1:])
            self._paint(path + (" h" if close is not None else ""), _find_style(cls), can_fill=close is not None)

    def text(
        self, x: float, y: float, text: str, cls: str, *, anchor: str = "", turn: float = 0, tip: str = ""
    ) -> None:
        style = _find_style(f"{cls} text")
        size = float(style.get("font-size", "12px").removesuffix("px"))
        encoded = _encode(text)
        width = sum(_WIDTHS.get(chr(code) if code != 0xB5 else "µ", 556) for code in encoded) * size / 1000
        left = x - {"end": width, "middle": width / 2}.get(anchor, 0.0)
        font = "F2" if style.get("font-weight") == "600" else "F1"
        colour = _rgb(style.get("fill", LIGHT["ink"]))
        self._operators.append(
            f"BT {colour} rg /{font} {size:g} Tf 1 0 0 -1 {left:.2f} {y:.2f} Tm <{encoded.hex()}> Tj ET"
        )

    def define(self, definition: Markup) -> None:
        """Leave hatches out."""

    def _paint(self, path: str, style: Style, *, can_fill: bool = True) -> None:
        fill = style.get("fill", "none") if can_fill else "none"
        stroke = style.get("stroke", "none")
        if fill == "none" and stroke == "none":
            return
        words = ["q", self._use_opacity(style)]
        if fill != "none":
            words.append(f"{_rgb(fill)} rg")
        if stroke != "none":
            dashes = style.get("stroke-dasharray", "none")
            words.append(f"{_rgb(stroke)} RG {style.get('stroke-width', '1')} w 1 j 1 J")
            words.append("[] 0 d" if dashes == "none" else f"[{dashes}] 0 d")
        paint = "B" if fill != "none" and stroke != "none" else "f" if fill != "none" else "S"
        self._operators.append(" ".join(filter(None, (*words, path, paint, "Q"))))

    def _use_opacity(self, style: Style) -> str:
        opacity = style.get("fill-opacity") or style.get("stroke-opacity")
        if opacity is None:
            return ""
        name = self._opacities.setdefault(opacity, f"G{len(self._opacities)}")
        return f"/{name} gs"

    def finish_pdf(self, height: float) -> bytes:
        """The whole file."""
        # PDF counts y from the bottom.
        content = f"1 0 0 -1 0 {height:.2f} cm\n" + "\n".join(self._operators)
        packed = zlib.compress(content.encode("ascii"), 9)
        states = " ".join(f"/{name} << /ca {value} /CA {value}>>" for value, name in self._opacities.items())
        font = "<< /Type /Font /Subtype /Type1 /BaseFont /{} /Encoding /WinAnsiEncoding>>"
        resources = f"<< /Font << /F1 4 0 R /F2 5 0 R>> /ExtGState << {states} >>>>"
        page = f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {self.width:.2f} {height:.2f}]"
        objects = [
            b"<< /Type /Catalog /Pages 2 0 R>>",
            b"<< /Type /Pages /Kids [3 0 R] /Count 1>>",
            f"{page} /Resources {resources} /Contents 6 0 R>>".encode("ascii"),
            font.format("Helvetica").encode("ascii"),
            font.format("Helvetica-Bold").encode("ascii"),
            f"<< /Length {len(packed)} /Filter /FlateDecode>>\nstream\n".encode("ascii") + packed + b"\nendstream",
        ]
        return _join_objects(objects)


def _join_objects(objects: Sequence[bytes]) -> bytes:
    data = bytearray(b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n")
    places = []
    for number, body in enumerate(objects, 1):
        places.append(len(data))
        data += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    table = len(data)
    data += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    data += b"".join(b"%010d 00000 n \n" % place for place in places)
    data += b"trailer\n<< /Size %d /Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, table)
    return bytes(data)


@cache
def _rules() -> tuple[tuple[frozenset[str], tuple[tuple[str, str], ...]], ...]:
    """The rules of the style sheet: the classes that a shape must have, and what they say."""
    found = []
    for selector, body in _RULE.findall(make_stylesheet(LIGHT)):
        words = selector.replace(".s2g-fig", "").split()
        classes = frozenset(name for word in words for name in word.split(".") if name)
        said = tuple(
            (key.strip(), value.strip()) for key, _, value in (one.partition(":") for one in body.split(";"))
        )
        found.append((classes, said))
    return tuple(sorted(found, key=lambda rule: len(rule[0])))


@cache
def _find_style(cls: str) -> Style:
    """What the style sheet says of a shape with these classes; rules with more classes come last."""
    wanted = frozenset(cls.split())
    style: Style = {}
    for classes, said in _rules():
        if classes and classes <= wanted:
            style |= dict(said)
    return style


def _rgb(colour: str) -> str:
    number = int(colour.removeprefix("#"), 16)
    return " ".join(f"{(number >> shift & 255) / 255:.3f}" for shift in (16, 8, 0))


def _pair(point: Point) -> str:
    return f"{point[0]:.2f} {point[1]:.2f}"


def _make_steps(run: Sequence[Point]) -> list[Point]:
    points = [run[0]]
    for x, y in run[1:]:
        points += [(x, points[-1][1]), (x, y)]
    return points


def _encode(text: str) -> bytes:
    spelled = "".join(_SPELLED.get(letter, letter) for letter in text)
    return spelled.encode("cp1252", "replace")
