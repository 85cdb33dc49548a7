"""What a fault cost a topic, from counted messages with known answers."""

from __future__ import annotations

from math import inf
from typing import Any

import pytest

from stream2gym.analysis.client_outages import find_outages
from stream2gym.analysis.debt import NOTHING_BEFORE, NOTHING_OFFERED
from stream2gym.analysis.delivery_anomalies import DeliveryAnomaly
from stream2gym.analysis.fault_costs import LEAVES_OUT
from stream2gym.analysis.message_steps import Client, MessageCount
from stream2gym.analysis.recovery import (
    MOST_POINTS,
    RunCounts,
    find_undisturbed_time,
    make_debt_points,
    make_fault_rows,
    make_recovery_rows,
)
from stream2gym.analysis.result_tables import (
    Analysis,
    AuditRow,
    BacklogRow,
    Change,
    FaultRow,
    Fidelity,
    RecoveryRow,
    SentRow,
)
from stream2gym.analysis.sample_statistics import compute_statistic
from stream2gym.judge.estimate import Estimate
from stream2gym.judge.fault_metrics import NOT_OVER
from stream2gym.judge.judge import judge_one
from stream2gym.judge.meters import measure
from stream2gym.kinds.expectation_grammar import parse_expectation

STEP = 0.1
END_S = 40.0


def at(seconds: float) -> int:
    return round(seconds / STEP)


def fault(from_s: float = 10, to_s: float | None = 15, horizon_s: float = END_S, name: str = "cut") -> FaultRow:
    return FaultRow(name, 1, "down", ("h1 -- s1",), from_s, to_s, horizon_s, last=horizon_s >= END_S)


def messages(
    *, until_s: float = 30, a_step: int = 100, acknowledged: Any = None, delivered: Any = None, **more: Any
) -> list[MessageCount]:
    """A steady load of one group; the functions tell when what was due in a step is answered and delivered."""
    counts = []
    for due in range(at(until_s)):
        answered = due if acknowledged is None else acknowledged(due)
        got = answered if delivered is None else delivered(due)
        for side, group, settled in (("acknowledged", "", answered), ("received", "g", got)):
            took_s = 0.02 if settled is None else (settled - due) * STEP + 0.02
            fate = "waiting" if settled is None else "delivered"
            counts.append(
                MessageCount(side, "in", group, fate, due, answered, settled, a_step, took_s, **more)  # type: ignore[arg-type]
            )
    return counts


def held_up(from_s: float, to_s: float) -> Any:
    """What is due between the two comes when the time is over."""
    return lambda due: at(to_s) if at(from_s) <= due < at(to_s) else due


def gone_from(from_s: float) -> Any:
    return lambda due: None if due >= at(from_s) else due


def cost(counts: list[MessageCount], of: FaultRow | None = None, **more: Any) -> RecoveryRow:
    [row], _ = costs(counts, of, **more)
    return row


def costs(
    counts: list[MessageCount], of: FaultRow | None = None, changes: list[Change] | None = None, **more: Any
) -> tuple[list[RecoveryRow], list[BacklogRow]]:
    counted = RunCounts(STEP, END_S, 30, counts, **more)
    return make_recovery_rows([of or fault()], counted.topics(), counted, changes or [], [])


def test_a_topic_recovers_when_the_slowest_of_its_groups_and_acknowledgements_has() -> None:
    quick = messages(delivered=held_up(10, 12))
    slow = [count for count in messages(delivered=held_up(10, 16)) if count.side == "received"]
    slow = [MessageCount("received", "in", "slow", *_rest(count)) for count in slow]

    assert cost(quick).recovery_s == pytest.approx(2, abs=2 * STEP)
    assert cost(quick + slow).recovery_s == pytest.approx(6, abs=2 * STEP)
    assert cost(messages(acknowledged=held_up(10, 13), delivered=lambda due: due)).recovery_s == pytest.approx(
        3, abs=2 * STEP
    )


def _rest(count: MessageCount) -> tuple[Any, ...]:
    return (count.fate, count.due, count.acknowledged, count.settled, count.messages, count.took_s)


def test_a_producer_without_a_schedule_owes_acknowledged_messages_and_its_rate() -> None:
    """It stands still while nobody answers, so nothing is overdue."""
    steps = [step for step in range(at(30)) if not at(10) <= step < at(14)]
    counts = [
        MessageCount(side, "in", group, "delivered", step, step, step, 100, has_schedule=False)  # type: ignore[arg-type]
        for step in steps
        for side, group in (("acknowledged", ""), ("received", "g"))
    ]

    assert cost(counts).recovery_s == pytest.approx(4, abs=2 * STEP)


