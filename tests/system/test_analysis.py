"""The analysis on run folders with known answers: one Spark session for all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stream2gym.analysis.analyse import analyse, load_analysis
from stream2gym.analysis.background_session import BackgroundSession
from stream2gym.analysis.fake_run import FakeRun, rehearsal
from stream2gym.analysis.histogram import ERROR, merge_histograms
from stream2gym.analysis.result_tables import Analysis, AuditRow, Fidelity
from stream2gym.analysis.sql import FEW_VALUES, create_small_table
from stream2gym.errors import BadInput
from stream2gym.judge.judge import judge
from stream2gym.record.messages import first_seq

Analyse = Callable[[FakeRun], Analysis]


@pytest.fixture(scope="module")
def session() -> Iterator[Any]:
    with BackgroundSession() as early:
        yield early.session()


@pytest.fixture
def look(session: Any, tmp_path: Path) -> Analyse:
    return lambda run: analyse(run.write(tmp_path / "run"), session=session)


LATEST: dict[str, Any] = {"from": "latest"}  # a consumer that reads from the end


def pipeline(groups: tuple[str, ...] = ("g",), partitions: int = 1, **consumer: Any) -> FakeRun:
    """One producer, and a consumer for every group."""
    names = {"g": "see"} | {group: f"see-{group}" for group in groups if group != "g"}
    return FakeRun(
        topics=[{"name": "in", "partitions": partitions}, {"name": "out"}],
        producers=[{"name": "gen", "on": "h1", "topic": "in"}],
        consumers=[
            {"name": names[group], "on": "h2", "topics": ["in"], "group": group, **consumer} for group in groups
        ],
    )


def total(found: Analysis, **wanted: str) -> AuditRow:
    """The audit summed over its rows."""
    rows = [row for row in found.audit if all(getattr(row, name) == value for name, value in wanted.items())]
    assert rows
    numbers = [name for name in AuditRow.__dataclass_fields__ if isinstance(getattr(rows[0], name), int)]
    sums = {name: sum(getattr(row, name) for row in rows) for name in numbers if name != "partition"}
    return AuditRow("", -1, "", "", **sums)


def claims(found: Analysis, claim: str) -> list[int | None]:
    return [item.seq for item in found.evidence if item.claim == claim]


def test_a_clean_run_has_nothing_to_complain_about(look: Analyse) -> None:
    run = pipeline(partitions=3)
    for seq in range(300):
        run.send(seq, partition=seq % 3, offset=seq // 3)
        run.receive(seq, partition=seq % 3, offset=seq // 3)
    for partition in range(3):
        run.offsets("in", partition, 0, 100)

    found = look(run)

    assert total(found) == AuditRow("", -1, "", "", expected=300, received=300, copies=300)
    assert found.evidence == ()
    assert sum(row.gaps for row in found.positions) == 0
    assert [row.acknowledged for row in found.sent] == [100, 100, 100]


def test_what_is_sent_after_the_load_is_delivered_and_counts_for_no_rate(look: Analyse) -> None:
    run = pipeline()
    for seq in range(120):  # ten a second: 100 in the ten seconds of load, the others in the grace period after it
        run.send(seq, due_s=seq / 10)
        run.receive(seq, at_s=seq / 10 + 0.01)
    run.offsets("in", 0, 0, 120)

    found = look(run)

    assert (total(found).expected, total(found).received) == (120, 120)
    throughput, payload = judge(["throughput >= 0/s", "throughput_bytes >= 0 B/s"], found, []).judgements
    assert (throughput.measured, payload.measured) == (10.0, 1000.0)


def test_what_was_acknowledged_and_never_received_is_lost_and_named(look: Analyse) -> None:
    run = pipeline()
    missing = {17, 64, 191}
    for seq in range(200):
        run.send(seq)
        if seq not in missing:
            run.receive(seq)
    run.offsets("in", 0, 0, 200)

    found = look(run)

    assert (total(found).lost, total(found).in_flight) == (3, 0)
    assert claims(found, "lost") == [17, 64, 191]
    assert found.positions[0].gaps == 3
    assert [item.offset for item in found.evidence if item.claim == "offset_gaps"] == [17, 64, 191]


def test_what_the_consumer_had_not_reached_is_in_flight_and_not_lost(look: Analyse) -> None:
    run = pipeline()
    for seq in range(100):
        run.send(seq)
        if seq < 80 and seq != 5:
            run.receive(seq)
    run.offsets("in", 0, 0, 100)

    found = look(run)

    assert (total(found).lost, total(found).in_flight) == (1, 20)


def test_a_recorded_position_beyond_a_missing_message_makes_it_lost(look: Analyse) -> None:
    run = pipeline()
    for seq in range(100):
        run.send(seq)
        if seq < 80:
            run.receive(seq)
    run.offsets("in", 0, 0, 100)
    run.sample(9.0, "client", "see", "position in/0", 100)

    found = look(run)

    assert (total(found).lost, total(found).in_flight) == (20, 0)


def test_records_deleted_before_anybody_read_them_are_lost(look: Analyse) -> None:
    run = pipeline()
    for seq in range(50):
        run.send(seq)
    run.offsets("in", 0, 50, 50)

    found = look(run)

    assert (total(found).lost, total(found).in_flight, total(found).received) == (50, 0, 0)


def test_messages_cut_off_the_log_by_an_unclean_election_are_lost(look: Analyse) -> None:
    run = pipeline()
    for seq in range(100):
        run.send(seq)
        if seq < 60:
            run.receive(seq)
    for seq in range(100, 120):
        run.send(seq, offset=seq - 40)
        run.receive(seq, offset=seq - 40)
    run.offsets("in", 0, 0, 80)

    found = look(run)

    assert (total(found).lost, total(found).in_flight) == (40, 0)


def with_two_leaders(*, changes_leader: bool = True) -> FakeRun:
    """What a producer sent while nobody but an engine read: 40 of 120 offsets were given twice."""
    run = FakeRun(
        topics=[{"name": "in"}, {"name": "out"}],
        brokers=[{"name": "broker-h1", "on": "h1"}, {"name": "broker-h2", "on": "h2"}],
        producers=[{"name": "gen", "on": "h1", "topic": "in"}],
        engines=[{"name": "job", "on": "h2", "app": "job.py"}],
    )
    for seq in range(100):
        run.send(seq, due_s=seq / 100)
    for seq in range(100, 160):
        run.send(seq, offset=seq - 40, due_s=seq / 100 + 2)
    run.sample(-1.0, "kafka", "in/0", "leader", 1)
    if changes_leader:
        run.sample(2.5, "kafka", "in/0", "leader", 2)
    run.event("fault-applied", 2.0, fault="dead", do="kill", on=["broker-h1"], instance=1)
    run.offsets("in", 0, 0, 120)
    return run


def test_what_went_with_a_leader_is_lost_whoever_reads_and_names_both_leaders(look: Analyse) -> None:
    found = look(with_two_leaders())

    (row,) = found.cut_off
    assert (row.leader, row.successor, row.messages) == ("broker-h1", "broker-h2", 40)
    assert (row.first_offset, row.last_offset) == (60, 99)
    assert claims(found, "lost") == [60, 61, 62, 63, 64]
    lost, by_fault, other = judge(["lost(topic=in) == 0", "lost(fault=dead) == 0", "lost(topic=out) == 0"], found, [])
    assert (lost.outcome, lost.low, lost.high) == ("fail", 40, 160)
    assert (by_fault.outcome, by_fault.measured) == ("fail", 40)
    assert other.outcome == "unknown"
    (words,) = (text for text in judge([], found, []).remarks if "leader" in text)
    assert words.startswith("40 acknowledged messages were lost in in/0 with its leader broker-h1: broker-h2, ")


def test_what_stands_beyond_the_end_of_the_next_leaders_log_went_with_the_leader(look: Analyse) -> None:
    run = with_two_leaders()
    run.rows["sent"] = run.rows["sent"][:100]
    run.rows["offsets"].clear()
    run.offsets("in", 0, 0, 60)

    (row,) = look(run).cut_off

    assert (row.messages, row.first_offset, row.last_offset) == (40, 60, 99)


def test_without_a_new_leader_nothing_went_with_one(look: Analyse) -> None:
    found = look(with_two_leaders(changes_leader=False))

    assert found.cut_off == ()
    assert judge(["lost(topic=in) == 0"], found, []).outcome == "unknown"


def test_a_new_leader_that_had_every_copy_took_nothing_away(look: Analyse) -> None:
    run = with_two_leaders()
    run.rows["sent"].clear()
    for seq in range(160):
        run.send(seq, due_s=seq / 40)
    run.rows["offsets"].clear()
    run.offsets("in", 0, 0, 160)

    assert look(run).cut_off == ()


def test_offsets_of_a_topic_that_was_deleted_begin_anew_and_accuse_nobody(look: Analyse) -> None:
    run = with_two_leaders()
    run.event("fault-applied", 2.1, fault="gone", do="delete-topic", on=["in"], instance=1)

    assert look(run).cut_off == ()


def test_duplicates_in_the_log_are_told_from_redelivery(look: Analyse) -> None:
    run = pipeline()
    for seq in range(100):
        run.send(seq)
        run.receive(seq, offset=seq)
    for seq in range(90, 100):  # a retry that was not needed: the batch stands in the log twice
        run.receive(seq, offset=seq + 10, at_s=0.3)
    for seq in range(50, 55):  # read again after a restart
        run.receive(seq, offset=seq, at_s=0.5)
    run.offsets("in", 0, 0, 110)

    found = look(run)

    row = total(found)
    assert (row.duplicated_in_log, row.redelivered, row.duplicated) == (10, 5, 15)
    assert (row.out_of_order, row.lost, row.received, row.copies) == (0, 0, 100, 115)
    assert claims(found, "redelivered") == [50, 51, 52, 53, 54]


def test_a_restarted_consumer_in_the_same_group_neither_loses_nor_disorders(look: Analyse) -> None:
    run = pipeline()
    for seq in range(100):
        run.send(seq)
    for seq in range(60):
        run.receive(seq)
    for seq in range(40, 100):
        run.receive(seq, consumer="see", at_s=1 + seq / 1000)
    run.offsets("in", 0, 0, 100)

    row = total(look(run))

    assert (row.lost, row.redelivered, row.duplicated_in_log, row.out_of_order) == (0, 20, 0, 0)


def test_messages_out_of_order_are_counted_per_partition_and_producer(look: Analyse) -> None:
    run = pipeline()
    order = [0, 1, 4, 2, 3, 5, 6, 9, 8, 7]
    for offset, seq in enumerate(order):
        run.send(seq, offset=offset)
        run.receive(seq, offset=offset, at_s=offset / 1000 + 0.02)
    run.offsets("in", 0, 0, 10)

    found = look(run)

    assert total(found).out_of_order == 4
    assert claims(found, "out_of_order") == [2, 3, 8, 7]
    assert "after message 4" in found.evidence[0].text


def test_producers_and_starts_of_a_producer_do_not_disorder_each_other(look: Analyse) -> None:
    run = pipeline()
    run.experiment["producers"].append({"name": "other", "on": "h1", "topic": "in"})
    again = first_seq(1, 2)
    late, latest = first_seq(1, 129), first_seq(1, 1000)
    plan = [("gen", latest), ("gen", again), ("other", 5), ("gen", late), ("gen", 3), ("other", 6)]
    plan += [("gen", again + 1), ("gen", 4), ("gen", late + 1), ("gen", latest + 1)]
    for offset, (producer, seq) in enumerate(plan):
        run.send(seq, producer=producer, offset=offset, due_s=offset / 100)
        run.receive(seq, producer=producer, offset=offset, at_s=offset / 100 + 0.02)
    run.offsets("in", 0, 0, len(plan))

    row = total(look(run))

    assert (row.out_of_order, row.lost, row.received) == (0, 0, len(plan))


def test_without_acknowledgements_loss_is_told_apart(look: Analyse) -> None:
    run = pipeline()
    for seq in range(100):
        run.send(seq, status="unconfirmed", partition=0, offset=None)
        if seq < 70:
            run.receive(seq)
    run.offsets("in", 0, 0, 70)

    found = look(run)

    assert (total(found).lost, total(found).unconfirmed_lost, total(found).expected) == (0, 30, 0)
    assert claims(found, "unconfirmed_lost")[0] == 70
    assert found.sent[0].unconfirmed == 100


def test_refused_messages_that_arrived_anyway_are_found(look: Analyse) -> None:
    run = pipeline()
    for seq in range(20):
        failed = seq in (3, 4)
        run.send(seq, status="failed" if failed else "acked", offset=None if failed else seq, error="timed out")
        run.receive(seq)
    run.send(20, status="queued", partition=None)
    run.offsets("in", 0, 0, 20)

    found = look(run)

    assert (total(found).unacknowledged_received, total(found).lost) == (2, 0)
    assert claims(found, "unacknowledged_received") == [3, 4]
    assert sum(row.unanswered for row in found.sent) == 1


def test_an_aborted_transaction_is_neither_lost_nor_a_surprise(look: Analyse) -> None:
    run = pipeline(isolation="read_committed")
    for seq in range(10):
        aborted = seq >= 5
        run.send(seq, status="failed" if aborted else "acked", offset=None if aborted else seq, error="aborted")
        if not aborted:
            run.receive(seq)
    run.offsets("in", 0, 0, 12)  # a commit marker after 5, an abort marker at the end
    run.sample(9.0, "client", "see", "position in/0", 12)

    row = total(look(run))

    assert (row.lost, row.in_flight, row.unacknowledged_received, row.received) == (0, 0, 0, 5)


def test_a_group_that_began_at_the_end_is_owed_only_what_came_after(look: Analyse) -> None:
    run = pipeline(**LATEST)
    for seq in range(100):
        run.send(seq)
        if seq >= 40 and seq != 50:
            run.receive(seq)
    run.offsets("in", 0, 0, 100)
    run.sample(-1.0, "client", "see", "first in/0", 30)

    row = total(look(run))

    assert (row.expected, row.lost) == (70, 11)


def test_a_group_at_the_end_of_which_nobody_recorded_anything_is_unknown(look: Analyse) -> None:
    run = pipeline(**LATEST)
    for seq in range(10):
        run.send(seq)
    run.offsets("in", 0, 0, 10)

    found = look(run)

    assert (total(found).lost, total(found).unknown) == (0, 10)
    assert judge(["lost == 0"], found, []).outcome == "unknown"


def test_two_groups_are_audited_on_their_own(look: Analyse) -> None:
    run = pipeline(("g", "k"))
    for seq in range(100):
        run.send(seq)
        run.receive(seq)
        if seq != 30:
            run.receive(seq, group="k", consumer="see-k", at_s=seq / 1000 + 0.05)
    run.offsets("in", 0, 0, 100)

    found = look(run)

    assert (total(found, group="g").lost, total(found, group="k").lost) == (0, 1)
    sync = merge_histograms(row.histogram for row in found.latency if row.kind == "sync_latency")
    assert sync.count == 99
    assert sync.value("p50") == pytest.approx(0.05)


def test_a_group_that_received_nothing_at_all_has_everything_in_flight(look: Analyse) -> None:
    run = pipeline(("g", "k"))
    for seq in range(10):
        run.send(seq)
        run.receive(seq)
    run.offsets("in", 0, 0, 10)

    found = look(run)

    assert (total(found, group="k").in_flight, total(found, group="k").lost) == (10, 0)


def test_programs_of_the_users_leave_unknowns_beside_kafkas_own_word(look: Analyse) -> None:
    run = pipeline()
    run.experiment["producers"].append({"name": "own", "on": "h1", "topic": "in", "type": "CUSTOM", "app": "x.py"})
    run.experiment["consumers"].append(
        {"name": "mine", "on": "h1", "topics": ["in"], "group": "m", "type": "CUSTOM", "app": "y.py"}
    )
    for seq in range(10):
        run.send(seq)
        run.receive(seq)
    for offset in range(10, 15):
        run.receive(None, offset=offset, at_s=1.0)
    run.offsets("in", 0, 0, 15)

    found = look(run)

    assert total(found, group="g", producer="gen").lost == 0
    assert total(found, group="m", producer="gen").unknown == 10
    assert any("own wrote to in unobserved; Kafka's offsets say 15" in note for note in found.notes)
    assert found.received[0].foreign == 5
    verdict = judge(["lost == 0", "lost(producer=gen, group=g) == 0"], found, [])
    assert [one.outcome for one in verdict.judgements] == ["unknown", "pass"]


def test_what_stands_in_a_topic_that_nobody_reads_is_counted_by_kafkas_own_offsets(look: Analyse) -> None:
    run = FakeRun(
        topics=[{"name": "in", "partitions": 2}, {"name": "other"}],
        producers=[
            {"name": "own", "on": "h1", "topic": "in", "type": "CUSTOM", "app": "x.py"},
            {"name": "free", "on": "h1", "type": "CUSTOM", "app": "y.py"},
        ],
    )
    run.offsets("in", 0, 0, 4000)
    run.offsets("in", 1, 100, 930)
    run.offsets("other", 0, 0, 60)

    found = look(run)

    assert found.held == {"in": 4830, "other": 60}
    assert "own wrote to in unobserved; Kafka's offsets say 4830 messages stand there" in found.notes
    assert any(note.startswith("free may write to any topic") and "60 in other" in note for note in found.notes)
    assert [(row.name, row.topic, row.observed) for row in found.clients] == [
        ("own", "in", False),
        ("free", "", False),
    ]


def test_latencies_count_from_when_a_message_was_due(look: Analyse) -> None:
    run = pipeline()
    for seq in range(1000):
        late = 1.0 if seq == 999 else 0.0
        run.send(seq, ack_s=0.005 + seq / 1e6)
        run.receive(seq, at_s=seq / 1000 + 0.02 + late)
    run.offsets("in", 0, 0, 1000)

    found = look(run)

    by_kind = {row.kind: row.histogram for row in found.latency}
    assert by_kind["latency"].value("p50") == pytest.approx(0.02)
    assert by_kind["latency"].value("p99.99") == pytest.approx(1.02)
    assert total(found).late == 1, "more than a second after it was due"
    assert by_kind["ack_latency"].value("p99") == pytest.approx(0.005989, rel=ERROR)
    assert by_kind["ack_latency_sent"].value("min") == pytest.approx(0.004)
    assert by_kind["send_delay"].value("mean") == pytest.approx(0.001)
    assert [p.max_s for p in found.latency_series if p.kind == "latency"] == [pytest.approx(1.02)]


def test_a_message_received_twice_has_the_latency_of_its_first_receipt(look: Analyse) -> None:
    run = pipeline()
    for seq in range(10):
        run.send(seq)
        run.receive(seq, at_s=5.0)
        run.receive(seq)
    run.offsets("in", 0, 0, 10)

    histogram = merge_histograms(row.histogram for row in look(run).latency if row.kind == "latency")

    assert (histogram.count, histogram.value("max")) == (10, pytest.approx(0.02))


@pytest.mark.parametrize("by", ["value", "header", "key", "json:$.id"])
def test_messages_are_recognised_behind_an_engine(look: Analyse, by: str) -> None:
    run = pipeline()
    run.experiment["trace"] = [{"from": "in", "to": "out", "by": by}]
    run.experiment["consumers"].append({"name": "end", "on": "h1", "topics": ["out"], "group": "e"})
    for seq in range(100):
        run.send(seq, value=seq // 2)  # every value twice: the n-th result belongs to the n-th message
        run.rows["sent"][-1]["key_hash"] = seq
        if seq < 90:
            header = {"seq": seq} if by == "header" else {"seq": None}
            run.receive(
                **header,
                topic="out",
                group="e",
                consumer="end",
                offset=seq,
                value=seq // 2,
                at_s=seq / 1000 + 0.3,
            )
            run.rows["received"][-1]["key_hash"] = seq
    run.offsets("in", 0, 0, 100)
    run.offsets("out", 0, 0, 90)

    found = look(run)

    trace = found.traces[0]
    assert (trace.sent, trace.recognised) == (100, 90)
    assert (trace.missing, trace.doubled) == (10, 0)
    latency = next(row for row in found.latency if row.kind == "trace_latency")
    assert latency.histogram.value("p99") == pytest.approx(0.3)
    assert total(found, group="g").in_flight == 100


@pytest.mark.parametrize("by", ["value", "header"])
def test_results_that_come_twice_are_counted(look: Analyse, by: str) -> None:
    run = pipeline()
    run.experiment["trace"] = [{"from": "in", "to": "out", "by": by}]
    run.experiment["consumers"].append({"name": "end", "on": "h1", "topics": ["out"], "group": "e"})
    for seq in range(100):
        run.send(seq, value=seq)
    for offset, seq in enumerate([*range(60), *range(40, 100)]):
        run.receive(seq, topic="out", group="e", consumer="end", offset=offset, value=seq, at_s=offset / 1000)
    run.offsets("in", 0, 0, 100)
    run.offsets("out", 0, 0, 120)

    trace = look(run).traces[0]

    assert (trace.recognised, trace.missing, trace.doubled) == (100, 0, 20)


def test_flow_is_counted_by_the_second(look: Analyse) -> None:
    run = pipeline()
    for seq in range(3000):
        run.send(seq)
        run.receive(seq)
    run.offsets("in", 0, 0, 3000)

    found = look(run)

    acknowledged = {point.at_s: point.messages for point in found.flow if point.kind == "acknowledged"}
    assert acknowledged == {0.0: 995, 1.0: 1000, 2.0: 1000, 3.0: 5}
    assert judge(["throughput == 300/s", "throughput.max == 1000/s"], found, []).judgements[1].measured == 1000


def test_the_result_is_kept_in_the_run_folder(session: Any, tmp_path: Path) -> None:
    path = rehearsal().write(tmp_path / "run")

    found = analyse(path, session=session)

    assert load_analysis(path) == found
    assert "gen" in (path / "analysis" / "audit.csv").read_text()
    assert not any(str(tmp_path) in file.read_text() for file in (path / "analysis").iterdir())


def test_a_run_without_messages_has_an_analysis_too(look: Analyse) -> None:
    found = look(FakeRun())

    assert (found.sent, found.audit, found.latency) == ((), (), ())
    assert judge(["lost == 0"], found, []).outcome == "unknown"


def test_a_folder_that_is_not_sealed_is_refused(session: Any, tmp_path: Path) -> None:
    path = FakeRun().write(tmp_path / "run")
    (path / "data" / "sent.parquet").unlink()

    with pytest.raises(BadInput, match="has no table sent"):
        analyse(path, session=session)


@pytest.mark.parametrize("rows", [3, FEW_VALUES + 1])
def test_a_table_of_ours_reaches_spark_as_it_is_whether_small_or_large(session: Any, rows: int) -> None:
    wanted = [(number, 'it\'s \\ a "topic"', number == 1, 1 << 62) for number in range(rows)]

    create_small_table(session, "ours", ["number", "word", "flag", "far"], wanted)

    found = session.sql("SELECT number, word, flag, far FROM ours ORDER BY number").collect()
    assert [tuple(row) for row in found] == wanted


def faulty() -> FakeRun:
    """Ten seconds with a pause at 3 s and a kill at 6 s."""
    run = pipeline()
    for name, from_s, to_s in (("asleep", 3.0, 5.0), ("dead", 6.0, 7.0)):
        run.event("fault-applied", from_s, fault=name, instance=1, do="pause", on=["see"])
        run.event("fault-healed", to_s, fault=name, instance=1, do="pause", on=["see"])
    return run


def test_what_a_killed_consumer_left_out_belongs_to_the_kill_however_long_it_had_waited(
    look: Analyse,
) -> None:
    run = faulty()
    for seq in range(10_000):
        run.send(seq)
        if not 3000 <= seq < 3050:
            run.receive(seq, at_s=seq / 1000 if seq < 3000 else 8 + seq / 10_000)
    run.offsets("in", 0, 0, 10_000)

    found = look(run)

    assert total(found).lost == 50
    assert {row.fault: row.lost for row in found.recovery} == {"asleep": 0, "dead": 50}


def test_what_the_log_lost_belongs_to_the_time_of_its_acknowledgement(look: Analyse) -> None:
    run = faulty()
    for seq in range(10_000):
        run.send(seq, offset=seq if seq < 3050 else seq - 50)
        if not 3000 <= seq < 3050:
            run.receive(seq, offset=seq if seq < 3000 else seq - 50)
    run.offsets("in", 0, 0, 9950)

    found = look(run)

    assert total(found).lost == 50
    assert {row.fault: row.lost for row in found.recovery} == {"asleep": 50, "dead": 0}


def test_failures_copies_and_disorder_are_held_against_the_fault_they_came_with(look: Analyse) -> None:
    run = faulty()
    for seq in range(10_000):
        run.send(seq, status="failed" if 3500 <= seq < 3520 else "acked", offset=None)
        if not 3500 <= seq < 3520:
            run.receive(seq)
    for seq in range(6000, 6030):
        run.receive(seq, at_s=7.5)
    run.rows["received"][7000]["at_ns"] += 500_000_000
    run.offsets("in", 0, 0, 10_000)

    found = look(run)

    assert {row.fault: (row.failed, row.doubled) for row in found.recovery} == {
        "asleep": (20, 0),
        "dead": (0, 30),
    }
    disorder = {row.fault: row.out_of_order for row in found.recovery}
    assert (disorder["asleep"], disorder["dead"]) == (0, total(found).out_of_order)
    assert disorder["dead"] > 0


def gone(found: Analysis, kind: str, **wanted: Any) -> list[float]:
    """How many messages a latency lacks, and the smallest and the largest time that they had taken at least."""
    rows = [
        row for row in found.missing
        if row.kind == kind and all(getattr(row, name) == value for name, value in wanted.items())
    ]  # fmt: skip
    whole = merge_histograms(row.histogram for row in rows)
    return [whole.count, whole.min_ns / 1e9, whole.max_ns / 1e9]


def test_messages_that_never_arrived_count_from_their_due_times_to_the_end_of_the_drain(
    look: Analyse,
) -> None:
    run = pipeline(("g", "k"))
    for seq in range(1000):
        run.send(seq, due_s=seq / 100, status="acked" if seq < 990 else "failed")
        if seq < 300:
            run.receive(seq, at_s=seq / 100 + 0.02)
        if seq < 990:
            run.receive(seq, group="k", consumer="see-k", at_s=seq / 100 + 0.05)
    run.offsets("in", 0, 0, 990)

    found = look(run)

    # The consumers were stopped at 11 s.
    assert gone(found, "latency", group="g") == pytest.approx([700, 1.01, 8.0])
    assert gone(found, "latency", group="k") == pytest.approx([10, 1.01, 1.1])
    assert gone(found, "sync_latency") == pytest.approx([700, 1.01, 8.0])
    assert gone(found, "ack_latency") == pytest.approx([10, 1.01, 1.1])
    assert gone(found, "ack_latency_sent") == pytest.approx([10, 1.009, 1.099])


def test_a_run_in_which_everything_arrived_lacks_nothing(look: Analyse) -> None:
    run = pipeline(("g", "k"))
    for seq in range(100):
        run.send(seq)
        run.receive(seq)
        run.receive(seq, group="k", consumer="see-k")
    run.offsets("in", 0, 0, 100)

    assert look(run).missing == ()


def test_without_acknowledgements_what_never_arrived_is_missing_from_latencies_but_not_from_answers(
    look: Analyse,
) -> None:
    run = pipeline()
    run.experiment["producers"][0]["acks"] = 0
    for seq in range(100):
        run.send(seq, status="unconfirmed" if seq < 60 else "queued", partition=0 if seq < 60 else None)
        if seq < 50:
            run.receive(seq)

    found = look(run)

    assert gone(found, "latency")[0] == 50
    assert gone(found, "ack_latency")[0] == 0
    row = total(found)
    assert row.unconfirmed_lost + row.unconfirmed_in_flight == 10
    assert [one.outcome for one in judge(["lost == 0", "failed == 0"], found, []).judgements] == ["unknown"] * 2


def test_messages_sent_before_a_group_was_there_are_not_missing(look: Analyse) -> None:
    run = pipeline(**LATEST)
    for seq in range(100):
        run.send(seq)
        if seq >= 30 and seq != 99:
            run.receive(seq)
    run.sample(-0.5, "client", "see", "first in/0", 30)
    run.sample(1.0, "client", "see", "position in/0", 99)
    run.offsets("in", 0, 0, 100)

    assert gone(look(run), "latency")[0] == 1


@pytest.mark.parametrize("by", ["header", "key", "value"])
def test_results_that_never_came_are_missing_from_the_latency_of_their_trace(look: Analyse, by: str) -> None:
    run = pipeline()
    run.experiment["trace"] = [{"from": "in", "to": "out", "by": by}]
    run.experiment["consumers"] = [{"name": "end", "on": "h1", "topics": ["out"], "group": "e"}]
    for seq in range(800):
        run.send(seq, due_s=seq / 100, value=seq)
        run.rows["sent"][-1]["key_hash"] = seq
        if seq < 166:
            number = seq if by == "header" else None
            run.receive(number, topic="out", group="e", consumer="end", offset=seq, value=seq, at_s=seq / 100 + 0.3)
            run.rows["received"][-1]["key_hash"] = seq
    run.offsets("in", 0, 0, 800)
    run.offsets("out", 0, 0, 166)

    found = look(run)

    assert (found.traces[0].missing, found.traces[0].unread) == (634, 0)
    assert gone(found, "trace_latency") == pytest.approx([634, 3.01, 9.34])
    verdict = judge(
        [
            "lost == 0",
            "trace_latency.p99 < 2 s",
            "trace_latency.p99 < 60 s",
            "trace_latency.p99(of=received) < 2 s",
        ],
        replace(found, fidelity=Fidelity(True, "in time", suspect=())),
        [],
    )
    assert [one.outcome for one in verdict.judgements] == ["fail", "fail", "unknown", "pass"]


# ---- suspect time


def test_messages_that_met_suspect_time_are_told_apart(look: Analyse) -> None:
    """The broker is starved from 1 to 2 s; what was due then, or was still under way, may be the machine's doing."""
    run = pipeline()
    run.experiment["producers"][0]["rate"] = "100/s"
    run.experiment["brokers"] = [{"name": "broker", "on": "h2"}]
    for seq in range(400):
        due_s = seq / 100
        took_s = 0.5 if 1.0 <= due_s < 2.0 else 0.03
        run.send(seq, due_s=due_s, ack_s=took_s - 0.01)
        run.receive(seq, at_s=due_s + took_s)
    run.offsets("in", 0, 0, 400)
    for tick in range(26):
        at_s = -1.0 + tick / 2
        run.sample(at_s, "fabric", "lateness", "packets", 100)
        run.sample(at_s, "fabric", "lateness", "le_100", 100)
        run.sample(at_s, "process", "broker", "cpu_s", 0.0)
        run.sample(at_s, "process", "broker", "cpu_wait_s", 0.4 * max(0.0, min(at_s, 2.0) - 1.0))

    found = look(run)

    assert [(span.from_s, span.to_s) for span in found.fidelity.suspect or ()] == [(1.0, 2.0)]
    row = next(row for row in found.latency if row.kind == "latency")
    assert row.histogram.count == 400
    assert row.clear is not None
    # Those due in that second, and the three before it that were received in it.
    assert row.clear.count == 400 - 103
    assert row.floor_s == pytest.approx(0.02)
    answered = next(row for row in found.latency if row.kind == "ack_latency")
    assert answered.clear is not None
    assert answered.clear.count == 400 - 102
    assert sum(point.messages for point in found.offered) == 400
    expected = ["latency.p99 < 1 s", "latency.p99 < 100 ms", "latency.p99 < 25 ms", "latency.p50 < 10 ms"]
    assert [one.outcome for one in judge(expected, found, []).judgements] == [
        "pass", "unknown", "fail", "fail",
    ]  # fmt: skip


