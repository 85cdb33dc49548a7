"""Meters of delivery behind an engine: what a ``trace`` says about ``lost``, ``duplicated`` and ``delivered``. Pure.

An engine writes messages of its own, so that the sequence numbers of producers do not reach the groups behind it.
Where the experiment declares a trace, a missing result is a loss and a further result is a duplicate, whatever the
audit says about groups that read beside the engine or behind it.
"""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from math import inf

from stream2gym.analysis.result_tables import Analysis, TraceRow
from stream2gym.judge.measurement import Measurement, matches
from stream2gym.judge.unobserved import join_reasons
from stream2gym.kinds.expectation_grammar import Expectation

_FOLLOWED = ("lost", "duplicated", "delivered")
_FILTERS = {"topic", "group"}


def measure_by_traces(expectation: Expectation, analysis: Analysis) -> Measurement:
    """The figure of a metric for which the audit has no rows, from the traces that match the filters."""
    rows = find_traces(expectation, analysis)
    if not rows:
        return Measurement(why=_explain_no_rows(expectation, analysis))
    if all(row.why_unknown for row in rows):
        return Measurement(why=rows[0].why_unknown)
    return combine_measurements(measure_trace(row, expectation.metric) for row in rows)


def add_traces(audited: Measurement, expectation: Expectation, analysis: Analysis) -> Measurement:
    """The figure of the audit beside those of the traces that match the filters. All of them must hold."""
    rows = find_traces(expectation, analysis)
    if not rows:
        return audited
    if audited.values:
        bounds = {name: (one.low, one.high) for name, one in audited.estimates().items()}
        first = Measurement(audited.values, why=audited.why, bounds=bounds)
    else:
        first = _make_open("", expectation.metric, audited.why)
    return combine_measurements([first, *(measure_trace(row, expectation.metric) for row in rows)])


def find_traces(expectation: Expectation, analysis: Analysis) -> list[TraceRow]:
    """The traces that tell of a metric as far as the filters select it."""
    if expectation.metric not in _FOLLOWED or expectation.filters.keys() - _FILTERS:
        return []
    return [row for row in analysis.traces if _leads_there(row, expectation, analysis)]


def combine_measurements(found: Iterable[Measurement]) -> Measurement:
    """One measurement with the values of several, for all of which an expectation must hold."""
    every = list(found)
    return Measurement(
        {name: value for one in every for name, value in one.values.items()},
        why=join_reasons(one.why for one in every),
        bounds={name: bounds for one in every for name, bounds in one.bounds.items()},
    )


def measure_trace(row: TraceRow, metric: str) -> Measurement:
    """The missing results of one trace, its further results, or the share of messages with a result; with bounds.

    Unread messages of the topic behind the engine may be missing results, or further ones. Nobody knows whether
    messages without the key of the trace have results, nor whose result it is where several messages have one key
    and Kafka may have some of them or not. Without any result nothing is known about further ones.
    """
    name = f"{row.source} to {row.target}"
    if row.why_unknown:
        return _make_open(name, metric, row.why_unknown)
    words = []
    if row.unread:
        count = "an unknown number of" if row.unread == inf else f"{row.unread:,.0f}"
        words.append(f"{count} messages stood in {row.target} unread when the drain ended")
    if row.untraceable:
        words.append(f"{row.untraceable:,} messages of {row.source} have no key to be recognised by")
    if metric in ("duplicated", "doubled"):
        if not row.recognised:
            words.append(f"no result of {row.source} was received in {row.target}")
        low = float(row.doubled)
        high = inf if words else low + row.doubled_more
        return Measurement({name: low}, why=join_reasons([*words, row.why_more]), bounds={name: (low, high)})
    why = join_reasons([*words, row.why_more])
    least, most = max(0.0, row.missing - row.unread), float(row.missing + row.missing_more + row.untraceable)
    if metric == "delivered":
        whole = row.sent or 1
        bounds = (1 - most / whole, 1 - least / whole)
        return Measurement({name: 1 - row.missing / whole}, why=why, bounds={name: bounds})
    if metric == "lost" and row.unconfirmed_missing:
        silent = f"{row.unconfirmed_missing:,} messages sent with acks 0, which nobody acknowledges, have no result"
        known = row.missing - row.unconfirmed_missing
        bounds = (max(0.0, known - row.unread), most)
        return Measurement({name: float(known)}, why=join_reasons([why, silent]), bounds={name: bounds})
    return Measurement({name: float(row.missing)}, why=why, bounds={name: (least, most)})


def _make_open(name: str, metric: str, why: str) -> Measurement:
    """A part of a figure of which nothing is known, so that other parts can fail and none can pass without it."""
    bounds = (0.0, 1.0) if metric == "delivered" else (0.0, inf)
    return Measurement({name: 0.0}, why=why, bounds={name: bounds})


def _leads_there(row: TraceRow, expectation: Expectation, analysis: Analysis) -> bool:
    wanted = expectation.filters
    if not fnmatchcase(row.target, wanted.get("topic", "*")):
        return False
    readers = {place.group for place in analysis.positions if place.topic == row.target}
    readers |= {client.group for client in analysis.clients if client.topic == row.target and client.group}
    return "group" not in wanted or any(fnmatchcase(group, wanted["group"]) for group in readers)


def _explain_no_rows(expectation: Expectation, analysis: Analysis) -> str:
    """Why the audit has no rows, and which metric tells instead."""
    topic = expectation.filters.get("topic", "*")
    behind = [row for row in analysis.traces if fnmatchcase(row.target, topic)]
    before = [row for row in analysis.traces if fnmatchcase(row.source, topic)]
    place = f"topic {topic}" if "topic" in expectation.filters else "any topic"
    sent = any(matches(row, _select_filters(expectation, "topic", "producer")) for row in analysis.sent)
    read = any(matches(row, _select_filters(expectation, "topic", "group")) for row in analysis.positions)
    if sent and read:
        why = "no group reads what this producer wrote"
    elif sent:
        why = f"no consumer of the experiment reads {place}"
    else:
        who = "such producer" if "producer" in expectation.filters else "producer of the experiment"
        why = f"no recorded {who} wrote to {place}"
    for row in (behind or before)[:1]:
        ends = f"(from={row.source}, to={row.target})"
        return f"{why}; behind an engine results_missing{ends} and results_doubled{ends} tell what became of messages"
    if not sent and read:
        return f"{why}; where an engine writes, declare a trace and ask results_missing(from=..., to=...)"
    return why


def _select_filters(expectation: Expectation, *names: str) -> dict[str, str]:
    return {name: wanted for name, wanted in expectation.filters.items() if name in names}
