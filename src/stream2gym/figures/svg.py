"""Draws figures as SVG, without a plotting library. The same figure always gives the same bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stream2gym.figures.bars import draw_bars
from stream2gym.figures.canvas import Canvas, shorten, wrap
from stream2gym.figures.chart import draw_chart, draw_histogram
from stream2gym.figures.describe import describe
from stream2gym.figures.figure import Figure
from stream2gym.figures.figure_csv import make_slug
from stream2gym.figures.markup import Markup, trust
from stream2gym.figures.matrix import draw_matrix
from stream2gym.figures.style import make_own_stylesheet
from stream2gym.figures.timeline_figure import draw_timeline

DRAWERS: dict[str, Callable[[Canvas, Any, str, float], float]] = {
    "chart": draw_chart,
    "histogram": draw_histogram,
    "bars": draw_bars,
    "matrix": draw_matrix,
    "timeline": draw_timeline,
}


def render(figure: Figure, width: float = 520) -> Markup:
    """The drawing for a page that has the title and ``figures.style.make_page_stylesheet``."""
    canvas = Canvas(width)
    ident = f"{make_slug(figure.name)}-{width:.0f}"
    end = DRAWERS[figure.kind](canvas, figure, ident, 2.0)
    return canvas.finish(end + 2, ident=ident, title=figure.title, desc=describe(figure))


def render_file(figure: Figure, width: float = 720) -> str:
    """The text of a file that stands alone: with its title and its own style, light and dark."""
    canvas = Canvas(width)
    canvas.text(0, 16, shorten(figure.title, width, 14.5), "head")
    ident = make_slug(figure.name)
    end = DRAWERS[figure.kind](canvas, figure, ident, 28.0)
    end = draw_note(canvas, figure.note, end)
    style = trust(make_own_stylesheet())
    drawing = canvas.finish(end + 4, ident=ident, title=figure.title, desc=describe(figure), style=style)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{drawing.source}\n'


def draw_note(canvas: Canvas, note: str, top: float) -> float:
    """Draw the note of a figure below it. Returns where the note ends."""
    lines = wrap(note, canvas.width, 11)
    for number, line in enumerate(lines):
        canvas.text(0, top + 12 + 14 * number, line, "soft small")
    return top + 14 * len(lines) + (4 if lines else 0)
