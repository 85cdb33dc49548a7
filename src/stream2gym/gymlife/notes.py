"""What a run writes down while it goes on: events and samples, from any thread, shown to whoever watches.

A full disk must not kill the thread that noticed it: the first problem is kept in ``broken`` and ends the run.
"""

from __future__ import annotations

import contextlib
import threading
from typing import Any

from stream2gym.errors import Defect, S2gError
from stream2gym.gymlife.view import View
from stream2gym.record.folder import RunFolder
from stream2gym.record.journal import RecordFull
from stream2gym.record.samples import SampleLog


class Notes:
    """The pen of one run."""

    def __init__(self, folder: RunFolder, view: View) -> None:
        self.folder = folder
        self.view = view
        self.broken: S2gError | None = None
        self._samples = SampleLog(folder.raw, "monitors")
        self._sampling = threading.Lock()

    def tell(self, kind: str, **details: Any) -> None:
        """Write an event down and show it."""
        try:
            event = self.folder.events.add(kind, **details)
        except OSError as error:
            self.give_up(Defect(f"no room left for the record: events cannot be written ({error.strerror})"))
            event = {"event": kind, **details}
        self.view.event(event)

    def sample(self, source: str, obj: str, metric: str, value: float, at_ns: int | None = None) -> None:
        """Write a number down."""
        with self._sampling:
            try:
                self._samples.add(source, obj, metric, value, at_ns=at_ns)
            except (RecordFull, ValueError) as error:  # ValueError: a late word after the journal was closed
                if isinstance(error, RecordFull):
                    self.give_up(error)

    def phase(self, name: str, at_ns: int | None = None) -> None:
        """The next part of the run's life begins."""
        self.tell("phase", phase=name, at_ns=at_ns)
        with contextlib.suppress(OSError):
            self.folder.set_phase(name)
        self.view.phase(name)

    def give_up(self, error: S2gError) -> None:
        """The run cannot go on because of this; the first reason counts."""
        self.broken = self.broken or error

    def close(self) -> None:
        with self._sampling, contextlib.suppress(OSError):
            self._samples.close()
