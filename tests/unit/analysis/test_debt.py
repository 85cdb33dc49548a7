"""When a fault was over, from curves with known answers; every answer is right within one step."""

from __future__ import annotations

import pytest

from stream2gym.analysis.debt import (
    NOTHING_BEFORE,
    NOTHING_OFFERED,
    UNEVEN,
    Counts,
    DebtCurve,
    FaultPeriod,
    Recovery,
    find_recovery,
    measure_empty_runs,
)

STEP = 0.1
ONE_STEP = 1.001 * STEP  # with room for the rounding of floats
A_STEP = 100  # messages: a thousand a second


def at(seconds: float) -> int:
    return round(seconds / STEP)


def steady(until_s: float, a_step: int = A_STEP, from_s: float = 0) -> dict[int, int]:
    return dict.fromkeys(range(at(from_s), at(until_s)), a_step)


def silent(counts: Counts, from_s: float, to_s: float, *, made_up: float = 0) -> dict[int, int]:
    """Nothing for a while; with ``made_up`` what was left out comes within so many seconds after it."""
    kept = {step: number for step, number in counts.items() if not at(from_s) <= step < at(to_s)}
    left_out = sum(counts.values()) - sum(kept.values())
    steps = range(at(to_s), at(to_s + made_up))
    for step in steps:
        kept[step] = kept.get(step, 0) + round(left_out / len(steps))
    return kept


def period(
    from_s: float = 10,
    to_s: float | None = 15,
    until_s: float = 30,
    *,
    is_last: bool = True,
    undisturbed_until_s: float = 0,
) -> FaultPeriod:
    return FaultPeriod(from_s, to_s, until_s, undisturbed_until_s or from_s, is_last)


def recovery(curve: DebtCurve, over: FaultPeriod) -> Recovery:
    return find_recovery(curve, over, STEP)


@pytest.mark.parametrize("made_up_s", [0.1, 0.5, 3.0])
def test_recovery_is_from_the_beginning_of_the_fault_until_what_was_due_has_been_delivered(
    made_up_s: float,
) -> None:
    curve = DebtCurve(steady(30), silent(steady(30), 10, 15, made_up=made_up_s))

    found = recovery(curve, period())

    assert found.recovery_s == pytest.approx(5 + made_up_s, abs=ONE_STEP)
    assert not found.is_open
    assert found.detection_s == pytest.approx(0, abs=STEP)


def test_what_never_owed_more_than_usual_recovered_in_no_time() -> None:
    late_by_two_steps = {step + 2: number for step, number in steady(29.5).items()}

    assert recovery(DebtCurve(steady(29.5), late_by_two_steps), period()) == Recovery(0.0)


def test_a_dip_of_a_quarter_second_long_after_recovery_does_not_extend_it() -> None:
    delivered = silent(silent(steady(30), 10, 13.5, made_up=0.1), 17, 17.3, made_up=0.1)

    assert recovery(DebtCurve(steady(30), delivered), period()).recovery_s == pytest.approx(3.5, abs=ONE_STEP)


def test_a_dip_within_two_seconds_of_coming_back_belongs_to_the_fault() -> None:
    delivered = silent(silent(steady(30), 10, 13.5, made_up=0.1), 14.5, 15, made_up=0.1)

    assert recovery(DebtCurve(steady(30), delivered), period()).recovery_s == pytest.approx(5, abs=ONE_STEP)


def test_a_late_dip_counts_from_the_beginning_of_the_fault() -> None:
    found = recovery(DebtCurve(steady(30), silent(steady(30), 13, 16, made_up=0.1)), period())

    assert found.recovery_s == pytest.approx(6, abs=ONE_STEP)
    assert found.detection_s == pytest.approx(3, abs=STEP)


def test_a_dip_long_after_the_end_of_the_fault_is_not_its_doing() -> None:
    delivered = silent(steady(60), 40, 41, made_up=0.1)

    assert recovery(DebtCurve(steady(60), delivered), period(10, 12, 60)) == Recovery(0.0)
    assert recovery(DebtCurve(steady(60), delivered), period(10, None, 60)).recovery_s == pytest.approx(31, abs=0.2)


