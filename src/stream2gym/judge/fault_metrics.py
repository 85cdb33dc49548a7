"""Meters of what faults cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from stream2gym.analysis.debt import NOTHING_BEFORE, NOTHING_OFFERED
from stream2gym.analysis.result_tables import Analysis, FaultRow
from stream2gym.analysis.sample_statistics import compute_statistic
from stream2gym.judge.measurement import Events, Measurement, Meter, matches, measure_one
from stream2gym.judge.silent_monitors import add_missed_changes
from stream2gym.kinds.expectation_grammar import Expectation

NO_FAULT = "no such fault was in force"
NOT_OVER = "it was not over when the next fault began or the drain ended"
NO_LEADER = "a partition had no leader when the next fault began or the drain ended"
_BY_FAULT = ("leader_changes", "isr_shrinks", "controller_changes", "rebalances", "query_failures")
WATCHED = ("leader_changes", "isr_shrinks", "controller_changes")
_MESSAGES = {"lost": "lost", "failed": "failed", "duplicated": "doubled", "out_of_order": "out_of_order"}


@dataclass(frozen=True)
class Figure:
    """A figure of one row. ``value`` None: there is none. ``is_open``: the truth is at least ``value``."""

    value: float | None
    is_open: bool = False


def combine_figures(figures: Sequence[Figure], stat: str, why: str) -> Measurement:
    """A statistic of several figures with its bounds. A figure that does not exist leaves it without an upper bound.

    ``why`` says why there is no figure, or why it has no upper bound.
    """
    known = [figure for figure in figures if figure.value is not None]
    low = compute_statistic([figure.value or 0.0 for figure in known], stat)
    if low is None:
        return Measurement(why=why)
    highest = [inf if figure.value is None or figure.is_open else figure.value for figure in figures]
    lowest = [figure.value or 0.0 for figure in figures]
    bounds = (compute_statistic(lowest, stat) or 0.0, compute_statistic(highest, stat) or 0.0)
    return Measurement({"": low}, why=why, bounds={"": bounds})


def _measure_recovery(expectation: Expectation, analysis: Analysis, _events: Events) -> Measurement:
    """Topics without offered messages do not count. A topic without a figure leaves no upper bound."""
    rows = [row for row in analysis.recovery if matches(row, expectation.filters)]
    asked = [row for row in rows if row.recovery_s is not None or row.why_unknown != NOTHING_OFFERED]
    figures = [Figure(row.recovery_s, row.recovery_open) for row in asked]
    why = next((row.why_unknown for row in asked if row.why_unknown), "")
    if any(row.recovery_open for row in asked):
        why = NOT_OVER
    return combine_figures(figures, expectation.stat, why or _explain_missing(expectation, analysis))


def _measure_detection(expectation: Expectation, analysis: Analysis, _events: Events) -> Measurement:
    rows = [row for row in analysis.recovery if matches(row, expectation.filters)]
    values = [row.detection_s for row in rows if row.detection_s is not None]
    return measure_one(compute_statistic(values, expectation.stat), "nothing showed that there was a fault")


def _measure_election(expectation: Expectation, analysis: Analysis, _events: Events) -> Measurement:
    if expectation.filters.keys() - {"fault"}:
        return Measurement(why="elections are told by fault only")
    rows = [row for row in _find_faults(expectation, analysis) if row.election_s is not None]
    figures = [Figure(row.election_s, row.election_open) for row in rows]
    why = (
        "a partition had no leader when the next fault began or the drain ended" if rows else "no leader was elected"
    )
    return combine_figures(figures, expectation.stat, why)


def _measure_backlog(expectation: Expectation, analysis: Analysis, _events: Events) -> Measurement:
    rows = [row for row in analysis.backlogs if matches(row, expectation.filters)]
    return measure_one(
        compute_statistic([float(row.backlog) for row in rows], expectation.stat),
        _explain_missing_backlog(expectation, analysis),
    )


def _measure_drain_time(expectation: Expectation, analysis: Analysis, _events: Events) -> Measurement:
    rows = [row for row in analysis.backlogs if matches(row, expectation.filters)]
    figures = [Figure(row.drain_s, row.drain_open) for row in rows]
    why = _explain_missing_backlog(expectation, analysis)
    if any(row.drain_open for row in rows):
        why = NOT_OVER
    elif any(row.drain_s is None for row in rows):
        why = NOTHING_BEFORE
    return combine_figures(figures, expectation.stat, why)


def _measure_unavailable(expectation: Expectation, analysis: Analysis, _events: Events) -> Measurement:
    sides = {"producer": "acknowledged", "consumer": "received"}
    filters = dict(expectation.filters)
    rows = list(analysis.outages)
    for name, side in sides.items():
        if name in filters:
            wanted = {"client": filters.pop(name), "side": side}
            rows = [row for row in rows if matches(row, wanted)]
    if "partition" in filters:
        return Measurement(why="silences are told by topic and client, not by partition")
    figures = [
        Figure(row.total_s, row.total_open)
        if expectation.stat == "total"
        else Figure(row.longest_s, row.longest_open)
        for row in rows
        if matches(row, filters)
    ]
    why = NOT_OVER if any(figure.is_open for figure in figures) else _explain_missing(expectation, analysis)
    return combine_figures(figures, "max", why)


def _measure_changes(expectation: Expectation, analysis: Analysis, events: Events) -> Measurement:
    """Changes of the cluster, attributed to faults."""
    if expectation.filters.keys() - {"fault"}:
        return Measurement(why=f"{expectation.metric} of a fault is counted for the whole cluster")
    values = [float(getattr(row, expectation.metric)) for row in _find_faults(expectation, analysis)]
    measured = measure_one(sum(values) if values else None, NO_FAULT)
    return add_missed_changes(measured, events) if expectation.metric in WATCHED else measured


def _make_attributed_meter(column: str) -> Meter:
    """A meter of the messages that were lost, failed, duplicated or out of order because of a fault."""

    def meter(expectation: Expectation, analysis: Analysis, _events: Events) -> Measurement:
        if expectation.filters.keys() - {"fault", "topic"}:
            return Measurement(why=f"{expectation.metric} is attributed to faults by topic only")
        rows = [row for row in analysis.recovery if matches(row, expectation.filters)]
        value = float(sum(getattr(row, column) for row in rows))
        return measure_one(value if rows else None, _explain_missing(expectation, analysis))

    return meter


def _find_faults(expectation: Expectation, analysis: Analysis) -> list[FaultRow]:
    return [row for row in analysis.faults if matches(row, expectation.filters)]


def _explain_missing(expectation: Expectation, analysis: Analysis) -> str:
    wanted = {name: value for name, value in expectation.filters.items() if name == "fault"}
    rows = [row for row in analysis.recovery if matches(row, wanted)]
    if not any(matches(row, wanted) for row in analysis.faults):
        return NO_FAULT
    return next((row.why_unknown for row in rows if row.why_unknown), "there was no traffic just before the fault")


def _explain_missing_backlog(expectation: Expectation, analysis: Analysis) -> str:
    """Why nothing is known about the backlog."""
    why = _explain_missing(expectation, analysis)
    return why if why == NO_FAULT else "no group whose receipts were recorded reads from a recorded producer"


RECOVERY: dict[str, Meter] = {
    "recovery": _measure_recovery,
    "detection": _measure_detection,
    "election": _measure_election,
    "backlog": _measure_backlog,
    "drain_time": _measure_drain_time,
    "unavailable": _measure_unavailable,
}
# The meters of other metrics, when an expectation has a filter by fault.
OF_A_FAULT: dict[str, Meter] = dict.fromkeys(_BY_FAULT, _measure_changes) | {
    metric: _make_attributed_meter(column) for metric, column in _MESSAGES.items()
}
