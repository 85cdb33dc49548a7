"""Differences that the random histories found in the audit, each as a small case with a known answer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stream2gym.analysis.analyse import analyse
from stream2gym.analysis.fake_run import FakeRun
from stream2gym.analysis.result_tables import Analysis, AuditRow
from stream2gym.judge.judge import judge

Analyse = Callable[[FakeRun], Analysis]


@pytest.fixture
def look(session: Any, tmp_path: Path) -> Analyse:
    return lambda run: analyse(run.write(tmp_path / "run"), session=session)


LATEST: dict[str, Any] = {"from": "latest"}  # a consumer that reads from the end


def pipeline(topic: dict[str, Any] | None = None, **consumer: Any) -> FakeRun:
    return FakeRun(
        topics=[{"name": "in", "partitions": 1, **(topic or {})}, {"name": "out"}],
        producers=[{"name": "gen", "on": "h1", "topic": "in"}],
        consumers=[{"name": "see", "on": "h2", "topics": ["in"], "group": "g", **consumer}],
    )


def only(found: Analysis, partition: int = 0) -> AuditRow:
    [row] = [row for row in found.audit if row.partition == partition]
    return row


def outcomes(found: Analysis, *expected: str) -> list[str]:
    return [one.outcome for one in judge(list(expected), found, []).judgements]


def test_messages_that_were_never_acknowledged_are_audited_where_they_were_found(look: Analyse) -> None:
    run = pipeline()
    for offset, seq in enumerate([0, 2, 1, 1, 3]):
        run.receive(seq, offset=offset, at_s=1 + offset / 100)
    run.receive(3, offset=4, at_s=2.0)
    for seq in range(4):
        run.send(seq, partition=None, status="failed" if seq < 2 else "queued")
    run.offsets("in", 0, 0, 5)

    found = look(run)
    row = only(found)

    assert (row.copies, row.received, row.unacknowledged_received) == (6, 4, 4)
    assert outcomes(found, "received(producer=gen) == 6", "received(producer=gen) == 0") == ["pass", "fail"]
    assert (row.duplicated_in_log, row.redelivered, row.out_of_order) == (1, 1, 1)


def test_copies_in_the_log_are_counted_also_where_offsets_were_used_twice(look: Analyse) -> None:
    run = pipeline()
    for seq in range(10):
        run.send(seq)
        run.receive(seq)
    for seq in range(10, 15):  # the log was cut off at 5: offsets 5 to 9 are used again
        run.send(seq, offset=seq - 5, due_s=1.0)
        run.receive(seq, offset=seq - 5, at_s=1.1)
    for seq in (13, 14):  # and two messages stand there twice
        run.receive(seq, offset=seq - 3, at_s=1.2)
    run.offsets("in", 0, 0, 12)

    found = look(run)

    assert (only(found).duplicated_in_log, only(found).redelivered) == (2, 0)
    assert (found.positions[0].gaps, found.positions[0].reused) == (0, 3)


def test_a_group_that_an_election_set_back_has_what_is_left_in_flight(look: Analyse) -> None:
    run = pipeline()
    for seq in range(60):
        run.send(seq)
        run.receive(seq)
    for seq in range(100, 130):  # the log was cut off at 30, and grew again to 60
        run.send(seq, offset=seq - 70, due_s=1.0)
    for seq in range(100, 105):
        run.receive(seq, offset=seq - 70, at_s=2.0)
    run.offsets("in", 0, 0, 60)

    row = only(look(run))

    assert (row.lost, row.in_flight) == (0, 25)


def test_a_position_that_a_consumer_repeats_when_it_ends_is_no_new_one(look: Analyse) -> None:
    run = pipeline()
    run.experiment["consumers"].append({"name": "other", "on": "h1", "topics": ["in"], "group": "g"})
    run.sample(0.1, "client", "see", "position in/0", 60)
    for seq in range(100, 130):
        run.send(seq, offset=seq - 70, due_s=1.0)
    for seq in range(100, 105):
        run.receive(seq, offset=seq - 70, at_s=2.0, consumer="other")
    run.sample(9.0, "client", "see", "position in/0", 60)
    run.offsets("in", 0, 0, 60)

    row = only(look(run))

    assert (row.lost, row.in_flight) == (0, 25)


def unreplicated(led_s: float) -> FakeRun:
    """Acknowledged up to offset 100, readable up to 80; the leader last changed at a time."""
    run = pipeline()
    for seq in range(100):
        run.send(seq)
        if seq < 80:
            run.receive(seq)
    run.sample(led_s, "kafka", "in/0", "leader", 1)
    run.offsets("in", 0, 0, 80)
    return run


def test_what_followers_do_not_have_yet_is_in_flight(look: Analyse) -> None:
    found = look(unreplicated(led_s=-1.0))

    assert (only(found).lost, only(found).in_flight) == (0, 20)
    assert outcomes(found, "lost == 0") == ["unknown"]


def test_what_another_leader_does_not_have_is_lost(look: Analyse) -> None:
    assert only(look(unreplicated(led_s=5.0))).lost == 20


def test_what_stands_behind_a_message_that_was_sent_later_was_cut_off(look: Analyse) -> None:
    run = unreplicated(led_s=-1.0)
    run.send(200, offset=79, due_s=5.0)

    assert only(look(run)).lost >= 20


def test_with_unknown_end_offsets_what_was_not_received_is_unknown(look: Analyse) -> None:
    run = pipeline()
    for seq in range(100):
        run.send(seq)
        if seq < 40 and seq != 7:
            run.receive(seq)
    run.event("offsets-unknown", 11.0, place="in/0", reason="no leader")

    found = look(run)

    assert (only(found).lost, only(found).in_flight, only(found).unknown) == (1, 0, 60)
    assert only(found).why_unknown == "Kafka's end offset is unknown: no leader"
    assert outcomes(found, "lost == 0", "lost == 1", "lost <= 61") == ["fail", "unknown", "pass"]


@pytest.mark.parametrize("asked_again", [False, True])
def test_a_latest_group_is_owed_what_follows_its_lowest_receipt_and_the_rest_is_unknown(
    look: Analyse, asked_again: bool
) -> None:
    run = pipeline(**LATEST)
    for seq in range(100):
        run.send(seq)
        if seq >= 40 and seq != 50:
            run.receive(seq)
    run.event("assigned", -1.0, component="see", instance=1, group="g", partitions=[["in", 0, -1001]])
    if asked_again:  # by a second start of the consumer, which says nothing about the first
        run.sample(5.0, "client", "see", "first in/0", 70)
    run.offsets("in", 0, 0, 100)

    found = look(run)

    assert (only(found).lost, only(found).unknown) == (1, 40)
    assert "nobody recorded where" in only(found).why_unknown


def test_times_of_loss_leave_out_what_is_in_flight_and_what_came_before_the_group(look: Analyse) -> None:
    run = pipeline(**LATEST)
    run.event("fault-applied", 1.0, fault="cut", instance=1, do="pause", on=["see"])
    run.event("fault-healed", 8.0, fault="cut", instance=1, do="pause", on=["see"])
    for seq in range(4000):
        run.send(seq, due_s=seq / 500)
        if 1000 <= seq < 3000 and seq != 2000:
            run.receive(seq, at_s=seq / 500 + 0.02)
    run.sample(-1.0, "client", "see", "first in/0", 1000)
    run.offsets("in", 0, 0, 4000)

    found = look(run)

    assert (only(found).lost, only(found).in_flight) == (1, 1000)
    assert [row.lost for row in found.recovery] == [1]


def test_what_retention_took_before_the_group_came_is_lost_and_says_so(look: Analyse) -> None:
    run = pipeline()
    for seq in range(100):
        run.send(seq)
        if seq >= 60:
            run.receive(seq)
    run.offsets("in", 0, 60, 100)

    row = only(look(run))

    assert (row.lost, row.expired) == (60, 60)


def test_what_compaction_replaced_is_not_lost_and_the_last_of_a_key_is(look: Analyse) -> None:
    run = pipeline({"config": {"cleanup.policy": "compact"}})
    for seq in range(100):
        run.send(seq)
        run.rows["sent"][-1]["key_hash"] = seq % 10
        if 90 <= seq < 99:
            run.receive(seq)
    run.sample(9.0, "client", "see", "position in/0", 100)
    run.offsets("in", 0, 0, 100)

    found = look(run)

    assert (only(found).lost, only(found).compacted, only(found).expected) == (1, 90, 10)
    assert outcomes(found, "lost == 1", "compacted == 90") == ["pass", "pass"]


def test_what_a_fault_deleted_with_its_topic_is_counted_apart_and_offsets_begin_anew(look: Analyse) -> None:
    run = pipeline()
    for seq in range(100):
        run.send(seq)
        if seq < 60:
            run.receive(seq)
    run.sample(0.5, "client", "see", "position in/0", 60)
    run.event("fault-applied", 1.0, fault="wipe", instance=1, do="delete-topic", on=["in"])
    run.event("fault-healed", 1.5, fault="wipe", instance=1, do="delete-topic", on=["in"])
    run.send(100, offset=100, due_s=0.99, ack_s=0.1)  # answered while the topic was deleted
    for seq in range(200, 240):
        run.send(seq, offset=seq - 200, due_s=2.0)
        if seq < 230 and seq != 210:
            run.receive(seq, offset=seq - 200, at_s=2.5)
    run.sample(9.0, "client", "see", "position in/0", 61)
    run.offsets("in", 0, 0, 40)

    found = look(run)

    row = only(found)
    assert (row.deleted, row.lost, row.in_flight, row.unknown) == (40, 1, 10, 1)
    assert row.why_unknown == "acknowledged while a fault deleted the topic"


@pytest.mark.parametrize("without", [3, 10])
def test_messages_without_a_key_are_not_missing_behind_an_engine_but_unknown(look: Analyse, without: int) -> None:
    run = pipeline()
    run.experiment["trace"] = [{"from": "in", "to": "out", "by": "key"}]
    run.experiment["consumers"].append({"name": "end", "on": "h1", "topics": ["out"], "group": "e"})
    for seq in range(10):
        run.send(seq)
        run.receive(seq)
        run.receive(None, topic="out", group="e", consumer="end", offset=seq, at_s=1.0)
        for table in ("sent", "received"):
            run.rows[table][-1]["key_hash"] = None if seq < without else seq
    run.offsets("in", 0, 0, 10)
    run.offsets("out", 0, 0, 10)

    found = look(run)

    assert (found.traces[0].missing, found.traces[0].untraceable) == (0, without)
    assert outcomes(found, "results_missing == 0", "trace_latency.max < 5 s") == ["unknown", "unknown"]
    (judgement,) = judge(["results_missing == 0"], found, []).judgements
    assert judgement.reason == f"{without} messages of in have no key to be recognised by"


def test_the_first_messages_of_a_claim_are_named_by_the_same_definition(look: Analyse) -> None:
    run = pipeline({"config": {"cleanup.policy": "compact"}})
    for seq in range(20):
        run.send(seq)
        run.rows["sent"][-1]["key_hash"] = seq % 10
    run.sample(9.0, "client", "see", "position in/0", 20)
    run.offsets("in", 0, 0, 20)

    evidence = look(run).evidence

    assert [item.seq for item in evidence if item.claim == "lost"] == [10, 11, 12, 13, 14]


def test_a_topic_that_a_program_made_anew_is_told_and_hides_no_gaps(look: Analyse) -> None:
    run = pipeline()
    for seq in range(100):
        run.send(seq)
        if seq < 90:
            run.receive(seq)
    for seq in range(100, 150):  # the topic was deleted and made again: its offsets begin at 0
        run.send(seq, offset=seq - 100, due_s=1.0)
        if seq != 120:
            run.receive(seq, offset=seq - 100, at_s=1.1)
    run.offsets("in", 0, 0, 50)
    run.sample(-1.0, "kafka", "in/0", "leader", 1)

    found = look(run)

    # Acknowledged, not received, and Kafka's log no longer has them; only a fault's deletion is no loss.
    assert (only(found).lost, found.positions[0].reused) == (11, 49)
    assert outcomes(found, "lost == 0", "offset_gaps == 0") == ["fail", "unknown"]
    told = judge([], found, []).words
    assert "received two messages each at 49 offsets of in/0: its log was cut off, or its topic was made anew" in told