def test_a_producer_without_a_schedule_that_is_never_answered_again_has_not_recovered() -> None:
    steps = range(at(10))
    counts = [MessageCount("acknowledged", "in", "", "delivered", s, s, s, 100, has_schedule=False) for s in steps]
    counts += [MessageCount("acknowledged", "in", "", "waiting", at(10), None, None, 500, has_schedule=False)]

    row = cost(counts, fault(10, None))

    assert (row.recovery_s, row.recovery_open) == (30, True)


def test_a_topic_that_nothing_was_offered_to_has_no_recovery() -> None:
    row = cost(messages(until_s=8))

    assert (row.recovery_s, row.recovery_open, row.why_unknown) == (None, False, NOTHING_OFFERED)
    assert (row.latency_during_s, row.latency_after_s) == (None, None)


def test_an_engine_owes_the_results_of_its_trace() -> None:
    counts = [MessageCount("result", "out", "in", "delivered", s, s, s + 3, 100, 0.3) for s in range(at(12))]
    counts += [MessageCount("result", "out", "in", "waiting", s, s, None, 100) for s in range(at(12), at(30))]

    row = cost(counts, fault(12, None))

    assert (row.recovery_s, row.recovery_open) == (28, True)
    assert (row.latency_before_s, row.latency_during_open) == (pytest.approx(0.3), True)


def test_an_engine_that_leaves_messages_out_anyway_owes_nobody_knows_what() -> None:
    counts = [MessageCount("result", "out", "in", "delivered", s, s, s + 3, 50) for s in range(at(30))]
    counts += [MessageCount("result", "out", "in", "waiting", s, s, None, 50) for s in range(at(30))]

    assert cost(counts).why_unknown == LEAVES_OUT


def test_a_topic_whose_writers_nobody_recorded_recovers_with_the_rate_of_its_deliveries() -> None:
    receipts = {step: 100 for step in range(at(30)) if not at(10) <= step < at(13)}

    row = cost([], clients={Client("received", "out", "see", "g"): receipts})

    assert row.recovery_s == pytest.approx(3, abs=2 * STEP)


def test_the_backlog_is_what_waited_at_once_and_is_worked_off_after_the_fault() -> None:
    """Twice as much is read from 15 s on, so that the last of 5 000 is read at 20 s."""

    def caught_up(due: int) -> int:
        return due if not at(10) <= due < at(20) else at(15) + (due - at(10)) // 2

    [row], [of_group] = costs(messages(acknowledged=lambda due: due, delivered=caught_up))

    assert row.backlog == pytest.approx(5000, abs=100)
    assert row.drain_s == pytest.approx(5, abs=2 * STEP)
    assert (of_group.group, of_group.backlog) == ("g", row.backlog)


def test_messages_that_wait_for_ever_are_a_backlog_although_they_waited_before_the_fault() -> None:
    """A slow link: 200 of 1 000 messages a second arrive, until the broker dies at 5 s."""

    def crawling(due: int) -> int | None:
        return due * 5 if due < at(1) else None

    row = cost(messages(until_s=5, acknowledged=lambda due: due, delivered=crawling), fault(5, None))

    assert row.backlog == 4000
    assert (row.drain_s, row.drain_open) == (35, True)


def test_nothing_waits_where_nothing_waits_longer_than_usual() -> None:
    row = cost(messages(acknowledged=lambda due: due, delivered=lambda due: due + 3))

    assert (row.backlog, row.drain_s, row.drain_open) == (0, 0.0, False)


def test_without_a_group_there_is_no_backlog_and_no_latency_rather_than_none_of_it() -> None:
    row = cost([count for count in messages() if count.side == "acknowledged"])

    assert (row.backlog, row.drain_s, row.latency_before_s) == (None, None, None)
    assert row.recovery_s == 0.0


def test_a_backlog_that_is_worked_off_after_the_load_is_followed_there() -> None:
    row = cost(messages(acknowledged=lambda due: due, delivered=held_up(20, 34)), fault(20, 25))

    assert (row.drain_s, row.drain_open) == (pytest.approx(9, abs=2 * STEP), False)


