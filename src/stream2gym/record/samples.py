"""What monitors saw: one number at a time, in a journal of the run folder's ``raw/``."""

from __future__ import annotations

import time
from pathlib import Path

from stream2gym.record.journal import MARK, SAMPLES, Identity, Journal


class SampleLog:
    """The writer. Each monitor process has its own, named after it."""

    def __init__(self, raw: Path, name: str, *, incarnation: int = 1) -> None:
        identity = Identity(name, incarnation=incarnation)
        self._journal = Journal(raw / identity.file_name(SAMPLES.schema), SAMPLES, identity, kept=1)

    def add(self, source: str, obj: str, metric: str, value: float, *, at_ns: int | None = None) -> None:
        """``source`` is who measured (fabric, process, kafka ...), ``obj`` what was measured."""
        number = self._journal.number
        at_ns = time.monotonic_ns() if at_ns is None else at_ns
        self._journal.append(at_ns, float(value), number(source), number(obj), number(metric), MARK)

    def close(self) -> None:
        self._journal.close()