def test_the_usual_debt_is_no_debt_of_the_fault() -> None:
    """A second behind before the fault, and a second behind after it."""
    behind = {step + at(1): number for step, number in steady(29).items()}

    found = recovery(DebtCurve(steady(30), silent(behind, 10, 15, made_up=0.1)), period())

    assert found.recovery_s == pytest.approx(5, abs=ONE_STEP)


def test_what_is_not_recovered_by_the_end_of_the_drain_took_at_least_until_then() -> None:
    found = recovery(DebtCurve(steady(20), steady(10)), period(10, None, 30))

    assert (found.recovery_s, found.is_open) == (20, True)


def test_what_is_not_recovered_when_the_next_fault_begins_took_at_least_until_then() -> None:
    curve = DebtCurve(steady(30), silent(steady(30), 10, 15, made_up=0.1))

    too_short = recovery(curve, period(10, 15, 16.5, is_last=False))
    long_enough = recovery(curve, period(10, 15, 17.5, is_last=False))
    at_the_end = recovery(curve, period(10, 15, 16.5))

    assert (too_short.recovery_s, too_short.is_open) == (6.5, True)
    assert (long_enough.recovery_s, long_enough.is_open) == (pytest.approx(5, abs=ONE_STEP), False)
    assert (at_the_end.recovery_s, at_the_end.is_open) == (pytest.approx(5, abs=ONE_STEP), False)


def test_what_is_worked_off_after_the_load_recovered_then() -> None:
    delivered = steady(10) | {at(24): 10 * 10 * A_STEP}

    assert recovery(DebtCurve(steady(20), delivered), period(10, 15, 30)).recovery_s == pytest.approx(14, abs=0.2)


def test_without_any_message_due_there_is_no_recovery_to_speak_of() -> None:
    assert recovery(DebtCurve(steady(9), steady(9)), period()).why == NOTHING_OFFERED
    assert recovery(DebtCurve(), period()).recovery_s is None


def test_without_an_undisturbed_second_before_there_is_nothing_to_compare_with() -> None:
    found = recovery(DebtCurve(steady(30), silent(steady(30), 0.3, 5, made_up=0.1)), period(0.3, 5))

    assert (found.recovery_s, found.why) == (None, NOTHING_BEFORE)


def test_a_fault_from_the_start_that_let_nothing_through_was_not_recovered_from() -> None:
    found = recovery(DebtCurve(steady(10), {}), period(0, None, 20))

    assert (found.recovery_s, found.is_open) == (20, True)


def test_messages_that_fail_after_a_while_do_not_make_a_dead_broker_recover() -> None:
    """Nothing is owed any more three seconds after the last message was due, but nothing works either."""
    failed = steady(20, from_s=10)
    settled = steady(10) | {step + at(3): number for step, number in failed.items()}

    found = recovery(DebtCurve(steady(20), settled, failed), period(10, None, 30))

    assert (found.recovery_s, found.is_open) == (20, True)


def test_messages_that_fail_at_once_are_no_service_although_nothing_is_owed() -> None:
    failed = steady(15, from_s=10)

    found = recovery(DebtCurve(steady(30), steady(30), failed), period())

    assert found.recovery_s == pytest.approx(5, abs=ONE_STEP)
    assert found.detection_s == pytest.approx(0, abs=STEP)


