"""What a person reads at the end of a run: the counts at once, then the verdict and where everything lies."""

from __future__ import annotations

import sys
from typing import TextIO

from stream2gym.api import Result
from stream2gym.gym import Outcome
from stream2gym.record.folder import RunFolder

_COLOURS = {"pass": "\x1b[1;32m", "fail": "\x1b[1;31m", "unknown": "\x1b[1;33m"}


class Teller:
    """Prints to standard output; says nothing when machines read it."""

    def __init__(self, *, quiet: bool, out: TextIO | None = None) -> None:
        self._quiet = quiet
        self._out = out or sys.stdout

    def counts(self, outcome: Outcome, folder: RunFolder) -> None:
        """As soon as the record is safe."""
        if self._quiet:
            return
        words = ", ".join(f"{count:,} {key}" for key, count in outcome.counts.items())
        self._say(f"{folder.path.name}: {words}")

    def result(self, result: Result) -> None:
        if self._quiet:
            return
        self._say(f"verdict: {self._coloured(result.verdict)}")
        for reason in result.reasons:
            self._say(f"  {reason}")
        self._say(f"record:  {result.path}")
        if result.report is not None:
            self._say(f"report:  {result.report}")

    def _coloured(self, verdict: str) -> str:
        return f"{_COLOURS[verdict]}{verdict}\x1b[0m" if self._out.isatty() else verdict

    def _say(self, text: str) -> None:
        print(text, file=self._out, flush=True)