def test_latency_before_counts_what_was_delivered_before_the_fault() -> None:
    """What was due in the last second before it comes ten seconds late."""
    row = cost(messages(delivered=held_up(9, 19)), fault(10, 12))

    assert row.latency_before_s == pytest.approx(0.02, abs=0.001)
    assert row.latency_during_s == pytest.approx(9, abs=2 * STEP)
    assert row.latency_after_s == pytest.approx(7, abs=2 * STEP)


def test_latencies_of_messages_that_never_arrived_are_at_least_until_the_drain_ended() -> None:
    row = cost(messages(acknowledged=lambda due: due, delivered=gone_from(10)), fault(10, 15))

    assert row.latency_before_s == pytest.approx(0.02, abs=0.001)
    assert (row.latency_during_s, row.latency_during_open) == (pytest.approx(30, abs=2 * STEP), True)
    assert (row.latency_after_s, row.latency_after_open) == (pytest.approx(25, abs=3 * STEP), True)


def test_a_fault_that_is_never_undone_has_no_time_after_it() -> None:
    assert cost(messages(), fault(10, None)).latency_after_s is None


def test_throughput_is_told_before_and_at_its_lowest() -> None:
    client = Client("received", "in", "see", "g")
    receipts = {step: 100 for step in range(at(30)) if not at(10) <= step < at(12)}

    row = cost(messages(), clients={client: receipts}, sending_ends={client: at(30)})

    assert row.before_per_s == pytest.approx(1000)
    assert row.lowest_per_s == 0


# ---- silences


def silence(counts: dict[int, int], ends: int | None, of: FaultRow | None = None) -> tuple[float, bool]:
    client = Client("acknowledged", "in", "gen", "")
    [row] = find_outages(of or fault(), {client: counts}, {} if ends is None else {client: ends}, STEP)
    return row.longest_s, row.longest_open


def test_a_silence_lasts_until_the_next_message() -> None:
    counts = {step: 1 for step in range(at(30)) if not at(10) <= step < at(14)}

    assert silence(counts, at(30)) == (pytest.approx(4, abs=STEP), False)


def test_a_silence_that_nothing_ended_lasts_at_least_until_sending_ended() -> None:
    """The broker dies for good at 5 s of 10."""
    assert silence(dict.fromkeys(range(at(5)), 1), at(10), fault(5, None)) == (
        pytest.approx(5, abs=STEP),
        True,
    )


def test_a_silence_that_ends_after_the_load_is_followed_there() -> None:
    counts = dict.fromkeys(range(at(28)), 1) | {at(33): 1}

    assert silence(counts, at(30), fault(28, 33)) == (pytest.approx(5, abs=STEP), False)


def test_a_silence_into_the_next_fault_lasts_at_least_until_that_began() -> None:
    counts = {step: 1 for step in range(at(30)) if not at(10) <= step < at(14)}

    assert silence(counts, at(30), fault(10, 15, 12)) == (pytest.approx(2, abs=STEP), True)


def test_silence_after_the_last_message_is_nobodys_fault() -> None:
    assert silence(dict.fromkeys(range(at(25)), 1), at(25)) == (0, False)


def test_a_consumer_whose_group_got_everything_is_not_waiting() -> None:
    assert silence(dict.fromkeys(range(at(10)), 1), None) == (0, False)


def test_thin_traffic_is_no_silence() -> None:
    assert silence(dict.fromkeys(range(0, at(30), 10), 1), at(30)) == (0, False)


# ---- faults


def event(kind: str, at_s: float, name: str = "cut", instance: int = 1, **more: Any) -> dict[str, Any]:
    at_ns = int(at_s * 1e9)
    words = {"event": kind, "t_s": at_s, "fault": name, "instance": instance, "do": "down", "on": ["x"]}
    return words | {"planned_ns": at_ns - 5_000_000, "at_ns": at_ns} | more


def test_a_fault_answers_until_the_next_one_or_the_end_of_the_drain() -> None:
    changes = [
        Change("leader", "in/0", 12, 1, 2),
        Change("isr", "in/0", 12, 3, 2),
        Change("leader", "in/0", 22, 2, 1),
    ]
    events = [
        event("fault-applied", 10),
        event("fault-healed", 15),
        event("fault-applied", 20, "dead"),
    ]

    cut, dead = make_fault_rows(events, 33, changes)

    assert (cut.from_s, cut.to_s, cut.horizon_s, cut.last) == (10, 15, 20, False)
    assert (cut.leader_changes, cut.isr_shrinks, cut.election_s) == (1, 1, 2)
    assert cut.planned_from_s == pytest.approx(9.995)
    assert (dead.to_s, dead.horizon_s, dead.leader_changes, dead.last) == (None, 33, 1, True)