def test_a_third_of_the_messages_failing_is_no_recovery_either() -> None:
    failed = steady(20, A_STEP // 3, from_s=10)

    assert recovery(DebtCurve(steady(20), steady(20), failed), period(10, None, 30)).is_open


def test_bursts_of_offered_messages_are_no_debt() -> None:
    """A second of load, three of none; each message takes one step."""
    due = {step: number for step, number in steady(40).items() if step % at(4) < at(1)}
    delivered = {step + 1: number for step, number in due.items()}

    assert recovery(DebtCurve(due, delivered), period(10, 15, 40)) == Recovery(0.0)


def test_one_message_a_second_is_enough_to_tell() -> None:
    due = dict.fromkeys(range(0, at(40), at(1)), 1)
    delivered = {step: 1 for step in due if not at(10) <= step < at(20)} | {at(20): 11}

    found = recovery(DebtCurve(due, delivered), period(10, 20, 40))

    assert found.recovery_s == pytest.approx(10, abs=1.0)


def test_a_flow_without_a_schedule_recovers_when_its_rate_is_back() -> None:
    found = recovery(DebtCurve(rate=silent(steady(30), 10, 15), rate_ends=at(30)), period())

    assert found.recovery_s == pytest.approx(5, abs=ONE_STEP)
    assert found.detection_s == pytest.approx(0, abs=ONE_STEP)


def test_a_burst_after_a_silence_does_not_hide_the_silence() -> None:
    rate = silent(steady(30), 10, 15, made_up=0.1)

    assert recovery(DebtCurve(rate=rate, rate_ends=at(30)), period()).recovery_s == pytest.approx(5, abs=ONE_STEP)


def test_a_flow_that_is_back_at_half_its_rate_has_not_recovered() -> None:
    rate = steady(10) | steady(30, A_STEP // 2, from_s=12)

    assert recovery(DebtCurve(rate=rate, rate_ends=at(30)), period(until_s=30)).is_open


@pytest.mark.parametrize(("share", "is_open"), [(85, True), (95, False)])
def test_a_rate_is_back_at_nine_tenths_of_what_it_was(share: int, is_open: bool) -> None:
    rate = steady(10) | steady(30, A_STEP * share // 100, from_s=15)

    found = recovery(DebtCurve(rate=rate, rate_ends=at(30)), period(until_s=30))

    assert found.is_open is is_open
    if not is_open:
        assert found.recovery_s == pytest.approx(5, abs=ONE_STEP)


def test_a_flow_without_a_schedule_owes_what_was_acknowledged_and_not_delivered() -> None:
    acknowledged = steady(30)
    delivered = silent(acknowledged, 10, 15, made_up=1)

    found = recovery(DebtCurve(acknowledged, delivered, rate=acknowledged, rate_ends=at(30)), period())

    assert found.recovery_s == pytest.approx(6, abs=ONE_STEP)


def test_a_flow_that_was_done_owes_no_rate_and_one_that_was_stopped_does() -> None:
    rate = silent(steady(20), 10, 15)

    done = recovery(DebtCurve(rate=rate, rate_ends=at(20)), period(until_s=30))
    stopped = recovery(DebtCurve(rate=steady(10), rate_ends=None), period(10, None, 30))

    assert done.recovery_s == pytest.approx(5, abs=ONE_STEP)
    assert (stopped.recovery_s, stopped.is_open) == (20, True)


def test_a_rate_may_vary_as_it_did_before() -> None:
    rate = {step: number + (30 if step // at(1) % 2 else -30) for step, number in steady(30).items()}

    assert recovery(DebtCurve(rate=rate, rate_ends=at(30)), period()).recovery_s == 0.0


def test_a_rate_in_bursts_tells_nothing() -> None:
    rate = {step: number for step, number in steady(30).items() if step % at(3) < at(1)}

    assert recovery(DebtCurve(rate=rate, rate_ends=at(30)), period()).why == UNEVEN


def test_runs_of_empty_steps_are_found_whole() -> None:
    assert measure_empty_runs({1: 1, 5: 1, 6: 1, 9: 1}, range(12)) == [1, 3, 2, 2]


def test_one_poor_second_before_the_fault_does_not_make_half_the_rate_a_recovery() -> None:
    rate = (
        steady(10) | dict.fromkeys(range(at(7), at(8)), A_STEP * 6 // 10) | steady(30, A_STEP * 65 // 100, from_s=10)
    )

    found = recovery(DebtCurve(rate=rate, rate_ends=at(30)), period(until_s=30))

    assert found.is_open
