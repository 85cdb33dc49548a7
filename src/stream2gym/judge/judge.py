"""Judges a run by its expectations, its tables and its events. Pure.

An expectation without rows is unknown, and so is one whose check crashes. Where the machine could not keep up, a
figure of performance has bounds. Then the expectation is unknown only if the number that it names lies between them.

A component that died unasked fails the run, unless the experiment expects its deaths. So does a streaming query that
failed while its program ran on. An interrupted run never passes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from stream2gym.analysis.result_tables import Analysis
from stream2gym.analysis.run_history import is_unasked_death
from stream2gym.judge.best_case import WidenedMeasurement, widen
from stream2gym.judge.engine_metrics import find_unexpected_query_failures
from stream2gym.judge.estimate import Estimate, decide
from stream2gym.judge.measurement import Events, Measurement
from stream2gym.judge.meters import measure
from stream2gym.judge.shortfalls import describe_shortfalls
from stream2gym.judge.silent_monitors import find_unwatched_engines
from stream2gym.judge.verdict import Judgement, Outcome, Verdict, pick_worst
from stream2gym.kinds.expectation_grammar import Expectation, parse_expectation

_EVIDENCE = 5
_DOUBTS = {
    "run-failed": "the run did not go through",
    "fault-failed": "a fault failed",
    "fault-skipped": "a fault was skipped",
    "record-unreadable": "a part of the record cannot be read",
    "check-failed": "a check came to no answer",
    "audit-failed": "the stores could not be compared with their topics",
}


def judge(expectations: Sequence[Expectation | str], analysis: Analysis, events: Events) -> Verdict:
    """Judge a run by its analysis and its events."""
    parsed: list[Expectation] = []
    judgements: list[Judgement] = []
    for given in expectations:
        try:
            expectation = parse_expectation(given) if isinstance(given, str) else given
        except ValueError as error:  # it was sound before the run: the plug-in with its metric was removed since
            judgements.append(Judgement(str(given), "unknown", reason=str(error)))
            continue
        parsed.append(expectation)
        judgements.append(judge_one(expectation, analysis, events))
    failures = (*_find_unasked_deaths(parsed, events), *find_unexpected_query_failures(parsed, events))
    doubts = tuple(_find_doubts(events))
    outcomes: list[Outcome] = [judgement.outcome for judgement in judgements]
    outcomes += ["fail"] * bool(failures)
    outcomes += ["unknown"] * bool(doubts)
    remarks = describe_shortfalls(analysis, events)
    return Verdict(pick_worst(outcomes), tuple(judgements), failures, doubts, analysis.fidelity.warnings, remarks)


def judge_one(expectation: Expectation, analysis: Analysis, events: Events) -> Judgement:
    """Judge one expectation; never raises."""
    about = ""
    try:
        about = expectation.definition.about
        measured = measure(expectation, analysis, events)
        return _weigh(expectation, measured, widen(expectation, measured, analysis, events), analysis)
    except (Exception, SystemExit) as error:  # whatever a check does wrong must not look like a pass
        reason = f"the check itself failed: {type(error).__name__}: {error}"
        return Judgement(expectation.text, "unknown", about=about, reason=reason)


def _weigh(
    expectation: Expectation, measured: Measurement, widened: WidenedMeasurement, analysis: Analysis
) -> Judgement:
    metric = expectation.definition
    if not measured.values:
        return Judgement(expectation.text, "unknown", about=metric.about, reason=measured.why or "no rows")
    name, estimate, outcome = _pick_deciding(expectation, widened.measured)
    shown = estimate.show(metric.unit) + (f" ({name})" if name else "")
    reason = ""
    if outcome == "unknown":
        unobserved = measured.why if _pick_deciding(expectation, measured)[2] == "unknown" else ""
        reason = "; ".join(filter(None, (unobserved, widened.why))) or "nobody observed all of it"
    return Judgement(
        expectation.text,
        outcome,
        estimate.measured,
        shown,
        metric.about,
        reason,
        _find_evidence(expectation, analysis),
        estimate.low,
        estimate.high,
    )


def _pick_deciding(expectation: Expectation, measured: Measurement) -> tuple[str, Estimate, Outcome]:
    """The value with the worst outcome. Of several values with that outcome, it is the one farthest off."""
    estimates = measured.estimates()
    outcomes = {name: decide(expectation.op, expectation.value, e) for name, e in estimates.items()}
    outcome = pick_worst(list(outcomes.values()))
    candidates = [name for name in estimates if outcomes[name] == outcome]
    pick = min if expectation.op in (">", ">=") else max
    name = pick(candidates, key=lambda name: estimates[name].measured)
    return name, estimates[name], outcome


def _find_evidence(expectation: Expectation, analysis: Analysis) -> tuple[str, ...]:
    """The first messages that prove the figure of a delivery metric, as far as the filters select them."""
    claims = {expectation.metric}
    if expectation.metric == "duplicated":
        claims = {"duplicated", "duplicated_in_log", "redelivered"}
    if expectation.metric == "delivered":
        claims = {"lost", "in_flight"}
    found = []
    for item in analysis.evidence:
        fields = {"topic": item.topic, "partition": str(item.partition), "producer": item.producer}
        fields["group"] = item.group
        if item.claim in claims and all(
            fnmatchcase(fields.get(name, ""), wanted) for name, wanted in expectation.filters.items()
        ):
            message = f"{item.producer} #{item.seq}" if item.seq is not None else item.group
            where = f"{item.topic}/{item.partition}" + ("" if item.offset is None else f" offset {item.offset}")
            found.append(f"{message} in {where}: {item.text}")
    return tuple(found[:_EVIDENCE])


def _find_unasked_deaths(expectations: Sequence[Expectation], events: Events) -> list[str]:
    expected = [e.filters.get("component", "*") for e in expectations if e.metric == "died"]
    deaths = []
    for event in events:
        if not is_unasked_death(event):
            continue
        component = str(event.get("component", ""))
        if not any(fnmatchcase(component, pattern) for pattern in expected):
            deaths.append(f"{component} died unasked{_describe_time(event)}: {event.get('how', 'no reason known')}")
    return deaths


def _describe_time(event: Mapping[str, Any]) -> str:
    return f" at {event['t_s']:.3f} s" if "t_s" in event else ""


def describe_interruption(event: Mapping[str, Any]) -> str:
    """The doubt that an interrupted run leaves, from its event: in which part of the run, or at which time."""
    if "during" in event:
        return f"interrupted during the {event['during']}"
    return f"interrupted at {event['t_s']:.1f} s" if "t_s" in event else "interrupted"


def _find_doubts(events: Events) -> list[str]:
    found = []
    for event in events:
        kind = str(event.get("event"))
        if kind == "interrupted":
            found.append(describe_interruption(event))
        elif kind in _DOUBTS:
            about = f" ({event['check']})" if "check" in event else ""
            found.append(f"{_DOUBTS[kind]}{about}: {event.get('reason', event.get('file', ''))}")
    found += [f"nobody watched engine {name} to the end" for name in find_unwatched_engines(events)]
    return list(dict.fromkeys(found))
