"""What a report is made from, read once from a run folder. Every part may be missing, because a run that failed early
has a report, too."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from stream2gym.analysis.result_tables import Analysis, PhaseRow
from stream2gym.analysis.run_history import Event, find_phases, time_of
from stream2gym.components.cluster import name_nodes
from stream2gym.figures.figure import TIME, Axis, Band, Lane, Mark, Span
from stream2gym.findings.finding import Finding
from stream2gym.findings.producer_acks import read_acks
from stream2gym.findings.tell_findings import tell_findings
from stream2gym.judge.verdict import Verdict
from stream2gym.plan.planned import Plan
from stream2gym.record.folder import RunFolder
from stream2gym.report.event_figures import (
    make_component_lanes,
    make_death_marks,
    make_fault_bands,
    make_phase_spans,
)
from stream2gym.report.previous_run import PreviousRun, find_previous_run
from stream2gym.report.recorded_results import ResultSample, read_results


@dataclass(frozen=True)
class Facts:
    """The contents of one run folder that its report needs."""

    folder: Path
    info: dict[str, Any]
    state: str
    events: Sequence[Event]
    plan: Plan | None
    analysis: Analysis | None
    verdict: Verdict | None
    phases: tuple[PhaseRow, ...]
    acks: Mapping[str, str] = field(default_factory=dict)
    previous: PreviousRun | None = None
    results: tuple[ResultSample, ...] = ()

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """What the run showed, in a few sentences."""
        return tell_findings(self.analysis, self.verdict, [dict(event) for event in self.events], self.acks)

    @cached_property
    def node_names(self) -> dict[int, str]:
        """The names of the brokers by the number that Kafka knows each by."""
        return name_nodes(self.plan.components if self.plan else ())

    @property
    def time(self) -> Axis:
        """The time axis. It is the same for every figure, so that figures can be compared."""
        if self.analysis is None:
            return TIME
        flowed = max((point.at_s + self.analysis.step_s for point in self.analysis.flow), default=0.0)
        end = max(self.analysis.load_s, flowed)
        return replace(TIME, low=0.0, high=end) if end > 0 else TIME

    @property
    def name(self) -> str:
        return str(self.info.get("name", self.folder.name))

    @cached_property
    def phase_spans(self) -> tuple[Span, ...]:
        return make_phase_spans(self.phases, self.events)

    @cached_property
    def fault_bands(self) -> tuple[Band, ...]:
        return make_fault_bands(self.events)

    @cached_property
    def component_lanes(self) -> tuple[Lane, ...]:
        return make_component_lanes(self.events)

    @cached_property
    def death_marks(self) -> tuple[Mark, ...]:
        return make_death_marks(self.events)


def read_facts(path: Path, analysis: Analysis | None = None, verdict: Verdict | None = None) -> Facts:
    """Read the folder. An analysis or a verdict that is given is not read again."""
    folder = RunFolder.open(path)
    events = sorted(folder.read_events(), key=time_of)
    plan = _read_json(path / "plan.json")
    if analysis is None and (found := _read_json(path / "analysis.json")) is not None:
        analysis = Analysis.from_json(found)
    if verdict is None and (found := _read_json(path / "verdict.json")) is not None:
        verdict = Verdict.from_json(found)
    return Facts(
        folder=path.resolve(),
        info=folder.info,
        state=folder.state,
        events=events,
        plan=None if plan is None else Plan.from_json(plan),
        analysis=analysis,
        verdict=verdict,
        phases=(analysis.phases if analysis else ()) or find_phases(events),
        acks=read_acks(path),
        previous=find_previous_run(path),
        results=read_results(path),
    )


def _read_json(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None