def test_a_fault_that_is_only_undone_when_the_run_stops_was_never_undone() -> None:
    [row] = make_fault_rows([event("fault-applied", 10), event("fault-healed", 34, at_end=True)], 33)

    assert (row.to_s, row.horizon_s) == (None, 33)


def test_where_nobody_was_elected_there_is_no_time_of_an_election() -> None:
    [row] = make_fault_rows([event("fault-applied", 10)], 33, [Change("isr", "in/0", 12, 3, 2)])

    assert row.election_s is None


def test_a_fault_that_comes_into_another_is_compared_with_the_time_before_both() -> None:
    events = [
        event("fault-applied", 10),
        event("fault-applied", 14, "dead"),
        event("fault-healed", 15),
        event("fault-healed", 16, "dead"),
        event("fault-applied", 25, "later"),
    ]

    rows = make_fault_rows(events, END_S)
    counted = RunCounts(STEP, END_S, 30, messages(delivered=held_up(10, 17)))
    [_, dead, _], _ = make_recovery_rows(rows, counted.topics(), counted, [], [])

    assert [row.undisturbed_until_s for row in rows] == [10, 10, 25]
    assert dead.recovery_s == pytest.approx(3, abs=2 * STEP)


def test_a_fault_shortly_after_another_is_compared_with_the_time_since_that_was_over() -> None:
    """A quarter of what is due in the first three seconds is a second late, as in a cold start."""
    cold = messages(delivered=lambda due: due + at(1) if due < at(3) else held_up(14, 17)(due))
    events = [
        event("fault-applied", 8),
        event("fault-healed", 10),
        event("fault-applied", 14, "dead"),
        event("fault-healed", 18, "dead"),
    ]

    rows = make_fault_rows(events, END_S)
    counted = RunCounts(STEP, END_S, 30, cold)
    faults, _ = make_recovery_rows(rows, counted.topics(), counted, [], [])

    assert [find_undisturbed_time(rows[1], [(rows[0], over)]) for over in (0.0, 3.0, None)] == [
        (10.0, 14.0), (11.0, 14.0), (-inf, 8.0),
    ]  # fmt: skip
    assert [row.recovery_s for row in faults] == [0.0, pytest.approx(3, abs=2 * STEP)]


def test_the_first_sign_may_be_a_change_of_the_cluster() -> None:
    late = messages(delivered=held_up(13, 16))

    assert cost(late).detection_s == pytest.approx(3, abs=STEP)
    assert cost(late, changes=[Change("isr", "in/0", 11.5, 3, 2)]).detection_s == 1.5
    assert cost(messages()).detection_s is None


# ---- expectations


def judged(counts: list[MessageCount], of: FaultRow, **more: Any) -> Analysis:
    lost = [DeliveryAnomaly("lost", "in", at_s) for at_s in (7.5, 12.0, 29.0)]
    copies = [DeliveryAnomaly("doubled", "in", at_s, 3) for at_s in (9.9, 12.0, 29.0)]
    counted = RunCounts(STEP, END_S, 30, counts)
    rows, backlogs = make_recovery_rows([of], counted.topics(), counted, [], [*lost, *copies])
    return Analysis("run", 30.0, 1.0, faults=(of,), recovery=tuple(rows), backlogs=tuple(backlogs), **more)


def estimate(text: str, analysis: Analysis) -> Estimate | str:
    measured = measure(parse_expectation(text), analysis, ())
    return next(iter(measured.estimates().values())) if measured.values else measured.why


