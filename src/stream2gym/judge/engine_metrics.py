"""Meters of engines, stores and checks: from progress reports of engines, audits of tables and results of checks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from stream2gym.analysis.result_tables import Analysis
from stream2gym.analysis.run_history import find_phases, find_stop_s, find_warmup, time_of
from stream2gym.analysis.sample_statistics import compute_statistic
from stream2gym.analysis.sampled_rows import SeriesPoint
from stream2gym.judge.measurement import Events, Measurement, Meter, matches
from stream2gym.judge.silent_monitors import ENGINE, PROGRESS_SOURCES, widen_by_silence
from stream2gym.judge.trace_metrics import combine_measurements, measure_trace
from stream2gym.kinds.expectation_grammar import Expectation

# What Spark's reports call the duration of a batch.
BATCH_MS = "batch_ms"
# A program whose query failed may take this long to end, because Spark closes its session first.
ENDING_S = 10.0
# The failure is read from Spark's event log, so it may be noticed after the program has ended.
NOTICED_S = 5.0


def _make_progress_meter(sampled: str, factor: float = 1.0) -> Meter:
    """A meter of a number that an engine reports: Spark for every batch of a query, others twice a second."""

    def meter(expectation: Expectation, analysis: Analysis, events: Events) -> Measurement:
        engine = expectation.filters.get("engine", "*")
        progress = collect_progress(sampled, expectation, analysis, events)
        found = {
            name: compute_statistic([point.value * factor for point in points], expectation.stat)
            for name, points in progress.items()
        }
        measured = Measurement({n: v for n, v in found.items() if v is not None}, why="no query reported progress")
        return widen_by_silence(measured, expectation.stat, events, lambda name: fnmatchcase(name, ENGINE + engine))

    return meter


def collect_progress(
    sampled: str, expectation: Expectation, analysis: Analysis, events: Events
) -> dict[str, list[SeriesPoint]]:
    """The reports that count of the queries that fit the filters, by ``ENGINE.QUERY``."""
    engine, query = expectation.filters.get("engine", "*"), expectation.filters.get("query", "*")
    found: dict[str, list[SeriesPoint]] = {}
    # The name of an engine may have a dot, so that the part before the first dot need not be its name.
    started = {
        f"{event.get('component')}.{event.get('query')}": (str(event.get("component")), str(event.get("query")))
        for event in events
        if event.get("event") == "query-started"
    }
    of_warmup = find_warmup_batches(analysis)
    for point in analysis.gauges:
        source, _, obj = point.object.partition(" ")
        before, _, after = obj.partition(".")
        own, name = started.get(obj, (before, after))
        fits = fnmatchcase(own, engine) and fnmatchcase(name, query)
        is_counted = point.at_s >= 0 and (obj, point.at_s) not in of_warmup
        if fits and source in PROGRESS_SOURCES and point.metric == sampled and is_counted:
            found.setdefault(obj, []).append(point)
    return found


def find_warmup_batches(analysis: Analysis) -> frozenset[tuple[str, float]]:
    """The batches that began in the warm-up: the query, and when its report says that the batch ended."""
    if find_warmup(analysis.phases) is None:
        return frozenset()
    return frozenset(
        (point.object.partition(" ")[2], point.at_s)
        for point in analysis.gauges
        if point.object.startswith("spark ") and point.metric == BATCH_MS and point.at_s - point.value / 1e3 < 0
    )


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
    stop_s = _find_stop_s(events)
    failed = [event for event in fitting if event["event"] == "query-failed" and time_of(event) < stop_s]
    return Measurement({"": float(len(failed))})


def _find_stop_s(events: Events) -> float:
    """When the run began to stop its components: what fails from then on was stopped."""
    found = find_stop_s(find_phases(events))
    return math.inf if found is None else found


def find_unexpected_query_failures(expectations: Sequence[Expectation], events: Events) -> list[str]:
    """Queries that failed while their program ran on, and that no expectation of ``query_failures`` is about.

    A program that ends with its query is judged by how it ended, as a death or as a restart. A program that starts
    the query again has repaired it. A query that fails after the run began to stop its components does not count.
    """
    expected = [e.filters for e in expectations if e.metric == "query_failures"]
    stop_s = _find_stop_s(events)
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
        if all(row.why_unknown for row in rows):
            return Measurement(why=rows[0].why_unknown if rows else "the experiment has no such trace")
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
# Zero rows of the first kind prove nothing where there are no rows of the second.
_ROWS_OF = {"rows_missing": "rows_expected", "rows_doubled": "rows_present"}


def _measure_rows(expectation: Expectation, analysis: Analysis, events: Events) -> Measurement:
    """Rows of the tables of stores. No missing row has no upper bound where none was expected, and no duplicated row
    where there is none at all."""

    def sampled(metric: str) -> Measurement:
        meter = _make_sampled_meter("store", metric, ("store", "table"), _NO_AUDIT)
        return meter(expectation, analysis, events)

    measured = sampled(expectation.metric)
    whole = _ROWS_OF.get(expectation.metric)
    if whole is None:
        return measured
    of = sampled(whole).values
    empty = [name for name, value in measured.values.items() if not value and not of.get(name)]
    if not empty:
        return measured
    why = "no row was expected" if whole == "rows_expected" else "there is no row"
    return replace(measured, bounds=dict.fromkeys(empty, (0.0, math.inf)), why=f"{why} in {', '.join(empty)}")


ENGINES: dict[str, Meter] = {
    "engine_rows": _make_progress_meter("rows_a_second"),
    "batch_time": _make_progress_meter(BATCH_MS, 0.001),
    "state_rows": _make_progress_meter("state_rows"),
    "query_failures": _measure_failures,
    "results_missing": _make_results_meter("missing"),
    "results_doubled": _make_results_meter("doubled"),
    "mismatches": _make_sampled_meter("check", "mismatches", ("check",), "no check came to an end"),
    "result": _measure_result,
    **dict.fromkeys(("rows_expected", "rows_present", "rows_missing", "rows_doubled"), _measure_rows),
}
