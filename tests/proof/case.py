"""A case of the proof: an experiment with faults, what must be shown of it, and the run that shows it or not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from stream2gym.api import Result, run
from tests.proof.record import Record
from tests.proof.signs import signs

ENOUGH = 10_000  # acknowledged messages
PER_S = 1000.0  # messages a second, at least
Keys = dict[str, Any]


@dataclass(frozen=True)
class Seen:
    """A run that is over, and what its record says."""

    result: Result
    record: Record
    signs: dict[str, str]

    def audited(self, column: str, **wanted: str) -> int:
        """What the analysis counted."""
        analysis = self.result.analysis
        rows = [] if analysis is None else analysis.audit
        return sum(getattr(r, column) for r in rows if all(getattr(r, k) == v for k, v in wanted.items()))


@dataclass
class Claims:
    """What a case measured and what it shows, or fails to."""

    numbers: dict[str, int | float | str] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    def that(self, holds: bool, otherwise: str) -> None:
        if not holds:
            self.wrong.append(otherwise)

    def equal(self, what: str, counted: int, expected: int) -> None:
        self.that(counted == expected, f"{what}: {counted} instead of {expected}")


Check = Callable[[Seen, Claims], None]


@dataclass(frozen=True)
class Case:
    name: str
    does: str  # in a few words
    shows: str
    experiment: Keys | Path  # keys, or the file of an example with what is set in it
    check: Check
    hurts: tuple[str, ...]  # signs of which one must be there
    verdict: str = "pass"  # what the expectations must come to
    producer: str = "gen"  # whose acknowledged messages are counted; empty: everybody's
    programs: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    quick: bool = False  # part of the everyday tests


@dataclass(frozen=True)
class Outcome:
    case: Case
    seen: Seen
    claims: Claims

    @property
    def good(self) -> bool:
        return not self.claims.wrong


def carry_out(case: Case, folder: Path, *, report: bool = False, capture_all: bool = False) -> Outcome:
    """Run the case in a folder and hold its record against what it claims."""
    folder.mkdir(parents=True, exist_ok=True)
    path = case.experiment
    if isinstance(path, dict):
        for name, text in case.programs.items():
            (folder / name).write_text(text)
        (folder / "experiment.yaml").write_text(yaml.safe_dump(path))
        path = folder / "experiment.yaml"
    return look(case, run(path, overrides=case.settings, out=folder / "run", report=report, capture_all=capture_all))


def look(case: Case, result: Result) -> Outcome:
    """Everything that a case claims, checked on a run that is over."""
    claims = Claims()
    record = Record(result.path)
    if result.error is not None or result.analysis is None:
        claims.wrong.append(f"the run failed: {result.error or result.reasons}")
    elif not record.told("fault-applied"):
        claims.wrong.append("no fault was in force")
    if claims.wrong:
        return Outcome(case, Seen(result, record, {}), claims)
    seen = Seen(result, record, signs(record))
    _as_planned(seen, claims)
    _enough(case, seen, claims)
    claims.that(
        any(name in seen.signs for name in case.hurts), f"it did not hurt: no sign of {', '.join(case.hurts)}"
    )
    case.check(seen, claims)
    found = (seen.result.verdict, "; ".join(seen.result.reasons))
    claims.that(found[0] == case.verdict, f"the verdict is {found[0]} instead of {case.verdict}: {found[1]}")
    return Outcome(case, seen, claims)


def _as_planned(seen: Seen, claims: Claims) -> None:
    for kind in ("fault-failed", "fault-skipped", "died"):
        for event in seen.record.told(kind):
            claims.wrong.append(f"{kind}: {event.get('fault', event.get('component'))} {event.get('reason', '')}")


def _enough(case: Case, seen: Seen, claims: Claims) -> None:
    record = seen.record
    mine = [r for r in record.sent if not case.producer or r["producer"] == case.producer]
    acked = sum(r["status"] == "acked" for r in mine)
    due = [r["due_ns"] for r in mine]
    pace = (len(due) - 1) / (max(due) - min(due)) * 1e9 if len(due) > 1 else 0.0
    claims.numbers["acknowledged"] = acked
    claims.that(acked >= ENOUGH, f"only {acked} messages were acknowledged")
    claims.that(pace >= 0.99 * PER_S, f"only {pace:.0f} messages/s were due")
    span = record.faults
    claims.that(2.0 <= span.from_s <= record.load_s - 3.0, f"the fault came at {span.from_s:.1f} s")
