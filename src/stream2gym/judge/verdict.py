"""The verdict on a run: pass, fail or unknown, with the evidence; what ``verdict.json`` holds."""

from __future__ import annotations

import json
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Verdict(Jsonable):
    """The whole: fails when one thing failed, is unknown when nothing failed but something is unknown."""

    outcome: Outcome
    judgements: tuple[Judgement, ...] = ()
    failures: tuple[str, ...] = ()  # beyond expectations: who died unasked
    doubts: tuple[str, ...] = ()  # what makes it unknown beyond expectations
    warnings: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.outcome]


def worst(outcomes: list[Outcome]) -> Outcome:
    """Fail before unknown before pass; nothing to judge is a pass."""
    order: tuple[Outcome, ...] = ("fail", "unknown")
    return next((outcome for outcome in order if outcome in outcomes), "pass")


def save_verdict(folder: RunFolder, verdict: Verdict) -> None:
    folder.write_json(FILE, verdict.to_json() | {"exit_code": verdict.exit_code})


def load_verdict(folder: RunFolder) -> Verdict | None:
    """The verdict that was kept; None when the run has not been judged."""
    file = folder.path / FILE
    return Verdict.from_json(json.loads(file.read_text("utf-8"))) if file.is_file() else None