def test_messages_without_a_key_are_not_missing_behind_an_engine_that_is_traced_by_key(look: Analyse) -> None:
    run = pipeline()
    run.experiment["trace"] = [{"from": "in", "to": "out", "by": "key"}]
    run.experiment["consumers"] = [{"name": "end", "on": "h1", "topics": ["out"], "group": "e"}]
    for seq in range(100):
        run.send(seq)
        run.receive(None, topic="out", group="e", consumer="end", offset=seq, value=seq, at_s=1.0)
        if seq < 60:
            run.rows["sent"][-1]["key_hash"] = run.rows["received"][-1]["key_hash"] = seq
    run.offsets("in", 0, 0, 100)
    run.offsets("out", 0, 0, 100)

    found = look(run)

    (trace,) = found.traces
    assert (trace.recognised, trace.missing, trace.doubled, trace.untraceable) == (60, 0, 0, 40)
    assert [(row.histogram.count, row.doubtful) for row in found.missing] == [(0, 40)]


def with_program(**keys: Any) -> FakeRun:
    """A run in which a producer of ours and an observed program write to a topic that another one reads."""
    run = pipeline()
    run.experiment["producers"].append({"name": "own", "on": "h1", "type": "CUSTOM", "app": "x.py", **keys})
    run.experiment["consumers"] = [{"name": "mine", "on": "h2", "type": "CUSTOM", "app": "y.py"}]
    for name, role in (("own", "producer"), ("mine", "consumer")):
        run.event("recorder-loaded", 0.0, component=name, instance=1)
        more = {"group": "m", "start": "earliest"} if role == "consumer" else {}
        run.event("observed", 0.0, component=name, instance=1, role=role, library="aiokafka", **more)
    run.event("assigned", 0.1, component="mine", instance=1, group="m", partitions=[["in", 0, -1]])
    for seq in range(100):
        run.send(seq, offset=2 * seq)
        run.send(seq, producer="own", offset=2 * seq + 1)
        row = run.rows["sent"][-1]
        row.update(sent_ns=row["due_ns"], paced=False)
        run.receive(seq, group="m", consumer="mine", offset=2 * seq)
    run.offsets("in", 0, 0, 200)
    return run


