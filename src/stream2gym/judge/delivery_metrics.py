"""Meters of what arrived: counts of messages and of deaths, from the audit and the events.

A count of zero proves something only about messages that somebody observed. So messages that groups had not received
raise the upper bound of a count, and zero among no received messages is no figure at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from math import inf

from stream2gym.analysis.result_tables import (
    Analysis,
    AuditRow,
    CutOffRow,
    FetchedRow,
    ReceivedRow,
    SentRow,
)
from stream2gym.judge.hand_stops import explain_unread
from stream2gym.judge.measurement import Events, Measurement, Meter, matches
from stream2gym.judge.trace_metrics import add_traces, find_traces, measure_by_traces
from stream2gym.judge.unobserved import (
    Unobserved,
    count_unobserved_acknowledged,
    count_unobserved_failures,
    count_unobserved_unconfirmed,
    count_unread,
    describe_reused,
    describe_unknown_ends,
    drop_filter,
    find_clients,
    join_reasons,
)
from stream2gym.kinds.expectation_grammar import Expectation

NOTHING_RECEIVED = "nothing was received, so there is nothing to count"
# What only offsets tell.
OF_OFFSETS = ("duplicated_in_log", "redelivered", "expired", "deleted", "compacted", "offset_gaps")
NO_OFFSETS = "messages of a queue have no offsets"
_COPIES = ("duplicated", "duplicated_in_log", "redelivered", "unacknowledged_received")


def _measure_sent(expectation: Expectation, analysis: Analysis, _events: Events) -> Measurement:
    rows = [row for row in analysis.sent if matches(row, expectation.filters)]
    clients = find_clients(analysis, "producer", expectation.filters)
    hidden = list(dict.fromkeys(client.name for client in clients if not client.observed))
    if not rows and (not clients or hidden):
        return Measurement(why=f"{', '.join(hidden)} sent unobserved" if hidden else "no such message was sent")
    value = {"": float(sum(getattr(row, expectation.metric) for row in rows))}
    if hidden:
        return Measurement(value, inf, f"{', '.join(hidden)} sent unobserved")
    if expectation.metric == "failed":
        unobserved = count_unobserved_failures(rows, analysis)
        return Measurement(value, unobserved.messages, unobserved.why)
    return Measurement(value)


def _measure_received(expectation: Expectation, analysis: Analysis, _events: Events) -> Measurement:
    filters = expectation.filters
    if "producer" in filters:
        if "consumer" in filters:
            return Measurement(why="receipts are counted by producer or by consumer, not by both")
        audit = [row for row in analysis.audit if matches(row, filters)]
        unknown = [row for row in audit if row.unknown]
        if not audit:
            return Measurement(why="no such subscription")
        value = float(sum(row.copies for row in audit))
        return Measurement({"": value}, inf if unknown else 0.0, join_reasons(row.why_unknown for row in unknown))
    rows: list[ReceivedRow | FetchedRow] = [row for row in analysis.received if matches(row, filters)]
    clients = find_clients(analysis, "consumer", filters)
    if "consumer" in filters:
        # What an engine fetched counts where it is asked for by name.
        rows += [row for row in analysis.fetched if matches(row, filters)]
        engines = find_clients(analysis, "engine", filters)
        clients += [client for client in engines if client.observed or filters["consumer"] != "*"]
    hidden = list(dict.fromkeys(client.name for client in clients if not client.observed))
    known = clients or any(matches(row, drop_filter(filters, "consumer")) for row in analysis.positions)
    if not rows and (not known or hidden):
        return Measurement(why=f"{', '.join(hidden)} received unobserved" if hidden else "nothing was received")
    value = float(sum(row.messages for row in rows))
    return Measurement({"": value}, inf if hidden else 0.0, f"{', '.join(hidden)} received unobserved")


def _measure_foreign(expectation: Expectation, analysis: Analysis, _events: Events) -> Measurement:
    filters = expectation.filters
    if "producer" in filters:
        return Measurement(why="messages that no recorded producer sent belong to no producer")
    rows = [row for row in analysis.received if matches(row, filters)]
    if not rows:
        return Measurement(why=NOTHING_RECEIVED)
    places = [row for row in analysis.positions if matches(row, drop_filter(filters, "consumer"))]
    left = sum(count_unread(place) for place in places)
    return Measurement({"": float(sum(row.foreign for row in rows))}, left, _describe_unread(left))


def _measure_audited(expectation: Expectation, analysis: Analysis, events: Events) -> Measurement:
    rows = [row for row in analysis.audit if matches(row, expectation.filters)]
    if not rows:
        return _measure_cut_off(expectation, analysis) or measure_by_traces(expectation, analysis)
    queues = {(place.topic, place.group) for place in analysis.positions if not place.has_offsets}
    if expectation.metric in OF_OFFSETS and any((row.topic, row.group) in queues for row in rows):
        return Measurement(why=NO_OFFSETS)
    measured = _sum_audit(rows, expectation, analysis)
    if measured.why:
        measured = replace(measured, why=join_reasons([measured.why, *explain_unread(rows, analysis, events)]))
    return add_traces(measured, expectation, analysis)


def _sum_audit(rows: Sequence[AuditRow], expectation: Expectation, analysis: Analysis) -> Measurement:
    metric = expectation.metric
    value = float(sum(getattr(row, metric) for row in rows))
    unobserved = _find_unobserved(metric, rows, analysis)
    vacuous = not any(row.copies or row.received for row in rows) and metric not in ("lost", "in_flight")
    if metric == "lost" and not (value or unobserved.messages or any(row.expected for row in rows)):
        return Measurement(why="no acknowledged message was to be received")
    if vacuous and not value:
        return Measurement(why=join_reasons([NOTHING_RECEIVED, unobserved.why]))
    if metric == "lost":
        audited = {row.topic for row in analysis.audit}
        value += sum(row.messages for row in _find_cut_off(expectation, analysis) if row.topic not in audited)
    if metric not in _COPIES:
        return Measurement({"": value}, float(unobserved.messages), unobserved.why)
    # An unread message may stand in the log any number of times.
    why = join_reasons([unobserved.why, describe_unknown_ends(rows, analysis), _describe_silent_groups(rows)])
    return Measurement({"": value}, inf if why else 0.0, why)


def _measure_cut_off(expectation: Expectation, analysis: Analysis) -> Measurement | None:
    """Messages that Kafka lost on the way to readers whom nobody observed, such as an engine. None: none are known.

    Behind an engine a trace says more, if the filters select it.
    """
    rows = _find_cut_off(expectation, analysis) if expectation.metric == "lost" else []
    traces = find_traces(expectation, analysis)
    if not rows or (traces and not any(row.why_unknown for row in traces)):
        return None
    lost = sum(row.messages for row in rows)
    others = sum(_count_unfollowed(row, analysis) for row in analysis.sent if matches(row, expectation.filters))
    why = "nobody recorded who read the other messages"
    return add_traces(Measurement({"": float(lost)}, max(0.0, others - lost), why), expectation, analysis)


def _count_unfollowed(row: SentRow, analysis: Analysis) -> float:
    """Messages that may not have been read: all that were acknowledged, or those that a trace has no result of."""
    sent = float(row.acknowledged + row.unconfirmed)
    traces = [trace for trace in analysis.traces if trace.source == row.topic and not trace.why_unknown]
    return min([sent, *(float(trace.missing + trace.missing_more + trace.untraceable) for trace in traces)])


def _find_cut_off(expectation: Expectation, analysis: Analysis) -> list[CutOffRow]:
    """The messages that went with a leader, as far as the filters select them. They belong to no group."""
    if expectation.filters.keys() - {"topic", "partition", "producer"}:
        return []
    return [row for row in analysis.cut_off if matches(row, expectation.filters)]


def _find_unobserved(metric: str, rows: Sequence[AuditRow], analysis: Analysis) -> Unobserved:
    """The messages that might add to a metric if somebody had observed what became of them."""
    owed, silent = count_unobserved_acknowledged(rows, analysis), count_unobserved_unconfirmed(rows, analysis)
    unknown = sum(row.unknown for row in rows)
    match metric:
        case "lost":
            return owed + silent
        case "in_flight":
            return Unobserved(unknown, owed.why)
        case "unconfirmed_lost":
            known = sum(row.unconfirmed_lost for row in rows)
            return Unobserved(silent.messages - known + unknown, join_reasons([silent.why, owed.why]))
        case _:
            later = sum(row.unconfirmed_in_flight for row in rows)
            return owed + (Unobserved(later, silent.why) if later else Unobserved())


def _describe_silent_groups(rows: Sequence[AuditRow]) -> str:
    """The groups that were owed messages and received none, in words."""
    owed = dict.fromkeys(row.group for row in rows if row.expected)
    active = {row.group for row in rows if row.copies or row.received}
    silent = [group for group in owed if group not in active]
    return f"group {', '.join(silent)} received nothing" if silent else ""


def _measure_delivered(expectation: Expectation, analysis: Analysis, _events: Events) -> Measurement:
    rows = [row for row in analysis.audit if matches(row, expectation.filters)]
    if not rows:
        return measure_by_traces(expectation, analysis)
    return add_traces(_measure_share(rows), expectation, analysis)


def _measure_share(rows: Sequence[AuditRow]) -> Measurement:
    expected, unknown = sum(row.expected for row in rows), sum(row.unknown for row in rows)
    if not expected:
        whys = join_reasons(row.why_unknown for row in rows)
        return Measurement(why=whys or "no acknowledged message was to be received")
    gone = sum(row.lost + row.in_flight for row in rows)
    low, high = 1 - (gone + unknown) / (expected + unknown), 1 - gone / (expected + unknown)
    why = join_reasons(row.why_unknown for row in rows)
    return Measurement({"": 1 - gone / expected}, why=why, bounds={"": (low, high)} if unknown else {})


def _measure_gaps(expectation: Expectation, analysis: Analysis, _events: Events) -> Measurement:
    filters = expectation.filters
    if "producer" in filters:
        return Measurement(why="gaps in offsets belong to no producer")
    rows = [row for row in analysis.positions if matches(row, filters)]
    if not rows or not all(row.observed for row in rows):
        return Measurement(why="no recording group matches" if not rows else "a group was not observed")
    if not all(row.has_offsets for row in rows):
        return Measurement(why=NO_OFFSETS)
    if not any(row.receipts for row in rows):
        return Measurement(why=NOTHING_RECEIVED)
    left = sum(count_unread(row) for row in rows)
    why = join_reasons([_describe_unread(left), *(describe_reused(row) for row in rows)])
    if any(row.reused for row in rows):
        left = inf
    return Measurement({"": float(sum(row.gaps for row in rows))}, left, why)


def _describe_unread(left: float) -> str:
    if left == inf:
        return "the ends are not known, so nobody knows what stood there unread"
    return f"{left:,.0f} messages stood there unread when the drain ended" if left else ""


def _make_event_meter(kind: str) -> Meter:
    def meter(expectation: Expectation, _analysis: Analysis, events: Events) -> Measurement:
        told = [
            event
            for event in events
            if all(fnmatchcase(str(event.get(name, "")), wanted) for name, wanted in expectation.filters.items())
        ]
        if expectation.filters and not told:
            return Measurement(why="no such component was in the run")
        return Measurement({"": float(sum(event.get("event") == kind for event in told))})

    return meter


DELIVERY: dict[str, Meter] = {
    **dict.fromkeys(("sent", "acknowledged", "unconfirmed", "failed", "unanswered"), _measure_sent),
    **dict.fromkeys(
        ("lost", "unconfirmed_lost", "in_flight", "unacknowledged_received", "duplicated", "duplicated_in_log",
         "redelivered", "out_of_order", "late", "expired", "deleted", "compacted"), _measure_audited,
    ),
    "received": _measure_received,
    "unknown_received": _measure_foreign,
    "delivered": _measure_delivered,
    "offset_gaps": _measure_gaps,
    "died": _make_event_meter("died"), "restarts": _make_event_meter("restarted"),
}  # fmt: skip
