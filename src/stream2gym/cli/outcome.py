"""What a person reads at the end of a run: the counts at once, then the verdict and where everything lies."""

from __future__ import annotations

import sys
from typing import TextIO

from stream2gym.api import Result
from stream2gym.gym import Outcome
from stream2gym.judge.verdict import Judgement
from stream2gym.record.folder import RunFolder

_COLOURS = {"pass": "\x1b[32m", "fail": "\x1b[31m", "unknown": "\x1b[33m"}


class Teller:
    """Prints to standard output; says nothing when machines read it."""

    def __init__(self, *, quiet: bool, out: TextIO | None = None) -> None:
        self._quiet = quiet
        self._out = out or sys.stdout

    def counts(self, outcome: Outcome, folder: RunFolder) -> None:
        """As soon as the record is safe."""
        from stream2gym.analysis.quick import quick_counts

        if outcome.rows:
            self._say(f"{folder.path.name}: {quick_counts(folder.path)}")

    def result(self, result: Result) -> None:
        width = max((len(one.text) for one in result.judged.judgements), default=0)
        for one in result.judged.judgements:
            self._say(f"  {self._word(one.outcome, 7)}  {one.text:<{width}}  {judgement_words(one)}".rstrip())
            for evidence in one.evidence if one.outcome != "pass" else ():
                self._say(f"           {evidence}")
        for reason in (*result.judged.failures, *result.judged.doubts):
            self._say(f"  {reason}")
        for warning in result.judged.warnings:
            self._say(f"  warning: {warning}")
        self._say(f"verdict: {self._word(result.verdict)}")
        self._say(f"record:  {result.path}")
        if result.report is not None:
            self._say(f"report:  {result.report}")

    def _word(self, outcome: str, width: int = 0) -> str:
        padded = f"{outcome:<{width}}"
        return f"{_COLOURS[outcome]}{padded}\x1b[0m" if self._out.isatty() else padded

    def _say(self, text: str) -> None:
        if not self._quiet:
            print(text, file=self._out, flush=True)


def judgement_words(one: Judgement) -> str:
    """What was measured, and why that may not count."""
    return ": ".join(part for part in (one.shown, one.reason) if part)