def test_latencies_of_programs_run_from_send_and_are_never_mixed_with_due_times(look: Analyse) -> None:
    run = with_program()
    for seq in range(100):
        run.receive(seq, producer="own", group="m", consumer="mine", offset=2 * seq + 1, at_s=seq / 1000 + 0.5)

    found = look(run)

    kinds = {(row.kind, row.producer) for row in found.latency}
    assert kinds == {
        ("latency", "gen"), ("ack_latency", "gen"), ("ack_latency_sent", "gen"), ("send_delay", "gen"),
        ("latency_sent", "own"), ("ack_latency_sent", "own"),
    }  # fmt: skip
    expect = [
        "latency.max < 100 ms", "lost == 0", "delivered == 100 %",
        "received(consumer=mine) == 200", "acknowledged(producer=own) == 100",
    ]  # fmt: skip
    assert [one.outcome for one in judge(expect, found, []).judgements] == ["pass"] * len(expect)
    # Nobody sampled the machine, and a program that is slow sends less: its latencies have no bounds.
    (judged,) = judge(["latency_sent.max < 600 ms"], found, []).judgements
    assert (judged.outcome, judged.measured) == ("unknown", pytest.approx(0.5, abs=0.1))
    assert all((row.histogram.value("min") or 0) > 0.4 for row in found.latency if row.kind == "latency_sent")
    assert {(point.kind, point.max_s > 0.4) for point in found.latency_series if point.kind != "ack_latency"} == {
        ("latency", False),
        ("latency_sent", True),
    }
    assert all(client.observed for client in found.clients)
    assert {(row.topic, row.group, row.observed) for row in found.positions} == {("in", "m", True)}
    (reason,) = (one.reason for one in judge(["latency.p99(producer=own) < 1 s"], found, []).judgements)
    assert "latency_sent asks from when they were sent" in reason


