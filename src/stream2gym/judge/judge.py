"""Expectations and tables in, verdict out. Pure.

No rows is unknown. A check that crashes is unknown. When the emulation could not keep up, what is about
performance is unknown. A component that died unasked fails the run, unless the experiment expects deaths of it
or its restart policy provided for this one.
"""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from stream2gym.analysis.tables import Analysis
from stream2gym.judge.measure import measure
from stream2gym.judge.measured import Events, Measured
from stream2gym.judge.verdict import Judgement, Outcome, Verdict, worst
from stream2gym.kinds.expectations import Expectation, parse_expectation
from stream2gym.units import brief

_EVIDENCE = 5
_DOUBTS = {
    "run-failed": "the run did not go through",
    "fault-failed": "a fault failed",
    "fault-skipped": "a fault was skipped",
    "record-unreadable": "a part of the record cannot be read",
}


def judge(expectations: Sequence[Expectation | str], analysis: Analysis, events: Events) -> Verdict:
    """Judge a run by its analysis and its events."""
    parsed = [parse_expectation(e) if isinstance(e, str) else e for e in expectations]
    judgements = tuple(judge_one(expectation, analysis, events) for expectation in parsed)
    failures = tuple(_unasked_deaths(parsed, events))
    doubts = tuple(_doubts(events))
    outcomes: list[Outcome] = [judgement.outcome for judgement in judgements]
    outcomes += ["fail"] * bool(failures)
    outcomes += ["unknown"] * bool(doubts)
    return Verdict(worst(outcomes), judgements, failures, doubts, analysis.fidelity.warnings)


def judge_one(expectation: Expectation, analysis: Analysis, events: Events) -> Judgement:
    """Judge one expectation; never raises."""
    about = ""
    try:
        about = expectation.definition.about
        measured = measure(expectation, analysis, events)
        return _weigh(expectation, measured, analysis)
    except Exception as error:  # whatever a check does wrong must not look like a pass
        reason = f"the check itself failed: {type(error).__name__}: {error}"
        return Judgement(expectation.text, "unknown", about=about, reason=reason)


def _weigh(expectation: Expectation, measured: Measured, analysis: Analysis) -> Judgement:
    metric = expectation.definition
    if not measured.values:
        return Judgement(expectation.text, "unknown", about=metric.about, reason=measured.why or "no rows")
    name, value = _telling(expectation, measured)
    shown = brief(metric.unit(value)) + (f" ({name})" if name else "")
    outcome, reason = _outcome(expectation, value, measured)
    if metric.about == "performance" and analysis.fidelity.good is not True:
        outcome, reason = "unknown", f"the emulation cannot be trusted here: {analysis.fidelity.reason}"
    return Judgement(
        expectation.text, outcome, value, shown, metric.about, reason, _evidence(expectation, analysis)
    )


def _telling(expectation: Expectation, measured: Measured) -> tuple[str, float]:
    """The value that decides: the first that does not hold, else the one that comes closest to not holding."""
    broken = [(name, value) for name, value in measured.values.items() if not expectation.holds(value)]
    candidates = broken or list(measured.values.items())
    pick = min if expectation.op in (">", ">=") else max
    return pick(candidates, key=lambda item: item[1])


def _outcome(expectation: Expectation, value: float, measured: Measured) -> tuple[Outcome, str]:
    if not measured.doubt:
        return ("pass", "") if expectation.holds(value) else ("fail", "")
    low, high = value, value + measured.doubt
    holds = {expectation.holds(low), expectation.holds(high)}
    if expectation.op in ("==", "!=") and low <= expectation.value <= high:
        holds = {True, False}
    if len(holds) == 2:
        return (
            "unknown",
            f"{measured.doubt:g} messages more or less: {measured.why or 'nobody observed them'}",
        )
    return ("pass", "") if holds == {True} else ("fail", "")


def _evidence(expectation: Expectation, analysis: Analysis) -> tuple[str, ...]:
    """The first offending messages of a delivery metric, as far as the filters ask for them."""
    claims = {expectation.metric}
    if expectation.metric == "duplicated":
        claims = {"duplicated_in_log", "redelivered"}
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
            where = f"{item.topic}/{item.partition}" + (
                "" if item.offset is None else f" offset {item.offset}"
            )
            found.append(f"{message} in {where}: {item.text}")
    return tuple(found[:_EVIDENCE])


def _unasked_deaths(expectations: Sequence[Expectation], events: Events) -> list[str]:
    expected = [e.filters.get("component", "*") for e in expectations if e.metric == "died"]
    deaths = []
    for event in events:
        if event.get("event") != "died" or event.get("expected") or event.get("restarts_left"):
            continue
        component = str(event.get("component", ""))
        if not any(fnmatchcase(component, pattern) for pattern in expected):
            when = f" at {event['t_s']:.3f} s" if "t_s" in event else ""
            deaths.append(f"{component} died unasked{when}: {event.get('how', 'no reason known')}")
    return deaths


def _doubts(events: Events) -> list[str]:
    return [
        f"{_DOUBTS[str(event['event'])]}: {event.get('reason', event.get('file', ''))}"
        for event in events
        if event.get("event") in _DOUBTS
    ]
