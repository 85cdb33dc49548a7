"""The few shapes of SVG that figures need, with escaped text, fixed digits and therefore the same output for
the same figure. What a shape looks like is decided by its classes in ``figures.style``."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from html import escape

Point = tuple[float, float]

_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_NARROW_LETTERS = frozenset("iljtfr.,:;'|!()[] I1")
_BROAD_LETTERS = frozenset("mwMW@%→…×")


def clean(text: object) -> str:
    """Text without what XML cannot hold."""
    return _FORBIDDEN.sub("\ufffd", str(text))


def escaped(text: object) -> str:
    """Text that is safe inside elements and quoted attributes of HTML and SVG."""
    return escape(clean(text), quote=True)


def text_width(text: str, size: float = 12.0) -> float:
    """Roughly how wide a text is; a little too much rather than too little."""
    return size * sum(_letter(letter) for letter in text)


def _letter(letter: str) -> float:
    if letter in _NARROW_LETTERS:
        return 0.36
    if letter in _BROAD_LETTERS:
        return 0.95
    if unicodedata.east_asian_width(letter) in "WF":
        return 1.05
    return 0.7 if letter.isupper() else 0.61


def shortened(text: str, room: float, size: float = 12.0) -> str:
    """The text, or as much of its start and end as fits, since the ends tell names apart."""
    if text_width(text, size) <= room:
        return text
    for kept in range(len(text) - 1, 1, -1):
        head = math.ceil(kept * 0.6)
        candidate = f"{text[:head]}…{text[len(text) - (kept - head) :]}"
        if text_width(candidate, size) <= room:
            return candidate
    return "…"


def num(value: float) -> str:
    text = f"{value:.1f}"
    return text[:-2] if text.endswith(".0") else text


class Canvas:
    """Collects shapes; ``finish`` gives the whole drawing."""

    def __init__(self, width: float) -> None:
        self.width = width
        self._parts: list[str] = []
        self._defs: list[str] = []

    def line(self, start: Point, end: Point, cls: str) -> None:
        (x1, y1), (x2, y2) = start, end
        self._add(f'<line class="{cls}" x1="{num(x1)}" y1="{num(y1)}" x2="{num(x2)}" y2="{num(y2)}"/>')

    def rect(
        self, x: float, y: float, width: float, height: float, cls: str, *, tip: str = "", extra: str = ""
    ) -> None:
        place = f'x="{num(x)}" y="{num(y)}" width="{num(max(width, 0))}" height="{num(max(height, 0))}"'
        self._add(f'<rect class="{cls}" {place}{extra}{_closed("rect", tip)}')

    def circle(self, center: Point, radius: float, cls: str, *, tip: str = "") -> None:
        place = f'cx="{num(center[0])}" cy="{num(center[1])}" r="{num(radius)}"'
        self._add(f'<circle class="{cls}" {place}{_closed("circle", tip)}')

    def text(
        self,
        x: float,
        y: float,
        text: str,
        cls: str,
        *,
        anchor: str = "start",
        turn: float = 0,
        tip: str = "",
    ) -> None:
        where = f'x="{num(x)}" y="{num(y)}"' + (f' text-anchor="{anchor}"' if anchor != "start" else "")
        turned = f' transform="rotate({num(turn)} {num(x)} {num(y)})"' if turn else ""
        inside = (f"<title>{escaped(tip)}</title>" if tip else "") + escaped(text)
        self._add(f'<text class="{cls}" {where}{turned}>{inside}</text>')

    def path(
        self, runs: Iterable[Sequence[Point]], cls: str, *, step: bool = False, close: float | None = None
    ) -> None:
        """Lines through runs of points; ``close`` brings each run down to that y, for an area."""
        data = []
        for run in runs:
            data.append(_steps(run) if step else "M" + "L".join(f"{num(x)} {num(y)}" for x, y in run))
            if close is not None:
                data.append(f"V{num(close)}H{num(run[0][0])}Z")
        if data:
            self._add(f'<path class="{cls}" d="{"".join(data)}"/>')

    def diamond(self, center: Point, radius: float, cls: str, *, tip: str = "") -> None:
        x, y = center
        corners = ((x, y - radius), (x + radius, y), (x, y + radius), (x - radius, y))
        points = " ".join(f"{num(px)},{num(py)}" for px, py in corners)
        self._add(f'<polygon class="{cls}" points="{points}"{_closed("polygon", tip)}')

    def define(self, definition: str) -> None:
        if definition not in self._defs:
            self._defs.append(definition)

    def finish(self, height: float, *, ident: str, title: str, desc: str, style: str = "") -> str:
        size = f'width="{num(self.width)}" height="{num(height)}"'
        defs = f"<defs>{''.join(self._defs)}</defs>" if self._defs else ""
        sheet = f"<style>{style}</style>" if style else ""
        back = f'<rect class="bg" {size}/>' if style else ""
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="s2g-fig" viewBox="0 0 {num(self.width)} {num(height)}" '
            f'{size} role="img" aria-labelledby="{ident}-t {ident}-d">'
            f'<title id="{ident}-t">{escaped(title)}</title><desc id="{ident}-d">{escaped(desc)}</desc>'
            f"{sheet}{defs}{back}{''.join(self._parts)}</svg>"
        )

    def _add(self, part: str) -> None:
        self._parts.append(part)


def _closed(tag: str, tip: str) -> str:
    return f"><title>{escaped(tip)}</title></{tag}>" if tip else "/>"


def _steps(run: Sequence[Point]) -> str:
    data = f"M{num(run[0][0])} {num(run[0][1])}"
    return data + "".join(f"H{num(x)}V{num(y)}" for x, y in run[1:])