def test_messages_of_programs_without_header_are_recognised_by_their_places(look: Analyse) -> None:
    run = with_program(header=False)
    for seq in range(99):
        run.receive(None, group="m", consumer="mine", offset=2 * seq + 1, at_s=seq / 1000 + 0.5)
    run.receive(99, group="m", consumer="mine", offset=198, at_s=0.7)

    found = look(run)

    own = total(found, producer="own", group="m")
    assert (own.expected, own.received, own.in_flight + own.lost) == (100, 99, 1)
    assert [row.producer for row in found.latency if row.kind == "latency_sent"] == ["own"]
    assert sum(row.foreign for row in found.received) == 0


def test_a_program_that_was_not_observed_makes_what_it_wrote_unknown(look: Analyse) -> None:
    run = with_program()
    run.event("unobserved", 0.2, component="own", instance=1, what="kafka-python 9", why="this version is not known")

    found = look(run)

    assert any(note.startswith("own is not observed: kafka-python 9") for note in found.notes)
    assert [one.outcome for one in judge(["sent(producer=own) == 100"], found, []).judgements] == ["unknown"]


def through_an_engine(**more: Any) -> FakeRun:
    """A producer, an engine on the wire that passes messages on, and a consumer of its results."""
    run = FakeRun(
        brokers=[{"name": "broker-h1", "on": "h1"}],
        topics=[{"name": "in"}, {"name": "out"}],
        producers=[{"name": "gen", "on": "h1", "topic": "in"}],
        engines=[{"name": "job", "on": "h2", "app": "job.py", "observe": "wire"}],
        consumers=[{"name": "see", "on": "h2", "topics": ["out"], "group": "g"}],
        **more,
    )
    run.event("observed", 10.5, component="job", instance=1, role="engine", library="wire")
    for seq in range(100):
        run.send(seq)
    return run


