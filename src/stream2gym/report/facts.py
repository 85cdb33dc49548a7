"""All that a report is made from, read once from a run folder. Every part may be missing: a run that failed early
still deserves a report."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from stream2gym.analysis.tables import Analysis
from stream2gym.figures.model import TIME, Axis, Band, Lane, Mark, Span
from stream2gym.judge.verdict import Verdict
from stream2gym.plan.model import Plan
from stream2gym.record.folder import RunFolder
from stream2gym.report import moments
from stream2gym.report.moments import Event


@dataclass(frozen=True)
class Facts:
    """One run as its report sees it."""

    folder: Path
    info: dict[str, Any]
    state: str
    events: Sequence[Event]
    plan: Plan | None
    analysis: Analysis | None
    verdict: Verdict | None
    phases: tuple[Span, ...]
    windows: tuple[Band, ...]  # of faults
    lives: tuple[Lane, ...]
    deaths: tuple[Mark, ...]

    @property
    def time(self) -> Axis:
        """The same axis for every figure over time, so that they can be laid beside each other."""
        if self.analysis is None:
            return TIME
        flowed = max((point.at_s + self.analysis.step_s for point in self.analysis.flow), default=0.0)
        end = max(self.analysis.load_s, flowed)
        return replace(TIME, low=0.0, high=end) if end > 0 else TIME

    @property
    def name(self) -> str:
        return str(self.info.get("name", self.folder.name))


def gather(path: Path, analysis: Analysis | None = None, verdict: Verdict | None = None) -> Facts:
    """Read the folder; what the caller has at hand already is not read again."""
    folder = RunFolder.open(path)
    events = sorted(folder.read_events(), key=lambda event: float(event["t_s"]))
    plan = _json(path / "plan.json")
    if analysis is None and (found := _json(path / "analysis.json")) is not None:
        analysis = Analysis.from_json(found)
    if verdict is None and (found := _json(path / "verdict.json")) is not None:
        verdict = Verdict.from_json(found)
    return Facts(
        folder=path.resolve(),
        info=folder.info,
        state=folder.state,
        events=events,
        plan=None if plan is None else Plan.from_json(plan),
        analysis=analysis,
        verdict=verdict,
        phases=_phases(analysis, events),
        windows=moments.fault_windows(events),
        lives=moments.lives(events),
        deaths=moments.deaths(events),
    )


def _phases(analysis: Analysis | None, events: Sequence[Event]) -> tuple[Span, ...]:
    if analysis is None or not analysis.phases:
        return moments.phases(events)
    end = moments.last_moment(events)
    rows = [
        (row.from_s, max(end, row.from_s) if row.to_s is None else row.to_s, row.name)
        for row in analysis.phases
    ]
    return tuple(Span(start, stop, name) for start, stop, name in rows if stop > start)


def _json(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None
