"""Delivery that nobody saw: no pass over messages that did not arrive, no accusation where they may only be late."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from stream2gym.analysis.result_tables import (
    Analysis,
    AuditRow,
    ClientRow,
    FaultRow,
    FetchedRow,
    Fidelity,
    PositionRow,
    ReceivedRow,
    RecoveryRow,
    SentRow,
    TraceRow,
)
from stream2gym.judge.judge import judge_one
from stream2gym.judge.shortfalls import describe_shortfalls
from stream2gym.judge.verdict import Judgement
from stream2gym.kinds.expectation_grammar import parse_expectation

PRODUCER = ClientRow("producer", "gen", "in")
CONSUMER = ClientRow("consumer", "see", "in", "g")
OVER_RECEIPTS = ("duplicated", "duplicated_in_log", "redelivered", "out_of_order", "offset_gaps", "unknown_received",
                 "unacknowledged_received")  # fmt: skip


def run(acknowledged: int = 1000, received: int = 1000, lost: int = 0, end: int | None = 0, **audit: Any) -> Analysis:
    """A run with one producer and one group, which has not reached what it neither received nor lost."""
    flight = acknowledged - received - lost
    return Analysis(
        "r", 10.0, 1.0,
        clients=(PRODUCER, CONSUMER),
        sent=(SentRow("in", 0, "gen", acknowledged, acknowledged),),
        received=(ReceivedRow("in", 0, "g", "see", received, 0),) if received else (),
        audit=(
            AuditRow("in", 0, "gen", "g", acknowledged, received, lost, in_flight=flight, copies=received, **audit),
        ),
        positions=(
            PositionRow("in", 0, "g", None if end is None else 0, acknowledged if end == 0 else end, 0,
                        (received + lost) or None, received, received),
        ),
        fidelity=Fidelity(True, "in time", suspect=()),
    )  # fmt: skip


def judged(text: str, analysis: Analysis) -> Judgement:
    return judge_one(parse_expectation(text), analysis, [])


def outcome(text: str, analysis: Analysis) -> str:
    return judged(text, analysis).outcome


def test_what_a_group_had_not_received_is_doubt_on_what_was_lost() -> None:
    slow = run(acknowledged=1600, received=244)

    assert outcome("lost == 0", slow) == "unknown"
    assert outcome("lost <= 1356", slow) == "pass"
    assert outcome("lost < 1356", slow) == "unknown"
    assert outcome("lost > 1356", slow) == "fail"
    assert judged("lost == 0", slow).shown == "0 (at most 1356)"
    assert (
        judged("lost == 0", slow).reason
        == "group g had received 244 of 1,600 acknowledged messages of in when the drain ended"
    )


def test_a_dead_broker_whose_offsets_nobody_knows_leaves_loss_unknown_and_says_so() -> None:
    dead = run(acknowledged=4997, received=1008, end=None)

    assert outcome("lost == 0", dead) == "unknown"
    assert "Kafka's end offset of in/0 is not known" in judged("lost == 0", dead).reason


def test_what_kafkas_offsets_show_to_be_gone_fails_whatever_else_is_in_doubt() -> None:
    assert outcome("lost == 0", run(acknowledged=1000, received=500, lost=1)) == "fail"


def test_everything_received_is_no_loss_even_when_kafka_can_no_longer_be_asked() -> None:
    assert outcome("lost == 0", run(end=None)) == "pass"
    assert outcome("duplicated == 0", run(end=None)) == "unknown"


@pytest.mark.parametrize("metric", OVER_RECEIPTS)
def test_zero_of_anything_among_nothing_received_is_unknown(metric: str) -> None:
    isolated = run(received=0)

    assert outcome(f"{metric} == 0", isolated) == "unknown"
    assert outcome(f"{metric} == 0", run()) == "pass"
    assert outcome("lost == 0", isolated) == "unknown"
    assert outcome("died == 0", isolated) == "pass"


@pytest.mark.parametrize("metric", OVER_RECEIPTS)
def test_zero_of_anything_in_a_part_of_the_messages_is_unknown(metric: str) -> None:
    slow = run(received=244)

    assert outcome(f"{metric} == 0", slow) == "unknown"
    assert outcome(f"{metric} >= 1", slow) == "unknown"


def test_copies_that_were_seen_fail_although_not_everything_was_read() -> None:
    slow = run(received=244, redelivered=3, out_of_order=2)

    assert outcome("duplicated == 0", slow) == "fail"
    assert outcome("out_of_order == 0", slow) == "fail"
    assert outcome("duplicated <= 5", slow) == "unknown"
    assert outcome("out_of_order <= 758", slow) == "pass"


def test_a_second_group_that_received_nothing_does_not_hide_behind_the_first() -> None:
    one = run()
    isolated = AuditRow("in", 0, "gen", "k", 1000, 0, in_flight=1000)
    two = replace(one, audit=(*one.audit, isolated))

    assert outcome("duplicated == 0", two) == "unknown"
    assert outcome("duplicated(group=g) == 0", two) == "pass"
    assert outcome("lost == 0", two) == "unknown"


def test_observed_clients_that_did_nothing_are_known_to_have_done_nothing() -> None:
    silent = replace(run(), sent=(), received=(), audit=(), positions=())

    for text in ("sent == 0", "acknowledged == 0", "sent(producer=gen) == 0", "received == 0",
                 "received(consumer=see) == 0", "failed == 0"):  # fmt: skip
        assert outcome(text, silent) == "pass", text
    assert outcome("received == 0", run(received=0)) == "pass"
    assert outcome("sent(producer=other) == 0", silent) == "unknown"


def test_programs_of_the_users_leave_counts_open_above() -> None:
    own = ClientRow("producer", "own", observed=False)
    mine = ClientRow("consumer", "mine", "in", "m", observed=False)
    mixed = replace(run(), clients=(PRODUCER, CONSUMER, own, mine))

    assert outcome("acknowledged >= 1000", mixed) == "pass"
    assert outcome("acknowledged == 1000", mixed) == "unknown"
    assert outcome("acknowledged(producer=gen) == 1000", mixed) == "pass"
    assert outcome("received == 1000", mixed) == "unknown"
    assert outcome("received(consumer=see) == 1000", mixed) == "pass"
    assert "own sent unobserved" in judged("sent == 1000", mixed).reason


def acks_0(**counts: int) -> Analysis:
    sent = SentRow("in", 0, "gen", 2000, 0, counts.get("unconfirmed", 1003), 0, counts.get("unanswered", 997))
    lost, later = counts.get("lost", 0), counts.get("later", 0)
    received = sent.unconfirmed - lost - later
    audit = AuditRow(
        "in", 0, "gen", "g", 0, received, unconfirmed_lost=lost, unconfirmed_in_flight=later, copies=received
    )
    return replace(run(), sent=(sent,), audit=(audit,))  # fmt: skip


def test_without_acknowledgements_a_dead_broker_leaves_loss_and_failure_unknown() -> None:
    dead = acks_0()

    assert outcome("lost == 0", dead) == "unknown"
    assert outcome("failed == 0", dead) == "unknown"
    assert outcome("unconfirmed_lost == 0", dead) == "unknown"
    assert outcome("failed <= 997", dead) == "pass"
    assert "997 messages were unanswered" in judged("failed == 0", dead).reason


def test_without_acknowledgements_everything_received_is_no_loss_and_no_failure_but_nothing_acknowledged() -> None:
    fine = acks_0(unanswered=0)

    assert outcome("failed == 0", fine) == "pass"
    assert outcome("unconfirmed_lost == 0", fine) == "pass"
    assert outcome("lost == 0", fine) == "unknown"
    assert judged("lost == 0", fine).reason == "no acknowledged message was to be received"


def test_an_unconfirmed_message_that_did_not_arrive_is_doubt_on_loss() -> None:
    some = acks_0(unanswered=0, lost=7, later=2)

    assert outcome("lost == 0", some) == "unknown"
    assert "9 messages sent with acks 0" in judged("lost == 0", some).reason
    assert outcome("unconfirmed_lost == 0", some) == "fail"
    assert outcome("unconfirmed_lost <= 9", some) == "pass"
    assert outcome("failed == 0", some) == "unknown"


def test_unanswered_messages_are_doubt_on_failures() -> None:
    stopped = replace(run(), sent=(SentRow("in", 0, "gen", 1010, 1000, 0, 0, 10),))

    assert outcome("failed == 0", stopped) == "unknown"
    assert outcome("lost == 0", stopped) == "pass"


def test_the_share_delivered_is_what_arrived_by_the_end_of_the_drain() -> None:
    assert outcome("delivered == 100 %", run()) == "pass"
    assert outcome("delivered >= 99 %", run(received=244)) == "fail"
    hidden = replace(
        run(), audit=(*run().audit, AuditRow("in", 0, "gen", "m", unknown=1000, why_unknown="a program"))
    )
    assert outcome("delivered >= 99 %", hidden) == "unknown"
    assert outcome("delivered >= 50 %", hidden) == "pass"


def traced(**trace: Any) -> Analysis:
    row = TraceRow("in", "out", "value", 800, **{"recognised": 800} | trace)
    reader = PositionRow("out", 0, "after", 0, 800, 0, 800, 800, 800)
    return replace(
        run(), audit=(), positions=(reader,), traces=(row,),
        clients=(PRODUCER, ClientRow("consumer", "see", "out", "after")),
    )  # fmt: skip


@pytest.mark.parametrize("where", ["", "(topic=out)", "(group=after)", "(topic=out, group=after)"])
def test_loss_and_duplicates_follow_a_trace_through_an_engine(where: str) -> None:
    assert outcome(f"lost{where} == 0", traced()) == "pass"
    assert outcome(f"delivered{where} == 100 %", traced()) == "pass"
    assert outcome(f"duplicated{where} == 0", traced()) == "pass"
    killed = traced(recognised=166, missing=634, doubled=5)
    assert outcome(f"lost{where} == 0", killed) == "fail"
    assert outcome(f"duplicated{where} == 0", killed) == "fail"
    assert outcome(f"delivered{where} > 21 %", killed) == "fail"
    assert outcome(f"delivered{where} > 20 %", killed) == "pass"


def test_results_that_stand_unread_may_be_the_missing_ones() -> None:
    slow = traced(recognised=700, missing=100, unread=100.0)
    for metric in ("lost(topic=out)", "results_missing", "results_doubled", "duplicated"):
        assert outcome(f"{metric} == 0", slow) == "unknown"
    assert outcome("results_missing == 0", traced(recognised=700, missing=100, unread=99.0)) == "fail"
    assert outcome("results_missing == 0", traced(recognised=700, missing=100, unread=float("inf"))) == "unknown"


def test_what_no_trace_follows_names_the_metric_that_does() -> None:
    missing = judged("lost(topic=in) == 0", traced())
    assert missing.outcome == "unknown"
    assert "no consumer of the experiment reads topic in" in missing.reason
    assert "results_missing(from=in, to=out)" in missing.reason
    by_producer = judged("lost(topic=out, producer=gen) == 0", traced())
    assert "results_missing(from=in, to=out)" in by_producer.reason
    untraced = judged("lost(topic=out) == 0", replace(traced(), traces=()))
    assert untraced.reason == (
        "no recorded producer of the experiment wrote to topic out; where an engine writes, declare a trace and ask "
        "results_missing(from=..., to=...)"
    )


def test_the_part_of_a_fault_has_the_doubt_of_the_whole() -> None:
    fault = FaultRow("dead", 1, "kill", ("broker",), 5.0, None, 10.0)
    part = RecoveryRow("dead", 1, "in", 100.0, 0.0)
    cut = replace(run(received=244), faults=(fault,), recovery=(part,))

    assert outcome("lost(fault=dead) == 0", cut) == "unknown"
    assert outcome("duplicated(fault=dead) == 0", cut) == "unknown"
    assert outcome("lost(fault=dead) == 0", replace(run(), faults=(fault,), recovery=(part,))) == "pass"
    assert outcome("lost(fault=dead) == 0", replace(cut, recovery=(replace(part, lost=3),))) == "fail"


def test_messages_without_the_key_of_their_trace_are_neither_missing_nor_fine() -> None:
    keyless = traced(recognised=700, untraceable=100)

    for text in (
        "results_missing == 0",
        "results_doubled == 0",
        "lost(topic=out) == 0",
        "delivered == 100 %",
    ):
        assert outcome(text, keyless) == "unknown", text
    assert outcome("results_missing <= 100", keyless) == "pass"
    assert "100 messages of in have no key to be recognised by" in judged("results_missing == 0", keyless).reason


def test_what_an_engine_fetched_counts_where_it_is_asked_for_and_is_nobodys_delivery() -> None:
    engine = ClientRow("engine", "job")
    one = run()
    fetched = (FetchedRow("in", 0, "", "job", 1500, 1000, 0),)
    seen = replace(one, clients=(*one.clients, engine), fetched=fetched)

    assert outcome("received == 1000", seen) == "pass"
    assert outcome("received(topic=in) == 1000", seen) == "pass"
    assert outcome("received(consumer=job) == 1500", seen) == "pass"
    assert outcome("received(consumer=job, topic=out) == 0", seen) == "pass"
    assert outcome("duplicated == 0", seen) == "pass"
    assert outcome("received(consumer=job) == 0", replace(seen, fetched=())) == "pass"
    hidden = replace(seen, clients=(*one.clients, replace(engine, observed=False)), fetched=())
    assert outcome("received(consumer=job) == 0", hidden) == "unknown"


def test_offsets_that_two_messages_had_may_hide_gaps_and_are_told() -> None:
    place = replace(run().positions[0], reused=50)
    anew = replace(run(), positions=(place,))

    assert outcome("offset_gaps == 0", run()) == "pass"
    assert outcome("offset_gaps == 0", anew) == "unknown"
    assert outcome("offset_gaps == 0", replace(anew, positions=(replace(place, gaps=1),))) == "fail"
    why = "group g received two messages each at 50 offsets of in/0: its log was cut off, or its topic was made anew"
    assert judged("offset_gaps == 0", anew).reason == why
    assert describe_shortfalls(anew) == (why,)
    wiped = FaultRow("wipe", 1, "delete-topic", ("in",), 5.0, 6.0, 10.0)
    assert describe_shortfalls(replace(anew, faults=(wiped,))) == ()
