"""What became of the messages of a run, in sentences. Pure.

Whether messages were lost is asked of the judge, so that a sentence never claims more than a verdict would: *no
acknowledged message was lost* is said only where the expectation ``lost == 0`` holds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from stream2gym.analysis.result_tables import Analysis, TraceRow
from stream2gym.findings.finding import Finding, Words, compose, count, join_words, make_sentence, name, names
from stream2gym.judge.judge import judge_one
from stream2gym.judge.measurement import Events
from stream2gym.kinds.expectation_grammar import parse_expectation

AUDIT, CUT_OFF, TRACES, DELIVERY = "table-audit", "table-cut-off", "table-traces", "delivery"
_MOST_PRODUCERS = 3

Acks = Mapping[str, str]  # the setting ``acks`` of producers, where it is known
Place = tuple[str, int, str]  # topic, partition, producer


def tell_delivery(analysis: Analysis, events: Events, acks: Acks) -> Iterator[Finding]:
    """Sentences about what was lost, what arrived and what nobody knows."""
    yield from _tell_nothing_sent(analysis)
    lost = sum(row.lost for row in analysis.audit)
    if analysis.cut_off:
        yield make_sentence(_describe_cut_off(analysis, acks))
    other = _count_lost_otherwise(analysis)
    if other:
        yield make_sentence(_describe_lost(analysis, other))
    if not lost and not analysis.cut_off:
        yield from _tell_no_loss(analysis, events)
    yield from _tell_without_acknowledgement(analysis)
    for row in analysis.traces:
        yield from _tell_trace(row)


def _tell_nothing_sent(analysis: Analysis) -> Iterator[Finding]:
    """What is known without a recorded producer: the messages that Kafka holds."""
    if analysis.sent or analysis.audit:
        return
    held = sum(analysis.held.values())
    if held:
        yield make_sentence(
            compose(
                "no recorded client sent a message, and Kafka holds {held} messages of others",
                held=count(held, DELIVERY),
            )
        )
    elif analysis.clients:
        yield make_sentence(compose("no recorded client sent a message"))


def _describe_cut_off(analysis: Analysis, acks: Acks) -> Words:
    """Acknowledged messages that went with the leader of their partition, by producer."""
    gone: dict[str, int] = defaultdict(int)
    leaders: dict[str, int] = defaultdict(int)
    for row in analysis.cut_off:
        gone[row.producer] += row.messages
        leaders[row.leader] += row.messages
    sent = {producer: sum(row.sent for row in analysis.sent if row.producer == producer) for producer in gone}
    ranked = sorted(gone, key=lambda producer: -gone[producer])
    if len(ranked) > _MOST_PRODUCERS:
        who = compose(
            "{gone} messages of {producers} producers",
            gone=count(sum(gone.values()), CUT_OFF),
            producers=count(len(ranked), CUT_OFF),
        )
    else:
        who = join_words([_describe_part(gone[one], sent[one], one) for one in ranked], ", ", " and ")
    leader, most = max(leaders.items(), key=lambda item: item[1])
    successors = list(dict.fromkeys(row.successor for row in analysis.cut_off if row.leader == leader))
    known = {acks[producer] for producer in gone if producer in acks}
    setting = f" (acks={known.pop()})" if len(known) == 1 and len(acks.keys() & gone.keys()) == len(gone) else ""
    is_only = len(leaders) == 1
    which = compose("their leader") if is_only else compose("of {most} the leader", most=count(most, CUT_OFF))
    why = compose(
        "{which} {leader} was gone before {successors}, the next " + ("one" if len(successors) == 1 else "ones"),
        which=which,
        leader=name(leader),
        successors=names(successors),
    ) + compose(", had a copy")
    return compose("{who} were acknowledged and are gone: {why}{setting}", who=who, why=why, setting=setting)


def _describe_part(gone: int, sent: int, producer: str) -> Words:
    return compose(
        "{gone} of {sent} messages of {producer}",
        gone=count(gone, CUT_OFF),
        sent=count(sent, AUDIT),
        producer=name(producer),
    )


def _count_lost_otherwise(analysis: Analysis) -> dict[tuple[str, str], int]:
    """Lost messages beyond those that went with a leader, by topic and group."""
    with_leader: dict[Place, int] = defaultdict(int)
    for gone in analysis.cut_off:
        with_leader[gone.topic, gone.partition, gone.producer] += gone.messages
    found: dict[tuple[str, str], int] = defaultdict(int)
    for row in analysis.audit:
        other = row.lost - with_leader[row.topic, row.partition, row.producer]
        if other > 0:
            found[row.topic, row.group] += other
    return dict(found)


def _describe_lost(analysis: Analysis, lost: dict[tuple[str, str], int]) -> Words:
    total, expired = sum(lost.values()), sum(row.expired for row in analysis.audit)
    (topic, group), most = max(lost.items(), key=lambda item: item[1])
    owed = sum(row.expected for row in analysis.audit if (row.topic, row.group) == (topic, group))
    where = compose(
        "{lost} of {owed} acknowledged messages of {topic} never reached group {group}",
        lost=count(most, AUDIT),
        owed=count(owed, AUDIT),
        topic=name(topic),
        group=name(group),
    )
    if len(lost) > 1:
        more = count(total - most, AUDIT)
        where += compose(", and {more} more were lost on other ways", more=more)
    if expired:
        where += compose("; Kafka had deleted {expired} of the lost ones before", expired=count(expired, AUDIT))
    return where


def _tell_no_loss(analysis: Analysis, events: Events) -> Iterator[Finding]:
    """That nothing was lost, as far as the record shows it."""
    if not sum(row.acknowledged for row in analysis.sent):
        if analysis.sent and not any(row.unconfirmed for row in analysis.sent):
            sent = count(sum(row.sent for row in analysis.sent), AUDIT)
            yield make_sentence(compose("none of {sent} messages was acknowledged", sent=sent))
        return
    owed = sum(row.expected for row in analysis.audit)
    if not owed:
        if any(client.kind == "engine" for client in analysis.clients):
            return  # an engine reads them, of which the sentence about engines tells
        acknowledged = count(sum(row.acknowledged for row in analysis.sent), AUDIT)
        template = "{sent} messages were acknowledged, and no recorded consumer was to receive them"
        yield make_sentence(compose(template, sent=acknowledged))
        return
    judged = judge_one(parse_expectation("lost == 0"), analysis, events)
    if judged.outcome == "pass":
        yield make_sentence(
            (*_describe_arrivals(analysis), *_describe_blemishes(analysis), *_describe_unread(analysis))
        )
        return
    missing = sum(row.in_flight + row.unknown for row in analysis.audit)
    if not missing:
        yield make_sentence(compose("whether messages were lost is unknown: {why}", why=name(judged.reason)))
        return
    words = compose(
        "no message is known to be lost, but nobody saw {missing} of {owed} acknowledged messages arrive",
        missing=count(missing, AUDIT),
        owed=count(max(owed, missing), AUDIT),
    )
    yield make_sentence((*words, *_describe_blemishes(analysis)))


def _describe_arrivals(analysis: Analysis) -> Words:
    owed: dict[str, int] = defaultdict(int)
    for row in analysis.audit:
        owed[row.group] += row.expected
    if len(owed) == 1:
        arrived = compose("all {owed} were received", owed=count(next(iter(owed.values())), AUDIT))
    elif len(set(owed.values())) == 1:
        arrived = compose(
            "each of {groups} groups received all {owed}",
            groups=count(len(owed), AUDIT),
            owed=count(next(iter(owed.values())), AUDIT),
        )
    else:
        arrived = compose(
            "{groups} groups received all that they were owed, {owed} messages together",
            groups=count(len(owed), AUDIT),
            owed=count(sum(owed.values()), AUDIT),
        )
    return compose("no acknowledged message was lost: {arrived}", arrived=arrived)


def _describe_unread(analysis: Analysis) -> Words:
    """Acknowledged messages that no recorded consumer was to receive. Empty: there are none, or an engine reads."""
    read = {row.topic for row in analysis.audit}
    unread = sum(row.acknowledged for row in analysis.sent if row.topic not in read)
    if not unread or any(client.kind == "engine" for client in analysis.clients):
        return ()
    topics = list(dict.fromkeys(row.topic for row in analysis.sent if row.topic not in read))
    return compose(
        "; no recorded consumer read the {unread} of {topics}", unread=count(unread, AUDIT), topics=names(topics)
    )


def _describe_blemishes(analysis: Analysis) -> Words:
    """What else the audit counted: failures, duplicates, disorder. Empty: none of it."""
    rows = analysis.audit
    found = [
        (sum(row.failed for row in analysis.sent), "failed"),
        (sum(row.unanswered for row in analysis.sent), "unanswered"),
        (sum(row.duplicated for row in rows), "received more than once"),
        (sum(row.out_of_order for row in rows), "out of order"),
    ]
    told = [compose("{number} " + words, number=count(number, AUDIT)) for number, words in found if number]
    return compose("; {blemishes}", blemishes=join_words(told, ", ", " and ")) if told else ()


def _tell_without_acknowledgement(analysis: Analysis) -> Iterator[Finding]:
    """Messages that were sent with acks 0: whether they were received."""
    sent = sum(row.unconfirmed for row in analysis.sent)
    missing = sum(row.unconfirmed_lost + row.unconfirmed_in_flight for row in analysis.audit)
    if sent and missing:
        words = "{missing} of {sent} messages that were sent with acks 0 were not received"
        yield make_sentence(compose(words, missing=count(missing, AUDIT), sent=count(sent, AUDIT)))


def _tell_trace(row: TraceRow) -> Iterator[Finding]:
    """How many messages have a result behind an engine."""
    ends = {"source": name(row.source), "target": name(row.target)}
    if row.why_unknown:
        words = compose("how many messages of {source} have a result in {target} is unknown", **ends)
    elif row.missing:
        words = compose(
            "{missing} of {sent} messages of {source} have no result in {target}",
            missing=count(row.missing, TRACES),
            sent=count(row.sent, TRACES),
            **ends,
        )
    elif row.recognised and row.recognised >= row.sent and not row.unread and not row.untraceable:
        sent = count(row.sent, TRACES)
        words = compose("all {sent} messages of {source} have their result in {target}", sent=sent, **ends)
    else:
        return
    yield make_sentence(words)
