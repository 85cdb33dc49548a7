"""Meters of what arrived: counts of messages and of deaths, from the audit and the events."""

from __future__ import annotations

from fnmatch import fnmatchcase

from stream2gym.analysis.tables import Analysis
from stream2gym.judge.measured import Events, Measured, Meter, matches, one
from stream2gym.kinds.expectations import Expectation


def _sent(expectation: Expectation, analysis: Analysis, _events: Events) -> Measured:
    rows = [row for row in analysis.sent if matches(row, expectation.filters)]
    return one(
        sum(getattr(row, expectation.metric) for row in rows) if rows else None, "no such message was sent"
    )


def _received(expectation: Expectation, analysis: Analysis, _events: Events) -> Measured:
    filters = expectation.filters
    if "producer" in filters:
        if "consumer" in filters:
            return Measured(why="receipts are counted by producer or by consumer, not by both")
        audit = [row for row in analysis.audit if matches(row, filters)]
        return one(sum(row.copies for row in audit) if audit else None, "no such subscription")
    rows = [row for row in analysis.received if matches(row, filters)]
    unobserved = sum(
        row.unknown for row in analysis.audit if row.unknown and matches(row, _without(filters, "consumer"))
    )
    if not rows:
        known = any(matches(row, _without(filters, "consumer")) for row in analysis.positions)
        return (
            Measured({"": 0.0}, unobserved)
            if known and not unobserved
            else Measured(why="nothing was received")
        )
    return Measured({"": float(sum(row.messages for row in rows))}, unobserved)


def _foreign(expectation: Expectation, analysis: Analysis, _events: Events) -> Measured:
    rows = [row for row in analysis.received if matches(row, expectation.filters)]
    return one(sum(row.foreign for row in rows) if rows else None, "nothing was received")


def _without(filters: dict[str, str], name: str) -> dict[str, str]:
    return {key: value for key, value in filters.items() if key != name}


def _audit(expectation: Expectation, analysis: Analysis, _events: Events) -> Measured:
    rows = [row for row in analysis.audit if matches(row, expectation.filters)]
    if not rows:
        return Measured(why="no recorded producer and no group that reads it match")
    why = next((row.why_unknown for row in rows if row.why_unknown), "")
    value = float(sum(getattr(row, expectation.metric) for row in rows))
    return Measured({"": value}, float(sum(row.unknown for row in rows)), why)


def _delivered(expectation: Expectation, analysis: Analysis, _events: Events) -> Measured:
    rows = [row for row in analysis.audit if matches(row, expectation.filters)]
    expected = sum(row.expected for row in rows)
    unknown = sum(row.unknown for row in rows)
    if not expected or unknown:
        return Measured(
            why="nobody observed all of it" if unknown else "no acknowledged message was to be received"
        )
    return Measured({"": 1 - sum(row.lost + row.in_flight for row in rows) / expected})


def _gaps(expectation: Expectation, analysis: Analysis, _events: Events) -> Measured:
    filters = expectation.filters
    if "producer" in filters:
        return Measured(why="gaps in offsets belong to no producer")
    rows = [row for row in analysis.positions if matches(row, filters)]
    if not rows or not all(row.observed for row in rows):
        return Measured(why="no recording group matches" if not rows else "a group was not observed")
    return Measured({"": float(sum(row.gaps for row in rows))})


def _ends(kind: str) -> Meter:
    def meter(expectation: Expectation, _analysis: Analysis, events: Events) -> Measured:
        hits = [
            event
            for event in events
            if event.get("event") == kind
            and all(
                fnmatchcase(str(event.get(name, "")), wanted) for name, wanted in expectation.filters.items()
            )
        ]
        return Measured({"": float(len(hits))})

    return meter


DELIVERY: dict[str, Meter] = {
    **dict.fromkeys(("sent", "acknowledged", "unconfirmed", "failed", "unanswered"), _sent),
    **dict.fromkeys(
        ("lost", "unconfirmed_lost", "in_flight", "unacknowledged_received", "duplicated", "duplicated_in_log",
         "redelivered", "out_of_order", "late"), _audit,
    ),
    "received": _received, "unknown_received": _foreign, "delivered": _delivered, "offset_gaps": _gaps,
    "died": _ends("died"), "restarts": _ends("restarted"),
}  # fmt: skip
