"""What faults cost, from hand-made run folders with known answers: one Spark session for all of them.

Every answer is right within a step of 100 ms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from stream2gym.analysis.analyse import analyse
from stream2gym.analysis.background_session import BackgroundSession
from stream2gym.analysis.debt import NOTHING_OFFERED
from stream2gym.analysis.fake_run import FakeRun
from stream2gym.analysis.result_tables import Analysis

Analyse = Callable[[FakeRun], Analysis]
STEP = 0.1


@pytest.fixture(scope="module")
def session() -> Iterator[Any]:
    with BackgroundSession() as early:
        yield early.session()


@pytest.fixture
def look(session: Any, tmp_path: Path) -> Analyse:
    return lambda run: analyse(run.write(tmp_path / "run"), session=session)


def near(value: float) -> Any:
    return pytest.approx(value, abs=2 * STEP)


LATEST: dict[str, Any] = {"from": "latest"}  # a consumer that reads from the end


def pipeline(load_s: float = 12.0, *, rate: str | None = "200/s", **consumer: Any) -> FakeRun:
    """One producer and two groups; the drain lasts a second."""
    producer = {"name": "gen", "on": "h1", "topic": "in"} | ({} if rate is None else {"rate": rate})
    return FakeRun(
        load_s,
        topics=[{"name": "in"}, {"name": "out"}],
        producers=[producer],
        consumers=[
            {"name": name, "on": "h2", "topics": ["in"], "group": group, **consumer}
            for name, group in (("see", "g"), ("also", "k"))
        ],
    )


def apply(run: FakeRun, name: str, from_s: float, to_s: float | None, **more: Any) -> None:
    run.event("fault-applied", from_s, fault=name, instance=1, do="kill", on=["broker-h2"], **more)
    if to_s is not None:
        run.event("fault-healed", to_s, fault=name, instance=1, do="kill", on=["broker-h2"])


def receive(run: FakeRun, seq: int, at_s: float, groups: tuple[str, ...] = ("g", "k"), **more: Any) -> None:
    for group in groups:
        run.receive(seq, group=group, consumer={"g": "see", "k": "also"}[group], at_s=at_s, **more)


def due(seq: int) -> float:
    return seq / 200


def test_a_cut_costs_what_it_held_up(look: Analyse) -> None:
    """Nothing is acknowledged from 6 to 8 s; group k gets nothing until 9 s and reads one message twice."""
    run = pipeline()
    for seq in range(2400):
        at_s = due(seq)
        answered = 8.0 if 6 <= at_s < 8 else at_s + 0.005
        run.send(seq, due_s=at_s, ack_s=answered - at_s)
        receive(run, seq, max(answered, at_s + 0.02), ("g",))
        receive(run, seq, 9.05 if 6 <= at_s < 9 else at_s + 0.02, ("k",))
    receive(run, 1300, 8.5, ("g",))
    run.offsets("in", 0, 0, 2400)
    for at_s, leader in ((0.0, 1), (6.2, -1), (7.4, 2)):
        run.sample(at_s, "kafka", "in/0", "leader", leader)
    apply(run, "cut", 6.0, 8.0)

    found = look(run)
    [row] = found.recovery

    assert (row.recovery_s, row.recovery_open) == (near(3), False)
    assert row.detection_s == near(0)
    assert [fault.election_s for fault in found.faults] == [pytest.approx(1.4)]
    assert (row.backlog, row.drain_s) == (pytest.approx(600, abs=20), near(1))
    backlogs = {backlog.group: backlog.backlog for backlog in found.backlogs}
    assert backlogs == {"g": 0, "k": row.backlog}
    assert (row.lost, row.failed, row.doubled) == (0, 0, 1)
    assert row.latency_before_s == pytest.approx(0.02, rel=0.07)
    assert row.latency_during_s == pytest.approx(3, abs=0.2)
    assert row.latency_after_s == pytest.approx(1, abs=0.2)
    assert {row.client: row.longest_s for row in found.outages} == {
        "gen": near(2),
        "see": near(2),
        "also": near(3),
    }
    assert (row.before_per_s, row.lowest_per_s) == (pytest.approx(200, abs=20), 0)


def test_a_broker_that_is_dead_for_good_costs_at_least_what_was_seen_of_it(look: Analyse) -> None:
    """The consumers are slow: a quarter of what was acknowledged by 6 s is read by then, nothing afterwards."""
    run = pipeline()
    for seq in range(2400):
        at_s = due(seq)
        run.send(seq, due_s=at_s, status="acked" if at_s < 6 else "queued", partition=0 if at_s < 6 else None)
        if seq < 300:
            receive(run, seq, 0.1 + 5.9 * seq / 300)
    run.sample(0.0, "kafka", "in/0", "leader", 1)
    apply(run, "dead", 6.0, None)
    run.event("fault-healed", 13.5, fault="dead", instance=1, do="kill", on=["broker-h2"], at_end=True)
    run.event("stopped", 12.2, component="gen", host="h1", instance=1, how="SIGTERM", why="the load is over")

    found = look(run)
    [row] = found.recovery

    assert [(fault.to_s, fault.election_s) for fault in found.faults] == [(None, None)]
    assert (row.recovery_s, row.recovery_open) == (near(7), True)
    assert row.backlog == 900
    assert (row.drain_s, row.drain_open) == (near(7), True)
    silences = {one.client: (one.longest_s, one.longest_open) for one in found.outages}
    assert silences == {name: (near(6), True) for name in ("gen", "see", "also")}
    assert row.latency_before_s == pytest.approx(4.5, abs=0.3)
    assert (row.latency_during_s, row.latency_during_open) == (pytest.approx(7, abs=0.3), True)
    assert row.latency_after_s is None


def test_failed_and_lost_messages_are_not_owed_for_ever(look: Analyse) -> None:
    """Due from 6 to 7 s: half fail at 8 s, half are acknowledged and never seen; all is well from 8 s on."""
    run = pipeline()
    offset = 0
    for seq in range(2400):
        at_s = due(seq)
        if 6 <= at_s < 7:
            fails = seq % 2 == 0
            run.send(
                seq, due_s=at_s, status="failed" if fails else "acked", ack_s=8 - at_s,
                partition=None if fails else 0, offset=None if fails else offset,
            )  # fmt: skip
            offset += not fails
            continue
        answered = max(8.0, at_s) if 7 <= at_s < 8 else at_s + 0.005
        run.send(seq, due_s=at_s, ack_s=answered - at_s, offset=offset)
        receive(run, seq, answered + 0.02, offset=offset)
        offset += 1
    run.offsets("in", 0, 0, offset)
    apply(run, "cut", 6.0, 8.0)

    [row] = look(run).recovery

    assert (row.recovery_s, row.recovery_open) == (near(2), False)
    assert (row.failed, row.lost) == (100, 200)


def test_what_was_sent_before_a_latest_group_came_is_not_owed_to_it(look: Analyse) -> None:
    run = pipeline(**LATEST)
    for seq in range(2400):
        run.send(seq, due_s=due(seq))
        if seq >= 400:
            receive(run, seq, due(seq) + 0.02)
    for consumer in ("see", "also"):
        run.sample(2.0, "client", consumer, "first in/0", 400)
    run.offsets("in", 0, 0, 2400)
    apply(run, "nothing", 8.0, 9.0)

    [row] = look(run).recovery

    assert (row.recovery_s, row.backlog) == (0.0, 0)


def test_a_producer_without_a_schedule_recovers_with_its_rate(look: Analyse) -> None:
    run = pipeline(rate=None)
    steps = [due(seq) for seq in range(2400) if not 6 <= due(seq) < 8]
    for seq, at_s in enumerate(steps):
        run.send(seq, due_s=at_s)
        receive(run, seq, at_s + 0.02)
    run.offsets("in", 0, 0, len(steps))
    apply(run, "cut", 6.0, 8.0)

    [row] = look(run).recovery

    assert (row.recovery_s, row.recovery_open) == (near(2), False)


def test_a_killed_producer_does_not_owe_what_died_with_it(look: Analyse) -> None:
    """Sixty messages are unanswered; the next process sends what is overdue at once."""
    run = pipeline()
    for seq in range(2400):
        at_s = due(seq)
        if 5.7 <= at_s < 6:
            run.send(seq, due_s=at_s, status="queued", partition=None)
            continue
        answered = 8.0 if 6 <= at_s < 8 else at_s + 0.005
        run.send(seq, due_s=at_s, ack_s=answered - at_s, offset=seq if seq < 1140 else seq - 60)
        receive(run, seq, answered + 0.02, offset=seq if seq < 1140 else seq - 60)
    run.event("stopped", 6.0, component="gen", host="h1", instance=1, how="killed by SIGKILL", why="kill")
    run.offsets("in", 0, 0, 2340)
    apply(run, "dead", 6.0, 8.0)

    [row] = look(run).recovery

    assert (row.recovery_s, row.recovery_open) == (near(2), False)


def test_results_behind_an_engine_are_owed_by_its_trace(look: Analyse) -> None:
    run = pipeline()
    run.experiment["trace"] = [{"from": "in", "to": "out", "by": "value"}]
    run.experiment["consumers"].append({"name": "results", "on": "h2", "topics": ["out"], "group": "r"})
    for seq in range(2400):
        at_s = due(seq)
        run.send(seq, due_s=at_s)
        receive(run, seq, at_s + 0.02)
        if at_s < 11.4:
            shown = 9.0 if 6 <= at_s < 9 else at_s + 0.3
            run.receive(None, topic="out", offset=seq, group="r", consumer="results", value=seq, at_s=shown)
    run.offsets("in", 0, 0, 2400)
    apply(run, "stuck", 6.0, 8.0)
    apply(run, "dead", 11.4, None)

    rows = {(row.fault, row.topic): row for row in look(run).recovery}

    assert (rows["stuck", "out"].recovery_s, rows["stuck", "in"].recovery_s) == (near(3), 0.0)
    assert (rows["dead", "out"].recovery_s, rows["dead", "out"].recovery_open) == (near(1.6), True)
    assert rows["dead", "in"].recovery_s == 0.0


def test_a_fault_after_the_last_message_has_no_recovery(look: Analyse) -> None:
    run = pipeline()
    for seq in range(1000):
        run.send(seq, due_s=due(seq))
        receive(run, seq, due(seq) + 0.02)
    run.offsets("in", 0, 0, 1000)
    apply(run, "late", 8.0, 9.0)

    [row] = look(run).recovery

    assert (row.recovery_s, row.why_unknown) == (None, NOTHING_OFFERED)
