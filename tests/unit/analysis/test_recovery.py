"""What a fault cost, from counts alone."""

from __future__ import annotations

from typing import Any

import pytest

from stream2gym.analysis.recovery import Flow, backlog, fault_rows, gaps, outage_rows, recovery_rows
from stream2gym.analysis.recoverytables import FaultRow
from stream2gym.analysis.tables import Analysis, Change, FlowPoint
from stream2gym.analysis.throughput import Span, recover
from stream2gym.analysis.troubles import Trouble
from stream2gym.judge.measure import measure
from stream2gym.kinds.expectations import parse_expectation

STEP = 0.05


def steady(
    seconds: float, a_second: int = 1000, *, silent: tuple[float, float] = (0, 0), burst: int = 0
) -> dict[int, int]:
    """Messages in steps, with a silence and what had waited all at once after it."""
    first, last = (round(at / STEP) for at in silent)
    counts = {n: round(a_second * STEP) for n in range(round(seconds / STEP)) if not first <= n < last}
    if burst:
        counts[last] = counts.get(last, 0) + burst
    return counts


def window(start: float = 10, end: float | None = 15, horizon: float = 30) -> FaultRow:
    return FaultRow("cut", 1, "down", ("h1 -- s1",), start, end, horizon)


def event(kind: str, at_s: float, fault: str = "cut", instance: int = 1) -> dict[str, Any]:
    at_ns = int(at_s * 1e9)
    more = {"planned_ns": at_ns - 5_000_000, "at_ns": at_ns}
    return {
        "event": kind,
        "t_s": at_s,
        "fault": fault,
        "instance": instance,
        "do": "down",
        "on": ["x"],
        **more,
    }


@pytest.mark.parametrize("burst", [0, 5000])
def test_recovery_is_from_the_fault_to_good_throughput(burst: int) -> None:
    found = recover(steady(30, silent=(10, 15), burst=burst), Span(10, 15, 30), STEP)

    assert found is not None
    assert found.recovery_s == pytest.approx(5.0, abs=0.1)
    assert found.before_per_s == pytest.approx(1000)
    assert found.lowest_per_s == 0
    assert found.detection_s == pytest.approx(0, abs=STEP)


def test_what_never_dipped_needed_no_time_and_what_never_came_back_has_none() -> None:
    unhurt = recover(steady(30), Span(10, 15, 30), STEP)
    gone = recover(steady(30, silent=(10, 30)), Span(10, 15, 30), STEP)

    assert unhurt is not None
    assert gone is not None
    assert (unhurt.recovery_s, unhurt.detection_s) == (0.0, None)
    assert gone.recovery_s is None


def test_a_late_dip_counts_from_the_fault() -> None:
    found = recover(steady(30, silent=(13, 16)), Span(10, 15, 30), STEP)

    assert found is not None
    assert found.recovery_s == pytest.approx(6.0, abs=0.1)
    assert found.detection_s == pytest.approx(3.0, abs=0.1)


def test_without_traffic_before_there_is_nothing_to_compare_with() -> None:
    assert recover({}, Span(10, 15, 30), STEP) is None
    assert recover(steady(30), Span(0.3, 15, 30), STEP) is None


def test_silences_are_found_whole() -> None:
    assert gaps({1: 1, 5: 1, 6: 1, 9: 1}, 0, 12) == [1, 3, 2, 2]


def test_an_outage_is_the_longest_silence_of_a_client() -> None:
    flows = {
        Flow("acknowledged", "in", "gen", ""): steady(30, silent=(10, 12)),
        Flow("received", "in", "see", "g"): steady(30, silent=(10, 14)),
        Flow("received", "in", "thin", "h"): dict.fromkeys(range(0, 600, 10), 1),
    }

    rows = {row.client: row for row in outage_rows(window(), flows, STEP, {})}

    assert rows["gen"].longest_s == pytest.approx(2)
    assert rows["see"].longest_s == pytest.approx(4)
    assert rows["thin"].longest_s == 0