def test_expectations_about_a_fault_are_measured() -> None:
    # All that was sent is accounted for, so the parts of the fault are known exactly.
    found = judged(
        messages(acknowledged=lambda due: due, delivered=held_up(10, 15)),
        fault(),
        sent=(SentRow("in", 0, "gen", 30_000, 30_000),),
        audit=(AuditRow("in", 0, "gen", "g", 30_000, 29_997, lost=3, copies=30_006, redelivered=9),),
    )
    values = {
        "recovery(fault=cut) < 10 s": 5.1,
        "detection(fault=cut) < 1 s": 0,
        "backlog(fault=cut) < 9000": 5000,
        "backlog(fault=cut, group=g) < 9000": 5000,
        "drain_time(fault=cut) < 1 s": 0.1,
        "lost(fault=cut) == 0": 1,
        "duplicated(fault=cut) == 0": 6,
        "failed(fault=cut) == 0": 0,
        "leader_changes(fault=cut) == 0": 0,
    }

    for text, value in values.items():
        found_value = estimate(text, found)
        assert isinstance(found_value, Estimate)
        assert found_value.measured == pytest.approx(value, abs=2 * STEP)
        assert found_value.is_exact
    assert estimate("recovery(fault=other) < 1 s", found) == "no such fault was in force"
    assert estimate("election(fault=cut) < 1 s", found) == "no leader was elected"
    assert isinstance(estimate("backlog(fault=cut, group=other) == 0", found), str)


def test_what_did_not_recover_fails_a_short_bound_and_leaves_a_long_one_unknown() -> None:
    good = Fidelity(True, "", suspect=())
    found = judged(messages(delivered=gone_from(10)), fault(10, None), fidelity=good)

    assert estimate("recovery < 5 s", found) == Estimate(30, 30, inf)
    outcomes = {bound: judge_one(parse_expectation(f"recovery < {bound} s"), found, ()) for bound in (5, 60)}
    assert [outcomes[5].outcome, outcomes[60].outcome] == ["fail", "unknown"]
    assert (outcomes[60].reason, outcomes[5].shown) == (NOT_OVER, "at least 30 s")


def test_what_nobody_can_compare_with_anything_is_unknown() -> None:
    found = judged(messages(delivered=held_up(0.5, 3)), fault(0.5, 3))

    assert estimate("recovery < 60 s", found) == NOTHING_BEFORE
    assert estimate("drain_time < 60 s", found) == NOTHING_BEFORE
    assert isinstance(estimate("lost(fault=cut) == 0", found), Estimate)


def test_topics_that_nothing_was_offered_to_do_not_count() -> None:
    idle = [MessageCount("acknowledged", "idle", "", "delivered", 5, 5, 5, 1)]
    found = judged([*messages(delivered=held_up(10, 15)), *idle], fault())

    assert isinstance(estimate("recovery < 10 s", found), Estimate)
    assert estimate("recovery(topic=idle) < 10 s", found) == NOTHING_OFFERED


def test_a_silence_without_an_end_leaves_no_upper_bound() -> None:
    client = Client("acknowledged", "in", "gen", "")
    dead = fault(10, None)
    rows = find_outages(dead, {client: dict.fromkeys(range(at(10)), 1)}, {client: at(30)}, STEP)
    found = Analysis("run", 30.0, 1.0, faults=(dead,), outages=tuple(rows))

    assert estimate("unavailable(fault=cut) < 5 s", found) == Estimate(20, 20, inf)
    assert estimate("unavailable.total(producer=gen) < 5 s", found) == Estimate(20, 20, inf)


def test_a_mean_of_figures_of_which_one_is_open_has_no_upper_bound() -> None:
    both = [
        RecoveryRow("cut", 1, "in", recovery_s=4.0),
        RecoveryRow("cut", 2, "in", recovery_s=10.0, recovery_open=True),
    ]
    found = Analysis("run", 30.0, 1.0, faults=(fault(),), recovery=tuple(both))

    assert estimate("recovery.mean < 5 s", found) == Estimate(7.0, 7.0, inf)
    assert estimate("recovery.min < 5 s", found) == Estimate(4.0, 4.0, 4.0)
    assert compute_statistic([4.0, inf], "mean") == inf


def test_the_debt_over_time_is_the_most_of_every_stretch() -> None:
    counted = RunCounts(STEP, END_S, 30, messages(delivered=held_up(10, 15)))
    long = RunCounts(1.0, 4000.0, 3000, [MessageCount("received", "in", "g", "waiting", 0, 0, None, 7)])

    owed = {
        round(point.at_s, 1): point.messages
        for point in make_debt_points(counted.topics(), counted)
        if point.group == "g"
    }

    assert (owed[10.0], owed[12.0], owed[15.0], owed[15.1]) == (0, 2000, 5000, 0)
    points = make_debt_points(long.topics(), long)
    assert len(points) <= MOST_POINTS
    assert {point.messages for point in points} == {7}
