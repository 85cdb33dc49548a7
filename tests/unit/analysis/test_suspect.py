"""Which time of a run is suspect, from samples with known answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stream2gym.analysis.fake_run import FakeRun
from stream2gym.analysis.fidelity import assess_fidelity
from stream2gym.analysis.inputs import read_inputs
from stream2gym.analysis.result_tables import Fidelity
from stream2gym.analysis.suspect import (
    BACKLOG,
    DROPPED,
    GAP,
    LATE,
    NO_LOOK,
    VERY_LATE,
    BacklogCurve,
    Cells,
    SendDelay,
    mark_backlog,
)
from stream2gym.analysis.time_series import read_tracks

GEN: dict[str, Any] = {"producers": [{"name": "gen", "on": "h1", "topic": "in", "rate": "100/s"}]}


def quiet(load_s: float = 10.0, until_s: float | None = None, packets: int = 1000, **parts: Any) -> FakeRun:
    """A run in which all is well, sampled up to ``until_s``; its broker never waits."""
    run = FakeRun(load_s, brokers=[{"name": "broker", "on": "h2"}], topics=[{"name": "in"}], **parts)
    end_s = load_s + 1 if until_s is None else until_s
    at_s, number = -1.0, 0
    while at_s <= end_s:
        number += 1
        run.sample(at_s, "fabric", "lateness", "packets", packets)
        run.sample(at_s, "fabric", "lateness", "le_102.2", packets)
        run.sample(at_s, "process", "broker", "cpu_s", 0.1 * number)
        run.sample(at_s, "process", "broker", "cpu_wait_s", 0.0)
        at_s += 0.5
    return run


def late(run: FakeRun, from_s: float, to_s: float, packets: int, lateness_us: float = 5000) -> None:
    """So many more packets in every half second, late by so much."""
    at_s = from_s + 0.5
    while at_s <= to_s:
        run.sample(at_s, "fabric", "lateness", f"le_{lateness_us:g}", packets)
        at_s += 0.5


def look(
    run: FakeRun, tmp_path: Path, delays: tuple[SendDelay, ...] = (), curves: tuple[BacklogCurve, ...] = ()
) -> Fidelity:
    inputs = read_inputs(run.write(tmp_path / "run"))
    return assess_fidelity(inputs, read_tracks(inputs), delays, curves)


def times(found: Fidelity, reason: str) -> list[tuple[float, float]]:
    """When it is suspect for this reason, neighbours as one."""
    joined: list[tuple[float, float]] = []
    for span in found.suspect or ():
        if any(reason in text for text in span.reasons):
            if joined and joined[-1][1] == span.from_s:
                joined[-1] = (joined[-1][0], span.to_s)
            else:
                joined.append((span.from_s, span.to_s))
    return joined


def test_a_quiet_run_has_no_suspect_time(tmp_path: Path) -> None:
    found = look(quiet(), tmp_path)

    assert (found.good, found.suspect, found.lacks, found.warnings) == (True, (), "", ())
    assert (found.lateness_s, found.late_share) == (pytest.approx(102.2e-6), 0.0)


# ---- gaps


def test_a_sampler_that_was_starved_leaves_suspect_time(tmp_path: Path) -> None:
    run = quiet(30.0, until_s=5.0)
    run.sample(25.0, "fabric", "lateness", "packets", 10)
    run.sample(26.0, "fabric", "lateness", "packets", 10)
    run.sample(27.5, "fabric", "lateness", "packets", 10)
    for at_s in (28.5, 29.5, 30.5):
        run.sample(at_s, "fabric", "lateness", "packets", 10)

    found = look(run, tmp_path)

    assert found.good is False
    assert times(found, GAP) == [(5.0, 25.0)]


def test_all_time_after_a_sampler_died_is_suspect(tmp_path: Path) -> None:
    found = look(quiet(30.0, until_s=2.0), tmp_path)

    assert found.good is False
    assert times(found, GAP) == [(2.0, 31.0)]


def looked(run: FakeRun, **until_s: float) -> FakeRun:
    """The looks of monitors, each from the beginning of the samples until its own time."""
    for monitor, end_s in until_s.items():
        at_s = -1.0
        while at_s <= end_s:
            run.sample(at_s, "monitor", monitor, "look_s", 0.001)
            at_s += 0.5
    return run


def test_monitors_that_look_to_the_end_leave_no_suspect_time(tmp_path: Path) -> None:
    found = look(looked(quiet(), fabric=11.0, process=11.0, machine=11.0), tmp_path)

    assert (found.good, found.suspect) == (True, ())


@pytest.mark.parametrize("dead", ["process", "machine"])
def test_time_in_which_nobody_looked_at_the_machine_is_suspect(dead: str, tmp_path: Path) -> None:
    ends = {"fabric": 11.0, "process": 11.0, "machine": 11.0} | {dead: 4.0}

    found = look(looked(quiet(), **ends), tmp_path)

    assert found.good is False
    assert times(found, NO_LOOK) == [(4.0, 11.0)]
    assert "monitor-failed" in found.remedy


def test_a_monitor_that_never_looked_makes_all_time_suspect(tmp_path: Path) -> None:
    found = look(looked(quiet(), fabric=11.0, machine=11.0), tmp_path)

    assert times(found, NO_LOOK) == [(-1.0, 11.0)]


def test_a_monitor_that_tells_nothing_about_the_machine_may_die(tmp_path: Path) -> None:
    found = look(looked(quiet(), fabric=11.0, process=11.0, machine=11.0, disk=4.0), tmp_path)

    assert (found.good, found.suspect) == (True, ())


def test_a_number_of_a_program_is_not_taken_for_a_wait_of_its_threads(tmp_path: Path) -> None:
    run = quiet()
    for number in range(20):
        run.sample(number / 2, "program", "broker", "cpu_wait_s", number * 0.5)

    assert look(run, tmp_path).suspect == ()


def test_packets_of_a_long_interval_count_in_all_of_it(tmp_path: Path) -> None:
    run = quiet(until_s=2.0)
    run.sample(3.4, "fabric", "lateness", "packets", 1000)
    run.sample(3.4, "fabric", "lateness", "le_5000", 1000)
    for tick in range(16):
        run.sample(3.5 + tick / 2, "fabric", "lateness", "packets", 1)

    assert times(look(run, tmp_path), LATE) == [(2.0, 3.5)]


# ---- packets


def test_the_one_late_second_does_not_hide_behind_good_ones(tmp_path: Path) -> None:
    run = quiet()
    late(run, 4.0, 5.0, packets=200)

    found = look(run, tmp_path)

    assert (found.good, found.bad_seconds) == (False, 1)
    assert times(found, LATE) == [(4.0, 5.0)]
    assert all(span.mild for span in found.suspect or ())
    assert found.lateness_s == pytest.approx(5e-3)
    assert "real-time priority" in found.remedy


def test_packets_that_meet_timers_are_more_than_a_little_late(tmp_path: Path) -> None:
    run = quiet()
    late(run, 4.0, 5.0, packets=200, lateness_us=50_000)

    found = look(run, tmp_path)

    assert times(found, VERY_LATE) == [(4.0, 5.0)]
    assert not any(span.mild for span in found.suspect or ())
    assert found.lateness_s < 1e-3


def test_one_hiccup_that_catches_a_few_packets_is_not_suspect_but_taken_off_latencies(tmp_path: Path) -> None:
    run = quiet(packets=100)
    late(run, 4.0, 4.5, packets=2)

    found = look(run, tmp_path)

    assert (found.good, found.suspect) == (True, ())
    assert found.max_s == pytest.approx(5e-3)
    assert (found.lateness_s, found.late_share) == (pytest.approx(102.2e-6), pytest.approx(2 / 2402, rel=0.1))


def test_a_short_quiet_run_in_which_every_packet_is_late_is_suspect(tmp_path: Path) -> None:
    run = quiet(5.0, packets=0)
    late(run, -1.5, 6.0, packets=5)

    assert times(look(run, tmp_path), LATE) == [(-1.5, 6.0)]


def test_a_drop_that_no_link_asked_for_is_suspect_when_it_happened(tmp_path: Path) -> None:
    run = quiet()
    for at_s, value in ((-1.0, 5), (4.0, 5), (4.5, 6), (10.5, 6)):
        run.sample(at_s, "fabric", "unasked_drops", "device", value)

    found = look(run, tmp_path)

    assert (found.good, found.unasked_drops) == (False, {"device": 1})
    assert times(found, DROPPED) == [(4.0, 4.5)]


def test_a_drop_that_was_noticed_at_the_end_of_load_counts(tmp_path: Path) -> None:
    run = quiet(9.8)
    for at_s, value in ((-1.0, 0), (9.5, 0), (10.0, 3)):
        run.sample(at_s, "fabric", "unasked_drops", "device", value)

    found = look(run, tmp_path)

    assert (found.good, found.unasked_drops) == (False, {"device": 3})


# ---- the CPU


def starved(
    run: FakeRun, wait_s: float, component: str = "broker", from_s: float = 4.0, to_s: float = 5.0
) -> FakeRun:
    """The component waits so long in every half second of that time."""
    run.rows["samples"] = [
        row for row in run.rows["samples"] if (row["object"], row["metric"]) != (component, "cpu_wait_s")
    ]
    total_s = 0.0
    for tick in range(24):
        at_s = -1.0 + tick / 2
        if from_s < at_s <= to_s:
            total_s += wait_s
        run.sample(at_s, "process", component, "cpu_wait_s", total_s)
    return run


def test_threads_that_waited_for_a_cpu_make_time_suspect_and_name_the_machine(tmp_path: Path) -> None:
    run = starved(quiet(), 0.3)
    for tick in range(24):
        run.sample(-1.0 + tick / 2, "machine", "cpu", "pressure_s", 100 + 0.25 * tick)

    found = look(run, tmp_path)

    assert times(found, "broker waited for a CPU") == [(4.0, 5.0)]
    assert found.cpu_pressure == pytest.approx(0.5)
    assert "the machine was the bottleneck (some program waited for a CPU in 50%" in found.remedy
    assert found.warnings


@pytest.mark.parametrize("wait_s", [0.04, 0.03])
def test_short_waits_are_any_machines(wait_s: float, tmp_path: Path) -> None:
    assert look(starved(quiet(), wait_s), tmp_path).good is True


def test_a_restarted_component_does_not_seem_to_have_waited(tmp_path: Path) -> None:
    run = quiet()
    run.rows["samples"] = [row for row in run.rows["samples"] if row["metric"] != "cpu_wait_s"]
    for tick in range(24):
        at_s = -1.0 + tick / 2
        run.sample(at_s, "process", "broker", "cpu_wait_s", 3.0 if at_s < 5 else 0.01)

    assert look(run, tmp_path).good is True


def test_a_cpu_fault_is_not_the_machines_doing(tmp_path: Path) -> None:
    run = starved(quiet(), 0.3)
    run.event("fault-applied", 3.9, fault="slow", instance=1, do="cpu", on=["h2"])
    run.event("fault-healed", 5.0, fault="slow", instance=1)

    assert look(run, tmp_path).good is True


def test_a_cpu_fault_elsewhere_excuses_nobody(tmp_path: Path) -> None:
    run = starved(quiet(), 0.3)
    run.event("fault-applied", 3.9, fault="slow", instance=1, do="cpu", on=["h1"])
    run.event("fault-healed", 5.0, fault="slow", instance=1)

    assert look(run, tmp_path).good is False


@pytest.mark.parametrize(("limited", "is_good"), [("h2", True), ("h1", False)])
def test_the_limit_of_a_host_is_not_the_machines_doing(limited: str, is_good: bool, tmp_path: Path) -> None:
    run = starved(quiet(), 0.3)
    run.cpu_shares = {limited: 0.2}

    assert look(run, tmp_path).good is is_good


@pytest.mark.parametrize(("reached", "is_good"), [(1, True), (0, False)])
def test_a_host_that_waits_without_reaching_its_limit_gets_less_than_the_experiment_gives_it(
    reached: int, is_good: bool, tmp_path: Path
) -> None:
    run = starved(quiet(), 0.3)
    run.cpu_shares = {"h2": 0.2}
    for tick in range(24):
        run.sample(-1.0 + tick / 2, "machine", "h2", "limit_reached", reached * tick)

    assert look(run, tmp_path).good is is_good


def test_a_record_without_waits_says_what_it_lacks(tmp_path: Path) -> None:
    run = quiet()
    run.rows["samples"] = [row for row in run.rows["samples"] if row["metric"] != "cpu_wait_s"]

    found = look(run, tmp_path)

    assert (found.good, found.suspect) == (None, None)
    assert found.lacks == "nobody measured how long threads waited for a CPU"


def test_without_waits_the_pressure_of_the_machine_counts(tmp_path: Path) -> None:
    run = quiet()
    run.rows["samples"] = [row for row in run.rows["samples"] if row["metric"] != "cpu_wait_s"]
    for tick in range(24):
        at_s = -1.0 + tick / 2
        run.sample(at_s, "machine", "cpu", "pressure_s", 7.0 + max(0.0, min(at_s, 4.0) - 3.0) * 0.9)

    assert times(look(run, tmp_path), "programs waited for a CPU") == [(3.0, 4.0)]


def test_nobody_measured_is_neither_good_nor_bad(tmp_path: Path) -> None:
    found = look(FakeRun(), tmp_path)

    assert (found.good, found.suspect) == (None, None)
    assert found.lacks


# ---- producers


def delay(cell: int, most_s: float, instance: int = 1) -> SendDelay:
    return SendDelay("gen", instance, cell, most_s)


def test_a_producer_that_sent_late_although_its_client_had_room_is_suspect(tmp_path: Path) -> None:
    found = look(quiet(**GEN), tmp_path, (delay(2, 0.001), delay(9, 0.8), delay(10, 0.002)))

    assert times(found, "gen sent late although its client had room") == [(3.5, 5.0)]


def test_a_producer_whose_client_was_full_is_excused_until_it_has_caught_up(tmp_path: Path) -> None:
    run = quiet(**GEN)
    for at_s, blocked_s in ((3.0, 0.0), (4.5, 0.3), (5.0, 0.3), (9.0, 0.3)):
        run.sample(at_s, "process", "gen", "blocked_s", blocked_s)

    found = look(run, tmp_path, (delay(9, 0.4), delay(10, 0.3), delay(11, 0.2), delay(12, 0.0), delay(15, 0.1)))

    assert times(found, "gen sent late") == [(7.0, 8.0)]


def test_a_block_before_the_first_sample_excuses_too(tmp_path: Path) -> None:
    run = quiet(**GEN)
    run.sample(0.5, "process", "gen", "blocked_s", 0.4)

    assert look(run, tmp_path, (delay(0, 0.3), delay(1, 0.2))).good is True


def test_a_paused_producer_is_behind_because_it_was_asked_to(tmp_path: Path) -> None:
    run = quiet(**GEN)
    run.event("fault-applied", 3.0, fault="nap", instance=1, do="pause", on=["gen"])
    run.event("fault-healed", 5.0, fault="nap", instance=1)

    assert look(run, tmp_path, (delay(10, 2.0), delay(11, 1.5), delay(13, 0.5))).good is True


def test_what_a_restarted_producer_makes_up_for_is_not_the_machines_doing(tmp_path: Path) -> None:
    run = quiet(**GEN)
    run.event("died", 3.0, component="gen", instance=1)
    run.event("started", 4.0, component="gen", instance=1)

    assert look(run, tmp_path, (delay(9, 1.4), delay(10, 0.2))).good is True


# ---- backlog


def test_time_stays_suspect_until_its_backlog_is_worked_off() -> None:
    cells = Cells(0, 19)
    cells.mark(2.0, 3.0, GAP)
    due = dict.fromkeys(range(20), 100)
    done = dict.fromkeys(range(20), 100) | {4: 0, 5: 0, 6: 120, 7: 140, 8: 140, 9: 200}

    mark_backlog(cells, [BacklogCurve(due, done)])

    assert [cell for cell in range(20) if BACKLOG in cells.reasons.get(cell, ())] == [6, 7, 8]


def test_what_never_arrives_is_no_backlog() -> None:
    cells = Cells(0, 19)
    cells.mark(2.0, 3.0, GAP)
    due = dict.fromkeys(range(20), 100)
    done = dict.fromkeys(range(20), 100) | {4: 0, 5: 0}

    mark_backlog(cells, [BacklogCurve(due, done)])

    assert not any(BACKLOG in reasons for reasons in cells.reasons.values())


def test_packets_that_are_a_little_late_leave_no_backlog() -> None:
    cells = Cells(0, 9)
    cells.mark(2.0, 3.0, LATE)

    mark_backlog(cells, [BacklogCurve(dict.fromkeys(range(10), 100), {9: 1000})])

    assert set(cells.reasons) == {4, 5}


def test_the_start_up_before_the_first_sample_is_suspect(tmp_path: Path) -> None:
    run = quiet()
    run.event("phase", -60.0, phase="software")

    found = look(run, tmp_path)

    assert times(found, "nothing was sampled yet") == [(-60.0, -1.0)]
    assert found.good is True
