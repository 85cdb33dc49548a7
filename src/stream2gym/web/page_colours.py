"""The colours of the page as a style sheet: those of figures and reports, and a few for links and switches."""

from __future__ import annotations

from stream2gym.figures.style import DARK, LIGHT, make_variables

_PAGE_LIGHT = {
    "page": "#f5f6f8", "good-soft": "#e3f3ea", "bad-soft": "#fdeceb", "warn-soft": "#fcf1dc", "switch": "#2f4b6e",
    "idle": "#a9b4c0", "u1": "#2e94cf", "u2": "#00806a", "u3": "#d58400", "u4": "#b3261e",
}  # fmt: skip
_PAGE_DARK = {
    "page": "#12171d", "good-soft": "#143226", "bad-soft": "#431c1a", "warn-soft": "#3a2d12", "switch": "#47699a",
    "idle": "#5a6673", "u1": "#5cb8f0", "u2": "#3fcfae", "u3": "#ffb04a", "u4": "#ff7a70",
}  # fmt: skip


def make_colour_sheet() -> str:
    """Variables in light and in dark."""
    light, dark = make_variables(LIGHT | _PAGE_LIGHT), make_variables(DARK | _PAGE_DARK)
    return f":root{{color-scheme:light dark;{light}}}\n@media (prefers-color-scheme:dark){{:root{{{dark}}}}}\n"
