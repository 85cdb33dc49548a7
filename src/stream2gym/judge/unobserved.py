"""Clients that nobody observed, and messages that groups were owed and nobody observed to arrive. Pure.

An acknowledged message that a group had not received when the drain ended may be lost or only late. Nothing in the
record tells which. So the truth about ``lost`` lies between what is known to be lost and that plus these messages.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf

from stream2gym.analysis.result_tables import Analysis, AuditRow, ClientRow, PositionRow, SentRow
from stream2gym.judge.measurement import matches

_SHOWN = 3
_ANEW = "its log was cut off, or its topic was made anew"


@dataclass(frozen=True)
class Unobserved:
    """The number of messages that groups were owed and nobody observed to arrive. ``why`` says which they are."""

    messages: int = 0
    why: str = ""

    def __add__(self, other: Unobserved) -> Unobserved:
        return Unobserved(self.messages + other.messages, join_reasons([self.why, other.why]))


def count_unobserved_acknowledged(rows: Sequence[AuditRow], analysis: Analysis) -> Unobserved:
    """Acknowledged messages that were neither observed to arrive nor are known to be lost."""
    messages = sum(row.in_flight + row.unknown for row in rows)
    whys = [*_describe_unread(rows, analysis), *dict.fromkeys(row.why_unknown for row in rows)]
    return Unobserved(messages, join_reasons(whys)) if messages else Unobserved()


def count_unobserved_unconfirmed(rows: Sequence[AuditRow], analysis: Analysis) -> Unobserved:
    """Messages sent with acks 0 that a group never received: nobody knows whether Kafka ever had them."""
    silent = sum(row.unconfirmed_lost + row.unconfirmed_in_flight for row in rows)
    unanswered = _count_unanswered_unconfirmed(rows, analysis)
    words = []
    if silent:
        words.append(
            f"{silent:,} messages sent with acks 0, which nobody acknowledges, were not received "
            "(unconfirmed_lost counts them)"
        )
    if unanswered:
        words.append(f"{unanswered:,} messages sent with acks 0 never left their producer's client")
    return Unobserved(silent + unanswered, join_reasons(words))


def describe_unknown_ends(rows: Iterable[AuditRow], analysis: Analysis) -> str:
    """The partitions whose end offset is not known, in words. "": all are known."""
    read = {(row.topic, row.group) for row in rows}
    unknown = [
        place
        for place in analysis.positions
        if (place.topic, place.group) in read and count_unread(place) == inf and place.observed
    ]
    places = dict.fromkeys(f"{place.topic}/{place.partition}" for place in unknown if place.has_offsets)
    queues = dict.fromkeys(f"{place.group} for {place.topic}" for place in unknown if not place.has_offsets)
    whys = [f"Kafka's end offset of {_join_names(places)} is not known" if places else ""]
    whys.append(f"what was left in the queue of {_join_names(queues)} is not known" if queues else "")
    return join_reasons(whys)


def count_unread(place: PositionRow) -> float:
    """The lag of a group in a partition when the drain ended. Infinite: the end offset is not known.

    Of a group with a queue of its own, what was left in the queue.
    """
    if not place.has_offsets:
        return inf if place.left is None else float(place.left)
    if place.end is None:
        return inf
    return float(max(0, place.end - max(place.position or 0, place.first or 0, place.start or 0)))


def describe_reused(place: PositionRow) -> str:
    """Offsets of a partition that two messages had, in words. "": there are none."""
    if not place.reused:
        return ""
    where = f"{place.topic}/{place.partition}"
    return f"group {place.group} received two messages each at {place.reused:,} offsets of {where}: {_ANEW}"


def count_unobserved_failures(rows: Sequence[SentRow], analysis: Analysis) -> Unobserved:
    """Messages that may have failed: unanswered ones, and ones sent with acks 0 that nobody observed to arrive."""
    unanswered = sum(row.unanswered for row in rows)
    silent = 0
    for topic, producer in dict.fromkeys((row.topic, row.producer) for row in rows if row.unconfirmed):
        sent = sum(row.unconfirmed for row in rows if (row.topic, row.producer) == (topic, producer))
        missing: dict[str, int] = {}
        for way in analysis.audit:
            if (way.topic, way.producer) == (topic, producer) and not way.unknown:
                count = way.unconfirmed_lost + way.unconfirmed_in_flight
                missing[way.group] = missing.get(way.group, 0) + count
        # A message that any group received did not fail.
        silent += min(missing.values(), default=sent)
    words = []
    if unanswered:
        words.append(f"{unanswered:,} messages were unanswered")
    if silent:
        words.append(f"{silent:,} messages were sent with acks 0 and nobody saw them arrive")
    return Unobserved(unanswered + silent, join_reasons(words))


def find_clients(analysis: Analysis, kind: str, filters: dict[str, str]) -> list[ClientRow]:
    """The producers or consumers that the filters select. A client whose topics nobody knows matches every topic."""
    wanted = drop_filter(drop_filter(filters, "partition"), "fault")
    found = []
    for client in analysis.clients:
        asked = wanted if client.topic else drop_filter(wanted, "topic")
        if client.kind == kind and matches(client, asked, producer="name", consumer="name"):
            found.append(client)
    return found


def drop_filter(filters: dict[str, str], name: str) -> dict[str, str]:
    """The filters without one of them."""
    return {key: value for key, value in filters.items() if key != name}


def join_reasons(words: Iterable[str]) -> str:
    """Reasons in one sentence, each once."""
    return "; ".join(dict.fromkeys(word for word in words if word))


def _describe_unread(rows: Sequence[AuditRow], analysis: Analysis) -> list[str]:
    owed: dict[tuple[str, str], tuple[int, int, int]] = {}
    for row in rows:
        expected, gone, flight = owed.get((row.topic, row.group), (0, 0, 0))
        key = (row.topic, row.group)
        owed[key] = (expected + row.expected, gone + row.lost + row.in_flight, flight + row.in_flight)
    behind = [
        f"group {group} had received {expected - gone:,} of {expected:,} acknowledged messages of {topic} "
        "when the drain ended"
        for (topic, group), (expected, gone, flight) in owed.items()
        if flight
    ]
    more = len(behind) - _SHOWN
    shown = [*behind[:_SHOWN], f"and {more} more such groups" if more > 0 else ""]
    return [*shown, describe_unknown_ends(rows, analysis)] if behind else []


def _count_unanswered_unconfirmed(rows: Sequence[AuditRow], analysis: Analysis) -> int:
    """Unanswered messages of producers that send with acks 0, which nobody received."""
    writers = {(row.topic, row.producer) for row in rows}
    silent = {(row.topic, row.producer) for row in analysis.sent if row.unconfirmed} & writers
    unanswered = sum(row.unanswered for row in analysis.sent if (row.topic, row.producer) in silent)
    arrived = sum(row.unacknowledged_received for row in rows if (row.topic, row.producer) in silent)
    return max(0, unanswered - arrived)


def _join_names(names: Iterable[str]) -> str:
    found = list(names)
    more = len(found) - _SHOWN
    return ", ".join(found[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
