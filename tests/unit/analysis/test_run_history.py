"""What the events of a run say about its course; analysis, judge and report all ask the same functions."""

from __future__ import annotations

from stream2gym.analysis.result_tables import Analysis, PhaseRow
from stream2gym.analysis.run_history import (
    find_drain_end_s,
    find_fault_windows,
    find_load_end_s,
    find_phases,
    find_startup_s,
    is_unasked_death,
)
from stream2gym.judge.judge import judge

PHASES = ("brokers", -3.0), ("consumers", -1.0), ("load", 0.0), ("drain", 10.0), ("stop", 12.0)


def event(kind: str, t_s: float, **details: object) -> dict[str, object]:
    return {"event": kind, "t_s": t_s, **details}


def phase_events() -> list[dict[str, object]]:
    return [event("phase", at_s, phase=name) for name, at_s in PHASES]


def test_a_phase_ends_where_the_next_one_begins_and_the_last_has_no_end() -> None:
    assert find_phases(phase_events())[-2:] == (PhaseRow("drain", 10.0, 12.0), PhaseRow("stop", 12.0, None))


def test_the_load_ends_with_the_next_phase_or_with_the_run() -> None:
    assert find_load_end_s(phase_events(), 30.0) == 10.0
    assert find_load_end_s([*phase_events(), event("run-failed", 4.0)], 30.0) == 4.0
    assert find_load_end_s(phase_events()[:3], 30.0) == 30.0


def test_the_drain_ends_when_components_are_stopped_or_else_with_the_load() -> None:
    phases = find_phases(phase_events())
    assert find_drain_end_s(phases, 10.0) == 12.0
    assert find_drain_end_s(phases[:3], 10.0) == 10.0


def test_the_start_up_is_everything_before_the_load_and_unknown_without_load() -> None:
    phases = find_phases(phase_events())
    assert find_startup_s(phases) == 3.0
    assert find_startup_s(phases[:2]) is None
    assert find_startup_s(phases[2:]) is None


def test_each_occurrence_of_a_fault_has_a_window_in_the_order_of_their_beginnings() -> None:
    events = [
        event("fault-applied", 5.0, fault="cut", instance=2, do="down", on=["h1 -- s1"]),
        event("fault-applied", 1.0, fault="cut", instance=1, do="down", on=["h1 -- s1"]),
        event("fault-healed", 3.0, fault="cut", instance=1),
        event("fault-healed", 12.0, fault="cut", instance=2, at_end=True),
    ]
    first, second = find_fault_windows(events)
    assert (first.instance, first.from_s, first.to_s, first.on) == (1, 1.0, 3.0, ("h1 -- s1",))
    assert (second.instance, second.from_s, second.to_s, second.undone_s) == (2, 5.0, None, 12.0)


def test_a_death_is_unasked_unless_a_restart_is_left() -> None:
    assert is_unasked_death(event("died", 1.0))
    assert not is_unasked_death(event("died", 1.0, restarts_left=2))
    assert not is_unasked_death(event("stopped", 1.0))


def test_the_verdict_fails_for_the_same_deaths() -> None:
    deaths = [event("died", 1.0, component=name, **more) for name, more in (("a", {}), ("b", {"restarts_left": 1}))]
    (failure,) = judge([], Analysis("r", 10.0, 1.0), deaths).failures
    assert failure.startswith("a died unasked at 1.000 s")
