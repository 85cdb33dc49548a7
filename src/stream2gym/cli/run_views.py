"""Shows a run while it goes on: a live line on a terminal, plain lines elsewhere, JSON lines for machines."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Mapping
from typing import Any, TextIO

from stream2gym.execution.event_words import shown_event, shown_progress
from stream2gym.execution.view import LoadProgress

PLAIN_EVERY_S = 5.0


class Plain:
    """A line for each phase and each event that matters; the progress of the load every few seconds."""

    def __init__(self, out: TextIO = sys.stderr, nodes: Mapping[int, str] | None = None) -> None:
        self._out = out
        self._nodes = nodes
        self._began = time.monotonic()
        self._phase = ""
        self._next = 0.0
        self._lock = threading.Lock()

    def phase(self, name: str) -> None:
        self._phase = name
        self._next = time.monotonic() + PLAIN_EVERY_S
        self._line(name)

    def event(self, event: dict[str, Any]) -> None:
        text = shown_event(event, self._nodes)
        if text is not None:
            self._line(text)

    def progress(self, progress: LoadProgress) -> None:
        if self._phase in ("warmup", "load", "grace", "drain") and time.monotonic() >= self._next:
            self._next = time.monotonic() + PLAIN_EVERY_S
            self._line(shown_progress(progress))

    def note(self, text: str) -> None:
        self._line(text)

    def close(self) -> None: ...

    def _line(self, text: str) -> None:
        with self._lock:
            print(f"[{time.monotonic() - self._began:7.1f} s] {text}", file=self._out, flush=True)


class JsonLines:
    """Every event, and the progress of the load, as one JSON object on each line."""

    def __init__(self, out: TextIO = sys.stderr) -> None:
        self._out = out
        self._lock = threading.Lock()

    def phase(self, name: str) -> None: ...

    def event(self, event: dict[str, Any]) -> None:
        self._line(event)

    def progress(self, progress: LoadProgress) -> None:
        self._line({"numbers": progress.as_json()})

    def note(self, text: str) -> None:
        self._line({"note": text})

    def close(self) -> None: ...

    def _line(self, value: dict[str, Any]) -> None:
        with self._lock:
            print(json.dumps(value, default=str), file=self._out, flush=True)


class Live:
    """One line that changes in place; events are printed above it."""

    def __init__(self, nodes: Mapping[int, str] | None = None) -> None:
        from rich.console import Console
        from rich.live import Live as RichLive

        self._nodes = nodes
        self._console = Console(stderr=True)
        self._began = time.monotonic()
        self._phase = ""
        self._note = ""
        self._progress = LoadProgress()
        self._faults: list[str] = []
        self._live = RichLive(
            console=self._console, get_renderable=self._render, refresh_per_second=4, transient=True
        )
        self._live.start()

    def phase(self, name: str) -> None:
        self._phase, self._note = name, ""

    def event(self, event: dict[str, Any]) -> None:
        if event.get("event") == "fault-applied":
            self._faults.append(str(event.get("fault")))
        if event.get("event") == "fault-healed" and str(event.get("fault")) in self._faults:
            self._faults.remove(str(event.get("fault")))
        text = shown_event(event, self._nodes)
        if text is not None:
            style = "red" if event["event"] in ("died", "run-failed") else "yellow"
            self._console.print(f"{time.monotonic() - self._began:6.1f} s  {text}", style=style, markup=False)

    def progress(self, progress: LoadProgress) -> None:
        self._progress = progress

    def note(self, text: str) -> None:
        self._note = text

    def close(self) -> None:
        self._live.stop()

    def _render(self) -> Any:
        from rich.text import Text

        text = Text.assemble(
            (f"{time.monotonic() - self._began:6.1f} s ", "dim"), (f" {self._phase} ", "bold reverse")
        )
        if self._progress.load_s is not None and self._phase == "load":
            text.append(f" {self._progress.load_s:.1f} s", "bold")
        if self._progress.sent or self._progress.received:
            text.append("  " + shown_progress(self._progress))
        if self._faults:
            text.append("  faults: " + ", ".join(self._faults), "red")
        if self._note:
            text.append("  " + self._note, "yellow")
        return text


def choose_view(*, as_json: bool, nodes: Mapping[int, str] | None = None) -> Plain | JsonLines | Live:
    """The view for this output: a terminal, a file, or a machine. ``nodes`` has the names of brokers."""
    if as_json:
        return JsonLines()
    return Live(nodes) if sys.stderr.isatty() else Plain(nodes=nodes)