def test_what_an_engine_fetches_twice_or_leaves_out_is_neither_duplicated_nor_lost(look: Analyse) -> None:
    run = through_an_engine()
    for _ in range(2):
        for seq in range(60):
            run.receive(seq, consumer="job", group="")
    for seq in range(60):
        run.send(seq, topic="out", producer="job")
        run.receive(seq, topic="out", producer="job")
    run.offsets("in", 0, 0, 100)
    run.offsets("out", 0, 0, 60)

    found = look(run)

    assert total(found) == AuditRow("", -1, "", "", expected=60, received=60, copies=60)
    assert [(row.topic, row.producer, row.group) for row in found.audit] == [("out", "job", "g")]
    assert {row.topic for row in found.positions} == {"out"}
    assert [(row.messages, row.offsets) for row in found.fetched] == [(120, 60)]
    assert "job fetched 60 of 100 messages of in (and 60 times one of them again)" in found.notes
    texts = ["lost == 0", "duplicated == 0", "received == 60", "received(consumer=job) == 120"]
    assert [one.outcome for one in judge(texts, found, []).judgements] == ["pass"] * 4
    assert {row.kind for row in found.latency if row.topic == "out"} >= {"latency_sent", "ack_latency_sent"}


def test_an_engine_whose_packets_were_not_all_captured_leaves_counts_of_its_messages_unknown(look: Analyse) -> None:
    run = through_an_engine()
    run.event("unobserved", 10.5, component="job", instance=1, what="", why="packets were not captured", remedy="")
    for seq in range(60):
        run.send(seq, topic="out", producer="job")
        run.receive(seq, topic="out", producer="job")
    run.offsets("out", 0, 0, 61)

    found = look(run)

    texts = [
        "lost(topic=out) == 0",
        "sent(producer=job) == 60",
        "sent(topic=out) == 60",
        "received(consumer=job) == 0",
    ]
    assert [one.outcome for one in judge(texts, found, []).judgements] == ["unknown"] * 4
    assert "job is not observed: packets were not captured" in found.notes


