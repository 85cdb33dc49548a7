"""Writes down what happens in a run while it goes on (events, samples) and shows it to whoever watches.

A full disk must not end the thread that noticed it: the first problem is kept in ``failure``, which ends the run.
"""

from __future__ import annotations

import contextlib
import threading
from typing import Any

from stream2gym.errors import Defect, S2gError
from stream2gym.execution.view import View
from stream2gym.record.folder import RunFolder
from stream2gym.record.journal import RecordFull
from stream2gym.record.journal_writers import SampleLog


class RunRecorder:
    """Records events and samples of one run. Any thread may call it."""

    def __init__(self, folder: RunFolder, view: View) -> None:
        self.folder = folder
        self.view = view
        self.failure: S2gError | None = None
        self._samples = SampleLog(folder.raw, "monitors")
        self._sampling = threading.Lock()

    def tell(self, kind: str, **details: Any) -> None:
        """Write an event down and show it."""
        try:
            event = self.folder.events.add(kind, **details)
        except OSError as error:
            self._fail(Defect(f"no room left for the record: events cannot be written ({error.strerror})"))
            event = {"event": kind, **details}
        self.view.event(event)

    def sample(self, source: str, obj: str, metric: str, value: float, at_ns: int | None = None) -> None:
        """Write a measured number down."""
        with self._sampling:
            try:
                self._samples.add(source, obj, metric, value, at_ns=at_ns)
            except RecordFull as error:
                self._fail(error)
            except ValueError:
                pass  # the journal is closed: this number came too late

    def phase(self, name: str, at_ns: int | None = None) -> None:
        """Record and show that the next phase of the run begins."""
        self.tell("phase", phase=name, at_ns=at_ns)
        with contextlib.suppress(OSError):
            self.folder.set_phase(name)
        self.view.phase(name)

    def close(self) -> None:
        """Close the samples; events can still be recorded."""
        with self._sampling, contextlib.suppress(OSError):
            self._samples.close()

    def _fail(self, error: S2gError) -> None:
        """Keep the first reason why the run cannot go on."""
        self.failure = self.failure or error
