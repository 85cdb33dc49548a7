"""The few shapes of SVG that figures need. Digits are fixed, so that the same figure gives the same output. What a
shape looks like is decided by its classes in ``figures.style``."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Sequence

from stream2gym.figures.markup import EMPTY, Markup, element, empty_element, join

Point = tuple[float, float]

SVG_NAMESPACE = "http://www.w3.org/2000/svg"
_NARROW_LETTERS = frozenset("iljtfr.,:;'|!()[] I1")
_BROAD_LETTERS = frozenset("mwMW@%→←…×")


def text_width(text: str, size: float = 12.0) -> float:
    """About how wide a text is, rather too much than too little."""
    return size * sum(_letter(letter) for letter in text)


def _letter(letter: str) -> float:
    if letter in _NARROW_LETTERS:
        return 0.36
    if letter in _BROAD_LETTERS:
        return 0.95
    if unicodedata.east_asian_width(letter) in "WF":
        return 1.05
    return 0.7 if letter.isupper() else 0.61


def shorten(text: str, room: float, size: float = 12.0) -> str:
    """The text, or as much of its start and its end as fits. Both are kept, because names often differ at their
    ends."""
    if text_width(text, size) <= room:
        return text
    for kept in range(len(text) - 1, 1, -1):
        head = math.ceil(kept * 0.6)
        candidate = f"{text[:head]}…{text[len(text) - (kept - head) :]}"
        if text_width(candidate, size) <= room:
            return candidate
    return "…"


def wrap(text: str, room: float, size: float = 12.0) -> list[str]:
    """The text in lines that fit. A word that is longer than a line is shortened."""
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and text_width(longer, size) <= room:
            lines[-1] = longer
        else:
            lines.append(shorten(word, room, size))
    return lines


def _pixels(value: float) -> str:
    text = f"{value:.1f}"
    return text[:-2] if text.endswith(".0") else text


class Canvas:
    """Collects shapes; ``finish`` gives the whole drawing."""

    def __init__(self, width: float) -> None:
        self.width = width
        self._shapes: list[Markup] = []
        self._definitions: list[Markup] = []

    def line(self, start: Point, end: Point, cls: str) -> None:
        (x1, y1), (x2, y2) = start, end
        self._add(
            "line",
            class_=cls,
            x1=_pixels(x1),
            y1=_pixels(y1),
            x2=_pixels(x2),
            y2=_pixels(y2),
        )

    def rect(
        self, x: float, y: float, width: float, height: float, cls: str, *, tip: str = "", fill: str = ""
    ) -> None:
        size = {"width": _pixels(max(width, 0)), "height": _pixels(max(height, 0))}
        self._add("rect", tip, class_=cls, x=_pixels(x), y=_pixels(y), **size, fill=fill)

    def circle(self, center: Point, radius: float, cls: str, *, tip: str = "") -> None:
        self._add(
            "circle",
            tip,
            class_=cls,
            cx=_pixels(center[0]),
            cy=_pixels(center[1]),
            r=_pixels(radius),
        )

    def text(
        self,
        x: float,
        y: float,
        text: str,
        cls: str,
        *,
        anchor: str = "",
        turn: float = 0,
        tip: str = "",
    ) -> None:
        turned = f"rotate({_pixels(turn)} {_pixels(x)} {_pixels(y)})" if turn else ""
        attributes = {
            "class_": cls,
            "x": _pixels(x),
            "y": _pixels(y),
            "text_anchor": anchor,
            "transform": turned,
        }
        self._shapes.append(element("text", _tooltip(tip), text, **attributes))

    def path(
        self, runs: Iterable[Sequence[Point]], cls: str, *, step: bool = False, close: float | None = None
    ) -> None:
        """Draw lines through runs of points. ``close``: each run is closed at that y, which makes an area."""
        data = []
        for run in runs:
            data.append(_steps(run) if step else "M" + "L".join(f"{_pixels(x)} {_pixels(y)}" for x, y in run))
            if close is not None:
                data.append(f"V{_pixels(close)}H{_pixels(run[0][0])}Z")
        if data:
            self._add("path", class_=cls, d="".join(data))

    def diamond(self, center: Point, radius: float, cls: str, *, tip: str = "") -> None:
        x, y = center
        corners = ((x, y - radius), (x + radius, y), (x, y + radius), (x - radius, y))
        points = " ".join(f"{_pixels(px)},{_pixels(py)}" for px, py in corners)
        self._add("polygon", tip, class_=cls, points=points)

    def define(self, definition: Markup) -> None:
        if definition not in self._definitions:
            self._definitions.append(definition)

    def finish(self, height: float, *, ident: str, title: str, desc: str, style: Markup = EMPTY) -> Markup:
        size = {"width": _pixels(self.width), "height": _pixels(height)}
        parts = [element("title", title, id=f"{ident}-t"), element("desc", desc, id=f"{ident}-d")]
        if style != EMPTY:
            parts.append(element("style", style))
        if self._definitions:
            parts.append(element("defs", *self._definitions))
        if style != EMPTY:
            parts.append(empty_element("rect", class_="bg", **size))
        return element(
            "svg",
            *parts,
            join(self._shapes),
            xmlns=SVG_NAMESPACE,
            class_="s2g-fig",
            viewBox=f"0 0 {_pixels(self.width)} {_pixels(height)}",
            **size,
            role="img",
            aria_labelledby=f"{ident}-t {ident}-d",
        )

    def _add(self, tag: str, tip: str = "", /, **attributes: str) -> None:
        self._shapes.append(element(tag, _tooltip(tip), **attributes) if tip else empty_element(tag, **attributes))


def _tooltip(text: str) -> Markup:
    return element("title", text) if text else EMPTY


def _steps(run: Sequence[Point]) -> str:
    data = f"M{_pixels(run[0][0])} {_pixels(run[0][1])}"
    return data + "".join(f"H{_pixels(x)}V{_pixels(y)}" for x, y in run[1:])
