"""The verdict on a run: pass, fail or unknown, with the evidence; what ``verdict.json`` holds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from stream2gym.jsonable import Jsonable
from stream2gym.record.folder import RunFolder

Outcome = Literal["pass", "fail", "unknown"]
EXIT_CODES: dict[str, int] = {"pass": 0, "fail": 1, "unknown": 3}
FILE = "verdict.json"


@dataclass(frozen=True)
class Judgement(Jsonable):
    """One expectation, judged."""

    text: str
    outcome: Outcome
    measured: float | None = None  # in the base unit of the metric
    shown: str = ""  # the same, as people write it
    about: str = ""  # delivery, events, performance, emulation
    reason: str = ""
    evidence: tuple[str, ...] = ()
    # The truth lies between these two, in the base unit; None: there is no figure.
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Verdict(Jsonable):
    """The verdict on a whole run. It fails when one thing failed. It is unknown when nothing failed and one thing
    is."""

    outcome: Outcome
    judgements: tuple[Judgement, ...] = ()
    failures: tuple[str, ...] = ()  # beyond expectations: who died unasked
    doubts: tuple[str, ...] = ()  # what makes it unknown beyond expectations
    warnings: tuple[str, ...] = ()
    # What was lost, unanswered or not observed, whether or not anybody expected it.
    remarks: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Judgement]:
        """The expectations of the experiment, in its order."""
        return iter(self.judgements)

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.outcome]

    @property
    def words(self) -> str:
        """The outcome in one sentence, with failures, doubts and remarks."""
        if self.judgements:
            held = sum(judgement.outcome == "pass" for judgement in self.judgements)
            told = [f"{held} of {count_nouns(len(self.judgements), 'expectation')} held"]
        elif self.failures or self.doubts:
            told = ["nothing was expected"]
        else:
            told = ["nothing was expected, nothing died"]
        return f"{self.outcome}: {'; '.join((*told, *self.failures, *self.doubts, *self.remarks))}"

    def with_doubt(self, doubt: str) -> Verdict:
        """The verdict with one more doubt: a pass becomes unknown, a failure stays one."""
        if doubt in self.doubts:
            return self
        return replace(self, outcome=pick_worst([self.outcome, "unknown"]), doubts=(*self.doubts, doubt))


def count_nouns(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def pick_worst(outcomes: list[Outcome]) -> Outcome:
    """Fail before unknown before pass; nothing to judge is a pass."""
    order: tuple[Outcome, ...] = ("fail", "unknown")
    return next((outcome for outcome in order if outcome in outcomes), "pass")


def save_verdict(folder: RunFolder, verdict: Verdict) -> None:
    folder.write_json(FILE, verdict.to_json() | {"exit_code": verdict.exit_code})


def load_verdict(folder: RunFolder) -> Verdict | None:
    """The verdict that was kept; None when the run has not been judged."""
    file = folder.path / FILE
    return Verdict.from_json(json.loads(file.read_text("utf-8"))) if file.is_file() else None
