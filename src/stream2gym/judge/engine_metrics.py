"""Meters of engines, stores and checks: from Spark's progress reports, audits of tables and results of checks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fnmatch import fnmatchcase

from stream2gym.analysis.result_tables import Analysis
from stream2gym.analysis.run_history import find_phases, find_stop_s, time_of
from stream2gym.analysis.sample_statistics import compute_statistic
from stream2gym.judge.measurement import Events, Measurement, Meter, matches
from stream2gym.judge.silent_monitors import ENGINE, widen_by_silence
from stream2gym.judge.trace_metrics import combine_measurements, measure_trace
from stream2gym.kinds.expectation_grammar import Expectation

# A program whose query failed may take this long to end, because Spark closes its session first.
ENDING_S = 10.0
# The failure is read from Spark's event log, so it may be noticed after the program has ended.
NOTICED_S = 5.0


def _make_progress_meter(sampled: str, factor: float = 1.0) -> Meter:
    """A meter of a number that Spark reports for every batch of a query."""

    def meter(expectation: Expectation, analysis: Analysis, events: Events) -> Measurement:
        engine, query = expectation.filters.get("engine", "*"), expectation.filters.get("query", "*")
        values: dict[str, list[float]] = {}
        # The name of an engine may have a dot, so that the part before the first dot need not be its name.
        started = {
            f"{event.get('component')}.{event.get('query')}": (
                str(event.get("component")),
                str(event.get("query")),
            )
            for event in events
            if event.get("event") == "query-started"
        }
        for point in analysis.gauges:
            source, _, obj = point.object.partition(" ")
            before, _, after = obj.partition(".")
            own, name = started.get(obj, (before, after))
            fits = fnmatchcase(own, engine) and fnmatchcase(name, query)
            if fits and source == "spark" and point.metric == sampled and point.at_s >= 0:
                values.setdefault(obj, []).append(point.value * factor)
        found = {name: compute_statistic(numbers, expectation.stat) for name, numbers in values.items()}
        measured = Measurement({n: v for n, v in found.items() if v is not None}, why="no query reported progress")
        return widen_by_silence(measured, expectation.stat, events, lambda name: fnmatchcase(name, ENGINE + engine))

    return meter


def _measure_failures(expectation: Expectation, analysis: Analysis, events: Events) -> Measurement:
    filters = expectation.filters
    seen = [event for event in events if event.get("event") in ("query-started", "query-failed")]
    fitting = [
        event
        for event in seen
        if fnmatchcase(str(event.get("component")), filters.get("engine", "*"))
        and fnmatchcase(str(event.get("query")), filters.get("query", "*"))
    ]
    if not fitting:
        return Measurement(why="no such query was seen to start")
    return Measurement({"": float(sum(event["event"] == "query-failed" for event in fitting))})


def find_unexpected_query_failures(expectations: Sequence[Expectation], events: Events) -> list[str]:
    """Queries that failed while their program ran on, and that no expectation of ``query_failures`` is about.

    A program that ends with its query is judged by how it ended, as a death or as a restart. A program that starts
    the query again has repaired it. A query that fails after the run began to stop its components does not count.
    """
    expected = [e.filters for e in expectations if e.metric == "query_failures"]
    found_stop_s = find_stop_s(find_phases(events))
    stop_s = math.inf if found_stop_s is None else found_stop_s
    ends = [e for e in events if e.get("event") in ("died", "finished", "stopped") and time_of(e) < stop_s]
    found = []
    for number, event in enumerate(events):
        if event.get("event") != "query-failed" or time_of(event) >= stop_s:
            continue
        engine, query = str(event.get("component")), str(event.get("query"))
        is_expected = any(
            fnmatchcase(engine, filters.get("engine", "*")) and fnmatchcase(query, filters.get("query", "*"))
            for filters in expected
        )
        ended = any(
            end.get("component") == engine and -NOTICED_S <= time_of(end) - time_of(event) <= ENDING_S for end in ends
        )
        mended = any(
            later.get("event") == "query-started"
            and (str(later.get("component")), str(later.get("query"))) == (engine, query)
            and time_of(later) < stop_s
            for later in events[number + 1 :]
        )
        if not (is_expected or ended or mended):
            when = f" at {event['t_s']:.3f} s" if "t_s" in event else ""
            cause = event.get("cause") or "no cause is known"
            found.append(f"query {query} of {engine} failed{when}: {cause}")
    return found


def _make_results_meter(column: str) -> Meter:
    """A meter of missing or further results behind an engine, with one value for each trace."""

    def meter(expectation: Expectation, analysis: Analysis, _events: Events) -> Measurement:
        rows = [
            row for row in analysis.traces if matches(row, expectation.filters, **{"from": "source", "to": "target"})
        ]
        unknown = [row.why_unknown for row in rows if row.why_unknown]
        if unknown or not rows:
            return Measurement(why=unknown[0] if unknown else "the experiment has no such trace")
        return combine_measurements(measure_trace(row, column) for row in rows)

    return meter


def _make_sampled_meter(source: str, sampled: str, named: tuple[str, ...], why: str) -> Meter:
    """A meter of a number that was sampled once at the end, for each object whose name matches the filters."""

    def meter(expectation: Expectation, analysis: Analysis, _events: Events) -> Measurement:
        values: dict[str, float] = {}
        for point in analysis.gauges:
            said_by, _, obj = point.object.partition(" ")
            parts = dict(zip(named, obj.split("/", len(named) - 1), strict=False))
            fits = all(fnmatchcase(parts.get(k, ""), v) for k, v in expectation.filters.items())
            if said_by == source and point.metric == sampled and fits:
                values[obj] = point.value
        return Measurement(values, why=why)

    return meter


def _measure_result(expectation: Expectation, analysis: Analysis, _events: Events) -> Measurement:
    """The numbers that a check stated besides its mismatches, by their names."""
    check, name = expectation.filters.get("check", "*"), expectation.filters.get("name", "*")
    values: dict[str, float] = {}
    for point in analysis.gauges:
        source, _, own = point.object.partition(" ")
        if source == "check" and fnmatchcase(own, check) and fnmatchcase(point.metric, name):
            values[f"{own} {point.metric}"] = point.value
    return Measurement(values, why="no check stated such a number")


_NO_AUDIT = "no table of a store was audited"
ENGINES: dict[str, Meter] = {
    "engine_rows": _make_progress_meter("rows_a_second"),
    "batch_time": _make_progress_meter("batch_ms", 0.001),
    "state_rows": _make_progress_meter("state_rows"),
    "query_failures": _measure_failures,
    "results_missing": _make_results_meter("missing"),
    "results_doubled": _make_results_meter("doubled"),
    "mismatches": _make_sampled_meter("check", "mismatches", ("check",), "no check came to an end"),
    "result": _measure_result,
    **{
        f"rows_{what}": _make_sampled_meter("store", f"rows_{what}", ("store", "table"), _NO_AUDIT)
        for what in ("expected", "present", "missing", "doubled")
    },
}
