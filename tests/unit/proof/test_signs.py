"""Whether a fault hurt is read from the record, and a fault that did not is found out."""

from __future__ import annotations

from pathlib import Path

from stream2gym.analysis.fake_run import FakeRun
from tests.proof.record import Record
from tests.proof.signs import signs


def faulty() -> FakeRun:
    run = FakeRun()
    run.event("fault-applied", 5.0, fault="cut", instance=1)
    run.event("fault-healed", 7.0, fault="cut", instance=1)
    return run


def seen(run: FakeRun, path: Path) -> dict[str, str]:
    return signs(Record(run.write(path / "run")))


def test_a_fault_that_changed_nothing_shows_no_sign(tmp_path: Path) -> None:
    run = faulty()
    for seq in range(10_000):
        run.send(seq)

    assert seen(run, tmp_path) == {}


def test_acknowledgements_that_took_longer_than_before_are_a_sign(tmp_path: Path) -> None:
    run = faulty()
    for seq in range(10_000):
        run.send(seq, ack_s=2.0 if 5000 <= seq < 7000 else 0.02)

    assert seen(run, tmp_path) == {"latency": "ack p99 20 -> 2000 ms"}


def test_on_a_slow_machine_a_usual_second_is_compared_with_the_worst_one_before(tmp_path: Path) -> None:
    run = faulty()
    for seq in range(10_000):
        run.send(seq, ack_s=0.9 if 5000 <= seq < 7000 else 1.0 if seq % 50 == 0 else 0.4)

    assert "usual one during 900 ms" in seen(run, tmp_path)["latency"]


def test_what_was_slow_before_the_fault_is_no_sign_of_it(tmp_path: Path) -> None:
    run = faulty()
    for seq in range(10_000):
        run.send(seq, ack_s=2.0)

    assert seen(run, tmp_path) == {}


def test_elections_shrinks_and_failures_count_only_while_the_fault_can_be_their_cause(tmp_path: Path) -> None:
    run = faulty()
    for seq in range(10_000):
        run.send(seq, status="failed" if seq in (100, 5500) else "acked", offset=None)
    for at_s in (1.0, 6.5):
        run.event("leader", at_s, topic="in", partition=0, leader=2, before=1)
        run.event("isr", at_s, topic="in", partition=0, in_sync=[2, 3], before=[1, 2, 3])

    found = seen(run, tmp_path)

    assert found["leader"] == "1 new leader, the first after 1.50 s"
    assert found["isr"] == "1 replica out of sync"
    assert found["errors"] == "1 message failed"


def test_losses_and_copies_are_counted_from_the_tables(tmp_path: Path) -> None:
    run = faulty()
    for seq in range(1000):
        run.send(seq, partition=0)
        if seq >= 10:
            run.receive(seq)
    run.receive(500)
    run.receive(600, offset=1000)
    run.offsets("in", 0, 0, 1001)
    record = Record(run.write(tmp_path / "run"))

    assert record.lost("gen", "in", "g") == set(range(10))
    assert (record.read_again("in", "g"), record.twice_in_log("in", "g")) == (1, 1)
    assert record.in_log("in") == 1001
