"""The one renderer from figures to SVG. Small, without a plotting library, the same bytes for the same figure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stream2gym.figures.bars import draw_bars
from stream2gym.figures.chart import draw_chart, draw_histogram
from stream2gym.figures.describe import describe
from stream2gym.figures.draw import Canvas, shortened
from stream2gym.figures.export import slug
from stream2gym.figures.matrix import draw_matrix
from stream2gym.figures.model import Figure
from stream2gym.figures.style import own_stylesheet
from stream2gym.figures.timeline import draw_timeline

_DRAWERS: dict[str, Callable[[Canvas, Any, str, float], float]] = {
    "chart": draw_chart,
    "histogram": draw_histogram,
    "bars": draw_bars,
    "matrix": draw_matrix,
    "timeline": draw_timeline,
}


def render(figure: Figure, width: float = 520) -> str:
    """For a page that holds the title and ``figures.style.page_stylesheet``."""
    canvas = Canvas(width)
    ident = f"{slug(figure.name)}-{width:.0f}"
    end = _DRAWERS[figure.kind](canvas, figure, ident, 2.0)
    return canvas.finish(end + 2, ident=ident, title=figure.title, desc=describe(figure))


def render_file(figure: Figure, width: float = 720) -> str:
    """For a file that stands alone: with its title and its own style, light and dark."""
    canvas = Canvas(width)
    canvas.text(0, 16, shortened(figure.title, width, 14.5), "head")
    ident = slug(figure.name)
    end = _DRAWERS[figure.kind](canvas, figure, ident, 28.0)
    if figure.note:
        canvas.text(0, end + 12, shortened(figure.note, width, 11), "soft small")
        end += 18
    drawing = canvas.finish(
        end + 4, ident=ident, title=figure.title, desc=describe(figure), style=own_stylesheet()
    )
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{drawing}\n'