def test_a_backlog_is_what_waited_and_is_worked_off() -> None:
    acked = steady(30)
    got = steady(30, silent=(10, 15))
    got |= dict.fromkeys(range(round(16 / STEP), round(21 / STEP)), 100)

    most, clear = backlog(acked, got, window(10, 16), STEP)

    assert most == 5000
    assert clear == pytest.approx(5, abs=0.2)


def test_faults_answer_until_the_next_one() -> None:
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

    cut, dead = fault_rows(events, 30, changes)

    assert (cut.from_s, cut.to_s, cut.horizon_s) == (10, 15, 20)
    assert (cut.leader_changes, cut.isr_shrinks, cut.election_s) == (1, 1, 2)
    assert cut.planned_from_s == pytest.approx(9.995)
    assert (dead.to_s, dead.horizon_s, dead.leader_changes) == (None, 30, 1)


def test_expectations_about_faults_are_measured() -> None:
    fault = window()
    flows = {
        Flow("acknowledged", "in", "gen", ""): steady(30),
        Flow("received", "in", "see", "g"): steady(30, silent=(10, 15), burst=5000),
    }
    bare = Analysis("run", 30.0, 1.0)
    lost = [Trouble("lost", "in", at_s) for at_s in (9.0, 12.0, 29.0)]
    copies = [Trouble("doubled", "in", at_s, 3) for at_s in (9.9, 12.0, 29.0)]
    rows = recovery_rows(fault, flows, STEP, bare, [*lost, *copies])
    outages = outage_rows(fault, flows, STEP, {})
    found = Analysis("run", 30.0, 1.0, faults=(fault,), recovery=tuple(rows), outages=tuple(outages))

    def value(text: str) -> float | str:
        measured = measure(parse_expectation(text), found, ())
        return next(iter(measured.values.values())) if measured.values else measured.why

    assert value("recovery(fault=cut) < 10 s") == pytest.approx(5, abs=0.1)
    assert value("unavailable < 5 s") == pytest.approx(5, abs=0.1)
    assert value("unavailable(producer=gen) < 1 s") == 0
    assert value("lost(fault=cut) == 0") == 2
    assert value("duplicated(fault=cut) == 0") == 6
    assert value("failed(fault=cut) == 0") == 0
    assert value("backlog(fault=cut) < 9000") == 5000
    assert value("leader_changes(fault=cut) == 0") == 0
    assert value("recovery(fault=other) < 1 s") == "no such fault was in force"


def test_what_never_recovers_is_longer_than_any_bound() -> None:
    flows = {Flow("received", "in", "see", "g"): steady(30, silent=(10, 30))}
    rows = recovery_rows(window(10, None), flows, STEP, Analysis("run", 30.0, 1.0), {})
    found = Analysis("run", 30.0, 1.0, faults=(window(10, None),), recovery=tuple(rows))

    expectation = parse_expectation("recovery < 1000 s")
    [value] = measure(expectation, found, ()).values.values()
    assert not expectation.holds(value)


def test_silence_after_the_last_message_was_sent_is_nobodys_fault() -> None:
    flows = {Flow("received", "in", "see", "g"): steady(25, silent=(10, 12))}
    sent = tuple(FlowPoint("sent", "in", "gen", "", float(at), 1000, 1) for at in range(25))
    found = Analysis("run", 27.0, 1.0, flow=sent)

    [row] = recovery_rows(window(10, 12, 27), flows, STEP, found, [])
    [outage] = outage_rows(window(10, 12, 27), flows, STEP, {"in": 24.0})

    assert row.recovery_s == pytest.approx(2, abs=0.1)
    assert outage.longest_s == pytest.approx(2, abs=0.1)


def test_a_burst_before_the_fault_does_not_raise_the_bar() -> None:
    counts = steady(30, silent=(10, 12))
    counts[round(6.5 / STEP)] = 3000

    found = recover(counts, Span(10, 15, 30), STEP)

    assert found is not None
    assert found.before_per_s == pytest.approx(1000)
    assert found.recovery_s == pytest.approx(2, abs=0.1)


