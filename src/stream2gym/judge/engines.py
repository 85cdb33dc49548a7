"""Engines, stores and checks: what Spark's progress reports, audits of tables and comparisons said in numbers."""

from __future__ import annotations

from fnmatch import fnmatchcase

from stream2gym.analysis.tables import Analysis
from stream2gym.judge.measured import Events, Measured, Meter, matches
from stream2gym.judge.statistics import statistic
from stream2gym.kinds.expectations import Expectation


def _progress(sampled: str, factor: float = 1.0) -> Meter:
    """A number of every batch of a query."""

    def meter(expectation: Expectation, analysis: Analysis, _events: Events) -> Measured:
        engine, query = expectation.filters.get("engine", "*"), expectation.filters.get("query", "*")
        values: dict[str, list[float]] = {}
        for point in analysis.gauges:
            source, _, obj = point.object.partition(" ")
            own, _, name = obj.partition(".")
            fits = fnmatchcase(own, engine) and fnmatchcase(name, query)
            if fits and source == "spark" and point.metric == sampled and point.at_s >= 0:
                values.setdefault(obj, []).append(point.value * factor)
        found = {name: statistic(numbers, expectation.stat) for name, numbers in values.items()}
        return Measured({n: v for n, v in found.items() if v is not None}, why="no query reported progress")

    return meter


def _failures(expectation: Expectation, analysis: Analysis, events: Events) -> Measured:
    filters = expectation.filters
    seen = [event for event in events if event.get("event") in ("query-started", "query-failed")]
    fitting = [
        event
        for event in seen
        if fnmatchcase(str(event.get("component")), filters.get("engine", "*"))
        and fnmatchcase(str(event.get("query")), filters.get("query", "*"))
    ]
    if not fitting:
        return Measured(why="no such query was seen to start")
    return Measured({"": float(sum(event["event"] == "query-failed" for event in fitting))})


def _results(column: str) -> Meter:
    """What became of messages behind an engine, one value a trace."""

    def meter(expectation: Expectation, analysis: Analysis, _events: Events) -> Measured:
        rows = [
            row
            for row in analysis.traces
            if matches(row, expectation.filters, **{"from": "source", "to": "target"})
        ]
        known = [row for row in rows if not row.why_unknown]
        why = next((row.why_unknown for row in rows if row.why_unknown), "the experiment has no such trace")
        if len(known) < len(rows):
            return Measured(why=why)
        return Measured(
            {f"{row.source} to {row.target}": float(getattr(row, column)) for row in known}, why=why
        )

    return meter


def _told(source: str, sampled: str, named: tuple[str, ...], why: str) -> Meter:
    """A number that was sampled once at the end, for each object whose parts fit the filters."""

    def meter(expectation: Expectation, analysis: Analysis, _events: Events) -> Measured:
        values: dict[str, float] = {}
        for point in analysis.gauges:
            said_by, _, obj = point.object.partition(" ")
            parts = dict(zip(named, obj.split("/", len(named) - 1), strict=False))
            fits = all(fnmatchcase(parts.get(k, ""), v) for k, v in expectation.filters.items())
            if said_by == source and point.metric == sampled and fits:
                values[obj] = point.value
        return Measured(values, why=why)

    return meter


def _result(expectation: Expectation, analysis: Analysis, _events: Events) -> Measured:
    """What a check stated beside its mismatches, by the name under which it did."""
    check, name = expectation.filters.get("check", "*"), expectation.filters.get("name", "*")
    values: dict[str, float] = {}
    for point in analysis.gauges:
        source, _, own = point.object.partition(" ")
        if source == "check" and fnmatchcase(own, check) and fnmatchcase(point.metric, name):
            values[f"{own} {point.metric}"] = point.value
    return Measured(values, why="no check stated such a number")


_NO_AUDIT = "no table of a store was audited"
ENGINES: dict[str, Meter] = {
    "engine_rows": _progress("rows_a_second"),
    "batch_time": _progress("batch_ms", 0.001),
    "state_rows": _progress("state_rows"),
    "query_failures": _failures,
    "results_missing": _results("missing"),
    "results_doubled": _results("doubled"),
    "mismatches": _told("check", "mismatches", ("check",), "no check came to an end"),
    "result": _result,
    **{
        f"rows_{what}": _told("store", f"rows_{what}", ("store", "table"), _NO_AUDIT)
        for what in ("expected", "present", "missing", "doubled")
    },
}