def test_a_result_of_an_engine_that_its_consumer_passed_over_is_lost(look: Analyse) -> None:
    run = through_an_engine()
    for seq in range(60):
        run.send(seq, topic="out", producer="job")
        if seq != 30:
            run.receive(seq, topic="out", producer="job")
    run.offsets("out", 0, 0, 60)

    found = look(run)

    assert total(found).lost == 1
    assert claims(found, "lost") == [30]


def test_an_engine_is_not_one_of_the_groups_that_a_message_must_reach(look: Analyse) -> None:
    run = through_an_engine()
    run.experiment["consumers"] = [
        {"name": "see", "on": "h2", "topics": ["in"], "group": "g"},
        {"name": "also", "on": "h2", "topics": ["in"], "group": "k"},
    ]
    for seq in range(100):
        run.receive(seq)
        run.receive(seq, consumer="job", group="")
        if seq < 40:
            run.receive(seq, consumer="also", group="k")
    run.offsets("in", 0, 0, 100)

    found = look(run)

    (both,) = (row for row in found.latency if row.kind == "sync_latency")
    assert both.histogram.count == 40


def test_results_that_carry_the_header_of_their_source_are_left_to_the_trace(look: Analyse) -> None:
    """They are received under the name of the source, so that none of the engine's own would seem to arrive."""
    run = through_an_engine(trace=[{"from": "in", "to": "out", "by": "header"}])
    for seq in range(100):
        run.send(seq, topic="out", producer="job")
        run.receive(seq, topic="out", producer="gen")
    run.offsets("out", 0, 0, 100)

    found = look(run)

    assert found.audit == ()
    assert [one.outcome for one in judge(["lost == 0", "results_missing == 0"], found, []).judgements] == ["pass"] * 2
    assert any("is told by the trace, not by the audit" in note for note in found.notes)


