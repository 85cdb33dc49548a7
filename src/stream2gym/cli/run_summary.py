"""What is printed at the end of a run: the counts at once, then the verdict, the paths of record and report, and
the findings."""

from __future__ import annotations

import sys
from typing import TextIO

from stream2gym.api import Result
from stream2gym.execution.run_control import Outcome
from stream2gym.judge.verdict import Judgement, Verdict
from stream2gym.record.folder import RunFolder

_COLOURS = {"pass": "\x1b[32m", "fail": "\x1b[31m", "unknown": "\x1b[33m"}


class SummaryPrinter:
    """Prints to standard output; prints nothing with ``--json``."""

    def __init__(self, *, quiet: bool, out: TextIO | None = None) -> None:
        self._quiet = quiet
        self._out = out or sys.stdout

    def counts(self, outcome: Outcome, folder: RunFolder) -> None:
        """Print the counts; called as soon as the record is sealed."""
        from stream2gym.analysis.message_totals import count_totals

        if outcome.rows:
            self._say(f"{folder.path.name}: {count_totals(folder.path)}")

    def result(self, result: Result) -> None:
        self.verdict(result.judged)
        self._say(f"record:  {result.path}")
        if result.report is not None:
            self._say(f"report:  {result.report}")
        for finding in result.findings if not self._quiet else ():
            self._say(finding)

    def verdict(self, judged: Verdict) -> None:
        """Print every expectation with what was measured, then the verdict."""
        width = max((len(one.text) for one in judged.judgements), default=0)
        for one in judged.judgements:
            self._say(f"  {self._word(one.outcome, 7)}  {one.text:<{width}}  {judgement_words(one)}".rstrip())
            for evidence in one.evidence if one.outcome != "pass" else ():
                self._say(f"           {evidence}")
        for reason in (*judged.failures, *judged.doubts, *(judged.remarks if judged.judgements else ())):
            self._say(f"  {reason}")
        for warning in judged.warnings:
            self._say(f"  warning: {warning}")
        self._say(f"verdict: {self._word(judged.outcome)}{self._nothing_expected(judged)}")

    def _nothing_expected(self, judged: Verdict) -> str:
        """The verdict of a run without expectations, with what the reader must know beyond it in the same line."""
        if judged.judgements:
            return ""
        words = [] if judged.failures or judged.doubts else ["nothing was expected, nothing died"]
        told = "; ".join([*words, *judged.remarks])
        return f": {told}" if told else ""

    def _word(self, outcome: str, width: int = 0) -> str:
        padded = f"{outcome:<{width}}"
        return f"{_COLOURS[outcome]}{padded}\x1b[0m" if self._out.isatty() else padded

    def _say(self, text: str) -> None:
        if not self._quiet:
            print(text, file=self._out, flush=True)


def judgement_words(one: Judgement) -> str:
    """The measured value, and why it may not decide."""
    return ": ".join(part for part in (one.shown, one.reason) if part)
