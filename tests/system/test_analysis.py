"""The analysis on run folders with known answers: one Spark session for all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from stream2gym.analysis.analyse import analyse, load_analysis
from stream2gym.analysis.early import EarlySession
from stream2gym.analysis.fakerun import FakeRun, rehearsal
from stream2gym.analysis.histogram import ERROR, merge
from stream2gym.analysis.sql import FEW_VALUES, small_table
from stream2gym.analysis.tables import Analysis, AuditRow
from stream2gym.errors import BadInput
from stream2gym.judge.judge import judge
from stream2gym.record.messages import first_seq

Analyse = Callable[[FakeRun], Analysis]


@pytest.fixture(scope="module")
def session() -> Iterator[Any]:
    with EarlySession() as early:
        yield early.session()


@pytest.fixture
def look(session: Any, tmp_path: Path) -> Analyse:
    return lambda run: analyse(run.write(tmp_path / "run"), session=session)


def pipeline(groups: tuple[str, ...] = ("g",), partitions: int = 1, **consumer: Any) -> FakeRun:
    """One producer, and a consumer for every group."""
    names = {"g": "see"} | {group: f"see-{group}" for group in groups if group != "g"}
    return FakeRun(
        topics=[{"name": "in", "partitions": partitions}, {"name": "out"}],
        producers=[{"name": "gen", "on": "h1", "topic": "in"}],
        consumers=[
            {"name": names[group], "on": "h2", "topics": ["in"], "group": group, **consumer}
            for group in groups
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
    plan = [("gen", again), ("other", 5), ("gen", 3), ("other", 6), ("gen", again + 1), ("gen", 4)]
    for offset, (producer, seq) in enumerate(plan):
        run.send(seq, producer=producer, offset=offset, due_s=offset / 100)
        run.receive(seq, producer=producer, offset=offset, at_s=offset / 100 + 0.02)
    run.offsets("in", 0, 0, 6)

    row = total(look(run))

    assert (row.out_of_order, row.lost, row.received) == (0, 0, 6)


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
        run.send(
            seq, status="failed" if failed else "acked", offset=None if failed else seq, error="timed out"
        )
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
        run.send(
            seq, status="failed" if aborted else "acked", offset=None if aborted else seq, error="aborted"
        )
        if not aborted:
            run.receive(seq)
    run.offsets("in", 0, 0, 12)  # a commit marker after 5, an abort marker at the end
    run.sample(9.0, "client", "see", "position in/0", 12)

    row = total(look(run))

    assert (row.lost, row.in_flight, row.unacknowledged_received, row.received) == (0, 0, 0, 5)


def test_a_group_that_began_at_the_end_is_owed_only_what_came_after(look: Analyse) -> None:
    run = pipeline(**{"from": "latest"})
    for seq in range(100):
        run.send(seq)
        if seq >= 40 and seq != 50:
            run.receive(seq)
    run.offsets("in", 0, 0, 100)
    run.sample(-1.0, "client", "see", "first in/0", 30)

    row = total(look(run))

    assert (row.expected, row.lost) == (70, 11)


def test_a_group_at_the_end_of_which_nobody_recorded_anything_is_unknown(look: Analyse) -> None:
    run = pipeline(**{"from": "latest"})
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
    sync = merge(row.histogram for row in found.latency if row.kind == "sync_latency")
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
    run.experiment["producers"].append(
        {"name": "own", "on": "h1", "topic": "in", "type": "CUSTOM", "app": "x.py"}
    )
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

    histogram = merge(row.histogram for row in look(run).latency if row.kind == "latency")

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
    assert (
        judge(["throughput == 300/s", "throughput.max == 1000/s"], found, []).judgements[1].measured == 1000
    )


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

    small_table(session, "ours", ["number", "word", "flag", "far"], wanted)

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
