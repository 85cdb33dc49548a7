"""Meters of what faults cost."""

from __future__ import annotations

from math import inf

from stream2gym.analysis.recoverytables import FaultRow
from stream2gym.analysis.tables import Analysis
from stream2gym.judge.measured import Events, Measured, Meter, matches, one
from stream2gym.judge.statistics import statistic
from stream2gym.kinds.expectations import Expectation

NO_FAULT = "no such fault was in force"
_BY_FAULT = ("leader_changes", "isr_shrinks", "controller_changes", "rebalances", "query_failures")
_MESSAGES = {"lost": "lost", "failed": "failed", "duplicated": "doubled", "out_of_order": "out_of_order"}


def _recovery(expectation: Expectation, analysis: Analysis, _events: Events) -> Measured:
    """What never recovered took longer than any bound."""
    rows = [row for row in analysis.recovery if matches(row, expectation.filters)]
    values = [inf if row.recovery_s is None else row.recovery_s for row in rows]
    return one(statistic(values, expectation.stat), _why(expectation, analysis))


def _detection(expectation: Expectation, analysis: Analysis, _events: Events) -> Measured:
    rows = [row for row in analysis.recovery if matches(row, expectation.filters)]
    values = [row.detection_s for row in rows if row.detection_s is not None]
    return one(statistic(values, expectation.stat), "nothing showed that there was a fault")


def _election(expectation: Expectation, analysis: Analysis, _events: Events) -> Measured:
    if expectation.filters.keys() - {"fault"}:
        return Measured(why="elections are told by fault only")
    values = [row.election_s for row in _faults(expectation, analysis) if row.election_s is not None]
    return one(statistic(values, expectation.stat), "no leader was elected")


def _backlog(expectation: Expectation, analysis: Analysis, _events: Events) -> Measured:
    filters = {name: wanted for name, wanted in expectation.filters.items() if name != "group"}
    values = [float(row.backlog) for row in analysis.recovery if matches(row, filters)]
    return one(statistic(values, expectation.stat), _why(expectation, analysis))


def _drain_time(expectation: Expectation, analysis: Analysis, _events: Events) -> Measured:
    filters = {name: wanted for name, wanted in expectation.filters.items() if name != "group"}
    rows = [row for row in analysis.recovery if matches(row, filters)]
    values = [inf if row.drain_s is None else row.drain_s for row in rows]
    return one(statistic(values, expectation.stat), _why(expectation, analysis))


def _unavailable(expectation: Expectation, analysis: Analysis, _events: Events) -> Measured:
    sides = {"producer": "acknowledged", "consumer": "received"}
    filters = dict(expectation.filters)
    rows = list(analysis.outages)
    for name, side in sides.items():
        if name in filters:
            wanted = {"client": filters.pop(name), "side": side}
            rows = [row for row in rows if matches(row, wanted)]
    if "partition" in filters:
        return Measured(why="silences are told by topic and client, not by partition")
    rows = [row for row in rows if matches(row, filters)]
    values = [row.total_s if expectation.stat == "total" else row.longest_s for row in rows]
    return one(max(values, default=None), _why(expectation, analysis))


def _counted(expectation: Expectation, analysis: Analysis, _events: Events) -> Measured:
    """Changes of the cluster, attributed to faults."""
    if expectation.filters.keys() - {"fault"}:
        return Measured(why=f"{expectation.metric} of a fault is counted for the whole cluster")
    values = [float(getattr(row, expectation.metric)) for row in _faults(expectation, analysis)]
    return one(sum(values) if values else None, NO_FAULT)


def _attributed(column: str) -> Meter:
    """Messages that something happened to because of a fault."""

    def meter(expectation: Expectation, analysis: Analysis, _events: Events) -> Measured:
        if expectation.filters.keys() - {"fault", "topic"}:
            return Measured(why=f"{expectation.metric} is attributed to faults by topic only")
        rows = [row for row in analysis.recovery if matches(row, expectation.filters)]
        value = float(sum(getattr(row, column) for row in rows))
        return one(value if rows else None, _why(expectation, analysis))

    return meter


def _faults(expectation: Expectation, analysis: Analysis) -> list[FaultRow]:
    return [row for row in analysis.faults if matches(row, expectation.filters)]


def _why(expectation: Expectation, analysis: Analysis) -> str:
    wanted = {name: value for name, value in expectation.filters.items() if name == "fault"}
    there = any(matches(row, wanted) for row in analysis.faults)
    return "there was no traffic just before the fault" if there else NO_FAULT


RECOVERY: dict[str, Meter] = {
    "recovery": _recovery,
    "detection": _detection,
    "election": _election,
    "backlog": _backlog,
    "drain_time": _drain_time,
    "unavailable": _unavailable,
}
# The meters of other metrics when an expectation asks for the part of one fault.
OF_A_FAULT: dict[str, Meter] = dict.fromkeys(_BY_FAULT, _counted) | {
    metric: _attributed(column) for metric, column in _MESSAGES.items()
}