def test_catching_up_before_the_fault_does_not_raise_the_bar_above_what_is_offered() -> None:
    counts = steady(30, silent=(10, 12)) | dict.fromkeys(range(round(10 / STEP)), 60)

    free, bounded = recover(counts, Span(10, 15, 30), STEP), recover(counts, Span(10, 15, 30), STEP, 1000.0)

    assert free is not None
    assert bounded is not None
    assert (free.recovery_s, bounded.before_per_s) == (None, pytest.approx(1000))
    assert bounded.recovery_s == pytest.approx(2, abs=0.1)


def varying(seconds: float, by: int) -> dict[int, int]:
    """A thousand a second, now and then a little less and then more, as a busy machine delivers it."""
    counts = steady(seconds)
    for at_s in range(1, int(seconds), 2):
        late = range(round(at_s / STEP), round(at_s / STEP) + 5)
        for step in late:
            counts[step] -= by // 5
        counts[late[-1] + 1] += by
    return counts


def test_what_varied_before_the_fault_may_vary_after_it() -> None:
    counts = {step: n for step, n in varying(30, by=150).items() if not 10 / STEP <= step < 12 / STEP}

    found = recover(counts, Span(10, 12, 30), STEP)

    assert found is not None
    assert found.recovery_s == pytest.approx(2, abs=0.4)


def test_a_dip_long_after_the_fault_is_not_its_doing() -> None:
    counts = {step: n for step, n in steady(60, silent=(10, 12)).items() if not 40 / STEP <= step < 41 / STEP}

    found = recover(counts, Span(10, 12, 60), STEP)

    assert found is not None
    assert found.recovery_s == pytest.approx(2, abs=0.1)


def test_a_dip_when_the_fault_ends_is_its_doing() -> None:
    counts = {step: n for step, n in steady(60, silent=(10, 12)).items() if not 40 / STEP <= step < 41 / STEP}

    found = recover(counts, Span(10, 40, 60), STEP)

    assert found is not None
    assert found.recovery_s == pytest.approx(31, abs=0.1)


def test_a_backlog_that_grows_after_the_fault_is_worked_off_after_that() -> None:
    acked = steady(30, silent=(10, 15))
    acked[round(16 / STEP)] += 5000
    got = steady(30, silent=(10, 15))
    got[round(18 / STEP)] += 5000

    most, clear = backlog(acked, got, window(10, 15), STEP)

    assert most == 5000
    assert clear == pytest.approx(3, abs=0.2)


def test_what_the_last_fault_left_is_followed_beyond_the_load() -> None:
    acked = steady(30)
    got = steady(30, silent=(10, 30)) | {round(34 / STEP): 20_000}

    lasting = FaultRow("cut", 1, "down", ("h1 -- s1",), 10, 15, 30, last=True)

    assert backlog(acked, got, lasting, STEP)[1] == pytest.approx(19, abs=0.2)
    assert backlog(acked, got, window(10, 15), STEP)[1] is None


def test_a_hiccup_that_is_made_up_for_at_once_is_no_dip() -> None:
    counts = steady(30, silent=(10, 12))
    counts[round(15 / STEP)], counts[round(15 / STEP) + 2] = 0, 100

    found = recover(counts, Span(10, 12, 30), STEP)

    assert found is not None
    assert found.recovery_s == pytest.approx(2, abs=0.1)


def test_a_fault_that_comes_into_another_is_compared_with_the_time_before_both() -> None:
    events = [
        event("fault-applied", 10),
        event("fault-applied", 14, "dead"),
        event("fault-healed", 15),
        event("fault-healed", 16, "dead"),
        event("fault-applied", 25, "later"),
    ]
    flows = {Flow("received", "in", "see", "g"): steady(30, silent=(10, 17))}

    rows = fault_rows(events, 30)
    dead = next(row for row in recovery_rows(rows[1], flows, STEP, Analysis("run", 30.0, 1.0), []))

    assert [row.well_until_s for row in rows] == [10, 10, 25]
    assert dead.before_per_s == pytest.approx(1000)
    assert dead.recovery_s == pytest.approx(3, abs=0.1)
