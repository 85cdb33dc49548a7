"""The audit of messages without offsets, as queues of RabbitMQ give them, on run folders with known answers.

It must never say that nothing is lost, or duplicated, where nobody could know.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from stream2gym.analysis.analyse import analyse
from stream2gym.analysis.background_session import BackgroundSession
from stream2gym.analysis.fake_run import FakeRun
from stream2gym.analysis.result_tables import Analysis, AuditRow
from stream2gym.judge.judge import judge

Analyse = Callable[[FakeRun], Analysis]


@pytest.fixture(scope="module")
def session() -> Iterator[Any]:
    with BackgroundSession() as early:
        yield early.session()


@pytest.fixture
def look(session: Any, tmp_path: Path) -> Analyse:
    return lambda run: analyse(run.write(tmp_path / "run"), session=session)


def queues(groups: tuple[str, ...] = ("g",), queue: str = "quorum") -> FakeRun:
    """One producer, and a consumer for every group, each with a queue of its own."""
    return FakeRun(
        brokers=[{"name": "rabbit", "on": "h2", "type": "rabbitmq"}],
        topics=[{"name": "in", "queue": queue}],
        producers=[{"name": "gen", "on": "h1", "topic": "in"}],
        consumers=[{"name": f"see-{group}", "on": "h2", "topics": ["in"], "group": group} for group in groups],
    )


def transfer(run: FakeRun, sent: int, missing: frozenset[int] = frozenset(), group: str = "g") -> None:
    """Send messages, and receive all but the missing ones, without offsets."""
    for seq in range(sent):
        if group == "g":
            run.send(seq)
        if seq not in missing:
            run.receive(seq, group=group, consumer=f"see-{group}")
    forget_offsets(run)


def forget_offsets(run: FakeRun) -> None:
    for name in ("sent", "received"):
        for row in run.rows[name]:
            row["offset"] = None


def left_in_queue(run: FakeRun, left: int, group: str = "g") -> None:
    run.event("queue-end", 11.0, topic="in", group=group, left=left)


def outcomes(found: Analysis, *expect: str) -> list[str]:
    return [one.outcome for one in judge(list(expect), found, []).judgements]


def row_of(found: Analysis, group: str = "g") -> AuditRow:
    [row] = [row for row in found.audit if row.group == group]
    return row


def test_nothing_is_lost_where_the_queue_is_empty_and_all_was_received(look: Analyse) -> None:
    run = queues()
    transfer(run, 200)
    left_in_queue(run, 0)
    found = look(run)
    row = row_of(found)
    assert (row.expected, row.received, row.copies, row.lost, row.in_flight, row.unknown) == (200, 200, 200, 0, 0, 0)
    assert outcomes(found, "lost == 0", "duplicated == 0", "out_of_order == 0", "delivered == 100 %") == ["pass"] * 4
    [place] = found.positions
    assert (place.has_offsets, place.left, place.gaps) == (False, 0, 0)


def test_what_was_acknowledged_and_is_in_no_queue_is_lost_and_named(look: Analyse) -> None:
    run = queues()
    transfer(run, 200, missing=frozenset((17, 64, 191)))
    left_in_queue(run, 0)
    found = look(run)
    assert (row_of(found).lost, row_of(found).unknown) == (3, 0)
    assert [item.seq for item in found.evidence if item.claim == "lost"] == [17, 64, 191]
    assert outcomes(found, "lost == 0", "delivered == 100 %") == ["fail", "fail"]


def test_what_may_stand_in_the_queue_is_in_flight_so_that_loss_is_unknown(look: Analyse) -> None:
    run = queues()
    transfer(run, 200, missing=frozenset(range(190, 200)))
    left_in_queue(run, 10)
    found = look(run)
    assert (row_of(found).lost, row_of(found).in_flight) == (0, 10)
    assert outcomes(found, "lost == 0", "duplicated == 0") == ["unknown", "unknown"]


def test_nobody_knows_what_became_of_messages_when_no_node_told_of_the_queue(look: Analyse) -> None:
    run = queues()
    transfer(run, 200, missing=frozenset((5,)))
    run.event("offsets-unknown", 11.0, place="in/0", group="g", reason="10.0.0.2:5672: no answer in time")
    found = look(run)
    assert (row_of(found).lost, row_of(found).unknown) == (0, 1)
    assert "what was left in the queue of the group: 10.0.0.2:5672: no answer" in row_of(found).why_unknown
    assert outcomes(found, "lost == 0", "duplicated == 0") == ["unknown", "unknown"]


def test_a_broker_that_is_dead_at_the_end_leaves_loss_decided_only_where_all_was_received(look: Analyse) -> None:
    run = queues()
    transfer(run, 100)
    found = look(run)
    assert outcomes(found, "lost == 0") == ["pass"], "every acknowledged message was received"
    assert outcomes(found, "duplicated == 0") == ["unknown"], "copies may stand in the queue"


def test_nothing_is_proved_by_nothing(look: Analyse) -> None:
    run = queues()
    left_in_queue(run, 0)
    found = look(run)
    assert outcomes(found, "lost == 0", "duplicated == 0", "delivered == 100 %") == ["unknown"] * 3


def test_a_message_that_came_twice_is_duplicated_and_nobody_knows_of_which_kind(look: Analyse) -> None:
    run = queues()
    for seq in range(50):
        run.send(seq)
        run.receive(seq, consumer="see-g")
    run.receive(7, at_s=1.0, consumer="see-g")
    forget_offsets(run)
    left_in_queue(run, 0)
    found = look(run)
    assert (row_of(found).copies, row_of(found).duplicated, row_of(found).out_of_order) == (51, 1, 0)
    [evidence] = [item for item in found.evidence if item.claim == "duplicated"]
    assert evidence.seq == 7
    assert "2 times from its queue" in evidence.text
    assert outcomes(found, "duplicated == 0") == ["fail"]
    only_offsets = ("redelivered == 0", "duplicated_in_log == 0", "offset_gaps == 0", "expired == 0")
    assert outcomes(found, *only_offsets) == ["unknown"] * 4


def test_order_is_that_of_the_producer(look: Analyse) -> None:
    run = queues()
    for seq in range(20):
        run.send(seq)
        run.receive(seq, at_s=0.5 if seq == 3 else seq / 1000 + 0.02, consumer="see-g")
    forget_offsets(run)
    left_in_queue(run, 0)
    found = look(run)
    assert row_of(found).out_of_order == 1
    assert [item.seq for item in found.evidence if item.claim == "out_of_order"] == [3]


def test_every_group_is_owed_every_message_by_its_own_queue(look: Analyse) -> None:
    run = queues(("g", "k"))
    transfer(run, 100)
    transfer(run, 100, missing=frozenset((40, 41)), group="k")
    left_in_queue(run, 0, "g")
    left_in_queue(run, 0, "k")
    found = look(run)
    assert (row_of(found, "g").lost, row_of(found, "k").lost) == (0, 2)
    assert outcomes(found, "lost(group=g) == 0", "lost(group=k) == 0") == ["pass", "fail"]


def test_a_message_that_nobody_acknowledged_is_not_lost_and_counts_when_it_came(look: Analyse) -> None:
    run = queues()
    transfer(run, 10)
    run.send(10, status="queued", partition=None)
    run.send(11, status="failed", partition=None, error="refused")
    run.receive(11, consumer="see-g")
    forget_offsets(run)
    left_in_queue(run, 0)
    found = look(run)
    assert sum(row.lost for row in found.audit) == 0
    assert sum(row.unacknowledged_received for row in found.audit) == 1
    assert outcomes(found, "lost == 0", "unacknowledged_received == 0") == ["pass", "fail"]


@pytest.mark.parametrize(("end", "lost", "in_flight"), [(9, 1, 0), (12, 0, 1)])
def test_of_a_stream_the_offsets_of_receipts_tell_whether_the_group_came_to_the_end(
    look: Analyse, end: int, lost: int, in_flight: int
) -> None:
    run = queues(queue="stream")
    for seq in range(10):
        run.send(seq)
        if seq != 4:
            run.receive(seq, offset=seq - (seq > 4), consumer="see-g")
    for row in run.rows["sent"]:
        row["offset"] = None
    run.offsets("in", 0, 0, end)
    found = look(run)
    assert (row_of(found).lost, row_of(found).in_flight) == (lost, in_flight)
    [place] = found.positions
    assert (place.has_offsets, place.position, place.gaps) == (True, 9, 0)