def test_an_engine_that_is_not_observed_is_named_with_what_would_change_that(look: Analyse) -> None:
    run = through_an_engine()
    run.experiment["engines"][0].pop("observe")

    assert [note for note in look(run).notes if "observe" in note] == [
        "job is not observed: what it sends and fetches is recorded on request only; to observe it, say observe: wire"
    ]


def reading_program(start: str, *told: dict[str, Any], read_from: int = 40) -> FakeRun:
    """A hundred messages of ours, of which a program read those from an offset on; ``told`` are its events."""
    run = pipeline()
    run.experiment["consumers"] = [{"name": "mine", "on": "h2", "type": "CUSTOM", "app": "y.py"}]
    run.event("recorder-loaded", -1.0, component="mine", instance=1)
    who = {"component": "mine", "instance": 1, "group": "m"}
    run.event("observed", -1.0, role="consumer", library="aiokafka", start=start, **who)
    run.event("assigned", -0.9, partitions=[["in", 0, -1001]], **who)
    for number, event in enumerate(told):
        run.event("began", -0.8 + number / 10, **{**who, "chosen": False, "again": False, **event})
    for seq in range(100):
        run.send(seq)
        if seq >= read_from:
            run.receive(seq, group="m", consumer="mine")
    run.offsets("in", 0, 0, 100)
    return run


