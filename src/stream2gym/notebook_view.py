"""Shows a run in a cell of a notebook while it goes on: its phases, the load so far, and what happened.

It is the view of ``stream2gym.run`` inside a Jupyter kernel. The cell is drawn anew a few times a second, in place.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from stream2gym.execution.event_words import shown_event, shown_progress
from stream2gym.execution.view import LoadProgress, SilentView, View
from stream2gym.figures.markup import EMPTY, element, empty_element, join

EVERY_S = 0.3
MOST_EVENTS = 6
_GREY = "color: gray"


def find_view(load_s: float | None = None, nodes: Mapping[int, str] | None = None) -> View:
    """The view for whoever called: the cell of a notebook, or none."""
    display = find_display()
    return SilentView() if display is None else NotebookView(display, load_s, nodes)


def find_display() -> Callable[[str], None] | None:
    """A function that draws HTML in the current cell, each time in the place of what it drew before. None outside
    of notebooks."""
    # Only whoever runs in a notebook has it.
    ipython: Any = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is None or not hasattr(shell, "kernel"):
        return None
    html, display = ipython.display.HTML, ipython.display.display
    handle = display(html(""), display_id=True)
    return lambda text: handle.update(html(text))


class NotebookView:
    """Draws a run through ``draw``, which takes HTML."""

    def __init__(
        self, draw: Callable[[str], None], load_s: float | None, nodes: Mapping[int, str] | None = None
    ) -> None:
        self._draw = draw
        self._load_s = load_s
        self._nodes = nodes
        self._began = time.monotonic()
        self._next = 0.0
        self._phases: list[tuple[str, float]] = []
        self._progress = LoadProgress()
        self._events: deque[str] = deque(maxlen=MOST_EVENTS)
        self._lock = threading.Lock()

    def phase(self, name: str) -> None:
        self._phases.append((name, time.monotonic()))
        self._show(at_once=True)

    def event(self, event: dict[str, Any]) -> None:
        text = shown_event(event, self._nodes)
        if text is not None:
            self.note(text)

    def progress(self, progress: LoadProgress) -> None:
        self._progress = progress
        self._show()

    def note(self, text: str) -> None:
        self._events.append(f"{time.monotonic() - self._began:.1f} s: {text}")
        self._show(at_once=True)

    def _show(self, *, at_once: bool = False) -> None:
        with self._lock:
            now = time.monotonic()
            if not at_once and now < self._next:
                return
            self._next = now + EVERY_S
            html = self.make_html(now)
            # A page that is gone must not end the run.
            with contextlib.suppress(Exception):
                self._draw(html)

    def make_html(self, now: float) -> str:
        """The cell: phases with their times, a bar of the load, its counts, the last events."""
        words = []
        ends = [*(began for _, began in self._phases[1:]), now]
        for (name, began), end in zip(self._phases, ends, strict=False):
            words.append(f"{name} {end - began:.1f} s")
        done = " › ".join(words[:-1]) + (" › " if len(words) > 1 else "")
        head = element("div", done, element("b", words[-1] if words else ""))
        bar = EMPTY
        if self._load_s and self._progress.load_s is not None:
            share = min(1.0, max(0.0, self._progress.load_s / self._load_s))
            bar = element("progress", value=f"{share:.3f}", max="1", style="width: 24em")
        counts = element("div", shown_progress(self._progress)) if self._progress.sent else EMPTY
        lines = join((element("div", text, style=_GREY) for text in self._events), "\n")
        return (head + bar + counts + lines + empty_element("br")).source
