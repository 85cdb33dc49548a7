"""Meters of delivery behind an engine: what a ``trace`` says about ``lost``, ``duplicated`` and ``delivered``. Pure.

An engine writes messages of its own, so that the sequence numbers of producers do not reach the groups behind it.
Where the experiment declares a trace, a missing result is a loss and a further result is a duplicate.
"""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from math import inf

from stream2gym.analysis.result_tables import Analysis, TraceRow
from stream2gym.judge.measurement import Measurement, matches
from stream2gym.kinds.expectation_grammar import Expectation

_FOLLOWED = ("lost", "duplicated", "delivered")
_FILTERS = {"topic", "group"}


def measure_by_traces(expectation: Expectation, analysis: Analysis) -> Measurement:
    """The figure of a metric for which the audit has no rows, from the traces that match the filters."""
    rows = [row for row in analysis.traces if _leads_there(row, expectation, analysis)]
    if not rows or expectation.metric not in _FOLLOWED or expectation.filters.keys() - _FILTERS:
        return Measurement(why=_explain_no_rows(expectation, analysis))
    unknown = [row.why_unknown for row in rows if row.why_unknown]
    if unknown:
        return Measurement(why=unknown[0])
    return combine_measurements(measure_trace(row, expectation.metric) for row in rows)


def combine_measurements(found: Iterable[Measurement]) -> Measurement:
    """One measurement with the values of several, for all of which an expectation must hold."""
    every = list(found)
    return Measurement(
        {name: value for one in every for name, value in one.values.items()},
        why="; ".join(dict.fromkeys(one.why for one in every if one.why)),
        bounds={name: bounds for one in every for name, bounds in one.bounds.items()},
    )


def measure_trace(row: TraceRow, metric: str) -> Measurement:
    """The missing results of one trace, its further results, or the share of messages with a result; with bounds.

    Unread messages of the topic behind the engine may be missing results, or further ones. Nobody knows whether
    messages without the key of the trace have results.
    """
    name = f"{row.source} to {row.target}"
    words = []
    if row.unread:
        count = "an unknown number of" if row.unread == inf else f"{row.unread:,.0f}"
        words.append(f"{count} messages stood in {row.target} unread when the drain ended")
    if row.untraceable:
        words.append(f"{row.untraceable:,} messages of {row.source} have no key to be recognised by")
    why = "; ".join(words)
    if metric in ("duplicated", "doubled"):
        high = inf if words else float(row.doubled)
        return Measurement({name: float(row.doubled)}, why=why, bounds={name: (float(row.doubled), high)})
    least, most = max(0.0, row.missing - row.unread), float(row.missing + row.untraceable)
    if metric == "delivered":
        whole = row.sent or 1
        bounds = (1 - most / whole, 1 - least / whole)
        return Measurement({name: 1 - row.missing / whole}, why=why, bounds={name: bounds})
    return Measurement({name: float(row.missing)}, why=why, bounds={name: (least, most)})


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
