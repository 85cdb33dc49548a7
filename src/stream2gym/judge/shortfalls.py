"""What did not arrive in a run and what nobody observed, in sentences. A verdict has them whatever was expected."""

from __future__ import annotations

from collections.abc import Iterator

from stream2gym.analysis.program_observation import names_of_unobserved
from stream2gym.analysis.result_tables import Analysis
from stream2gym.judge.hand_stops import describe_hand_stops
from stream2gym.judge.measurement import Events
from stream2gym.judge.unobserved import describe_reused

_SHOWN = 4


def describe_shortfalls(analysis: Analysis, events: Events = ()) -> tuple[str, ...]:
    """Sentences about messages that did not arrive, what nobody observed and who ended late. None: all was well."""
    return (
        *_describe_missing(analysis),
        *_describe_cut_off(analysis),
        *_describe_reused(analysis),
        *_describe_missing_results(analysis),
        *_describe_unobserved(analysis),
        *_describe_late_ends(events),
        *describe_hand_stops(events),
    )


def _describe_missing(analysis: Analysis) -> Iterator[str]:
    lost = sum(row.lost for row in analysis.audit)
    silent = sum(row.unconfirmed_lost + row.unconfirmed_in_flight for row in analysis.audit)
    flight = sum(row.in_flight for row in analysis.audit)
    failed = sum(row.failed for row in analysis.sent)
    unanswered = sum(row.unanswered for row in analysis.sent)
    if lost:
        yield f"{_count_messages(lost, 'acknowledged ')} lost"
    if flight:
        groups = dict.fromkeys(row.group for row in analysis.audit if row.in_flight)
        yield f"{_count_messages(flight, 'acknowledged ')} not received by {_join_names(groups)} when the drain ended"
    deleted = sum(row.deleted for row in analysis.audit)
    if deleted:
        yield f"{_count_messages(deleted, 'acknowledged ')} deleted with their topic before they were received"
    if silent:
        yield f"{_count_messages(silent)} sent with acks 0 and not received"
    if failed:
        yield f"{failed:,} {'message' if failed == 1 else 'messages'} failed"
    if unanswered:
        yield f"{_count_messages(unanswered)} unanswered"


def _describe_cut_off(analysis: Analysis) -> Iterator[str]:
    """Where Kafka lost messages: with which leader of which partition."""
    found: dict[tuple[str, str, str, float], int] = {}
    for row in analysis.cut_off:
        key = (f"{row.topic}/{row.partition}", row.leader, row.successor, row.led_from_s)
        found[key] = found.get(key, 0) + row.messages
    for (place, leader, successor, from_s), messages in list(found.items())[:_SHOWN]:
        yield (
            f"{_count_messages(messages, 'acknowledged ')} lost in {place} with its leader {leader}: "
            f"{successor}, which led it from {from_s:.1f} s on, never had a copy"
        )
    if len(found) > _SHOWN:
        yield f"{len(found) - _SHOWN} more leaders took acknowledged messages with them (cut_off.csv)"


def _describe_reused(analysis: Analysis) -> Iterator[str]:
    """Logs that began again, unless it is known why: with which leader, or by which fault."""
    known = {row.topic for row in analysis.cut_off}
    known |= {name for fault in analysis.faults if fault.kind == "delete-topic" for name in fault.on}
    told = [words for row in analysis.positions if row.topic not in known and (words := describe_reused(row))]
    yield from told[:_SHOWN]
    if len(told) > _SHOWN:
        yield f"{len(told) - _SHOWN} more groups received two messages at one offset (positions.csv)"


def _describe_missing_results(analysis: Analysis) -> Iterator[str]:
    for row in analysis.traces:
        least, most = row.missing, row.missing + row.missing_more
        if most:
            number = f"{least:,}" if most == least else f"{least:,} to {most:,}"
            yield f"{number} of {row.sent:,} messages of {row.source} have no result in {row.target}"


def _describe_unobserved(analysis: Analysis) -> Iterator[str]:
    engines = any(client.kind == "engine" for client in analysis.clients)
    hidden = dict.fromkeys(
        client.name for client in analysis.clients if not client.observed and client.kind != "engine"
    )
    read = {client.topic for client in analysis.clients if client.kind == "consumer"}
    unread = [topic for topic in dict.fromkeys(row.topic for row in analysis.sent) if topic not in read]
    yield from _describe_blind_spots(analysis, hidden)
    if unread and analysis.clients and not engines:
        yield f"no consumer of the experiment reads {_join_names(dict.fromkeys(unread))}"
    total = sum(analysis.held.values())
    if total and (hidden or (unread and not engines) or not analysis.sent):
        several = [f"{count:,} in {topic}" for topic, count in analysis.held.items() if count]
        where = (
            f" ({_join_names(dict.fromkeys(several))})"
            if len(analysis.held) > 1
            else f" in {next(iter(analysis.held))}"
        )
        yield f"Kafka holds {total:,} messages{where}"


def _describe_blind_spots(analysis: Analysis, hidden: dict[str, None]) -> Iterator[str]:
    """Who was not observed, and of programs why and what would make them observed."""
    told = [note for note in analysis.notes if names_of_unobserved(note)]
    named = {name for note in told for name in names_of_unobserved(note)}
    untold = dict.fromkeys(name for name in hidden if name not in named)
    yield from told
    if untold:
        yield f"not observed: {_join_names(untold)}"


def _describe_late_ends(events: Events) -> Iterator[str]:
    for event in events:
        if event["event"] == "load-overran":
            names = [str(name) for name in event.get("waiting", ())]
            lasted = f"load lasted {event['load_s']:g} s instead of {event['planned_s']:g} s"
            waited = "was waiting" if len(names) == 1 else "were waiting"
            yield f"{lasted} because {_join_names(dict.fromkeys(names))} {waited} for acknowledgements"
    running = {str(event["component"]): None for event in events if event["event"] == "grace-over"}
    if running:
        one = len(running) == 1
        yield (
            f"{_join_names(running)} did not end by {'itself' if one else 'themselves'} within "
            f"{'its' if one else 'their'} grace period (grace: 0 s does not wait for that)"
        )


def _count_messages(count: int, kind: str = "") -> str:
    return f"1 {kind}message was" if count == 1 else f"{count:,} {kind}messages were"


def _join_names(names: dict[str, None]) -> str:
    found = list(names)
    more = len(found) - _SHOWN
    return ", ".join(found[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