def began(offset: int, **more: Any) -> dict[str, Any]:
    return {"partitions": [["in", 0, offset]], **more}


@pytest.mark.parametrize(
    ("start", "told", "counts"),
    [
        pytest.param("latest", [began(40)], (60, 0, 0), id="as-told"),
        pytest.param("latest", [began(30)], (70, 10, 0), id="it-missed-what-came-first"),
        pytest.param("latest", [began(-1)], (60, 0, 40), id="nobody-knows-where"),
        pytest.param("latest", [], (60, 0, 40), id="nothing-told"),
        pytest.param(
            "latest", [began(30), began(40, component="other")], (70, 10, 0), id="another-member-began-later"
        ),
        pytest.param("earliest", [began(0)], (100, 40, 0), id="from-the-beginning"),
        pytest.param("earliest", [began(0), began(40)], (100, 40, 0), id="reset-because-the-log-was-cut"),
        pytest.param("earliest", [began(0), began(40, chosen=True, again=True)], (60, 0, 0), id="the-program-chose"),
        pytest.param("earliest", [began(-1, chosen=True)], (60, 0, 40), id="the-program-chose-nobody-knows-where"),
    ],
)
def test_an_observed_program_is_owed_what_follows_the_place_where_it_began(
    look: Analyse, start: str, told: list[dict[str, Any]], counts: tuple[int, int, int]
) -> None:
    found = look(reading_program(start, *told))

    row = total(found, group="m")
    assert (row.expected, row.lost, row.unknown) == counts
    _expected, lost, unknown = counts
    outcome = "fail" if lost else "unknown" if unknown else "pass"
    assert judge(["lost == 0"], found, []).outcome == outcome


def test_packets_tell_where_a_program_began_in_what_it_was_assigned(look: Analyse) -> None:
    run = reading_program("latest")
    run.event("assigned", 10.5, component="mine", instance=1, group="m", partitions=[["in", 0, 30]])

    row = total(look(run), group="m")

    assert (row.expected, row.lost, row.unknown) == (70, 10, 0)


def test_what_a_program_had_nothing_more_to_read_of_is_read_to_its_end(look: Analyse) -> None:
    run = reading_program("earliest", read_from=0)
    run.rows["offsets"].clear()
    run.offsets("in", 0, 0, 103)
    run.event("read-to-end", 10.9, group="m", partitions=[["in", 0, 103]])

    (row,) = look(run).positions

    assert (row.position, row.end, row.receipts) == (103, 103, 100)
