"""Events as parts of figures over time."""

from __future__ import annotations

from stream2gym.analysis.run_history import find_phases
from stream2gym.figures.figure import Band, Span
from stream2gym.report.event_figures import (
    make_component_lanes,
    make_death_marks,
    make_fault_bands,
    make_phase_spans,
)
from stream2gym.report.sections.timeline import leave_out_fetching, split_overlaps


def event(t_s: float, kind: str, **details: object) -> dict[str, object]:
    return {"t_s": t_s, "event": kind, **details}


def test_a_phase_lasts_until_the_next_one_and_the_last_to_the_last_event() -> None:
    events = [event(-3, "phase", phase="brokers"), event(0, "phase", phase="load"), event(9, "done")]
    assert make_phase_spans(find_phases(events), events) == (Span(-3, 0, "brokers"), Span(0, 9, "load"))


def test_a_band_reaches_from_when_a_fault_was_applied_to_when_it_was_healed_or_to_the_end() -> None:
    events = [
        event(1, "fault-applied", fault="cut", on="h1 -- s1"),
        event(2, "fault-applied", fault="kill", on=["broker-h2"]),
        event(4, "fault-healed", fault="cut"),
        event(8, "done"),
    ]
    assert make_fault_bands(events) == (Band(1, 4, "cut: h1 -- s1"), Band(2, 8, "kill: broker-h2"))


def test_a_heal_without_a_fault_opens_nothing() -> None:
    assert make_fault_bands([event(4, "fault-healed", fault="cut")]) == ()


def test_a_component_that_died_and_came_back_has_two_lives_and_a_mark() -> None:
    events = [
        event(0, "started", component="broker-h2", instance=1),
        event(5, "died", component="broker-h2", instance=1, how="signal 9"),
        event(6, "started", component="broker-h2", instance=1),
        event(9, "stopped", component="broker-h2", instance=1),
    ]
    (lane,) = make_component_lanes(events)
    assert [(span.start, span.end) for span in lane.spans] == [(0, 5), (6, 9)]
    assert [mark.at for mark in lane.marks] == [5]
    assert [mark.label for mark in make_death_marks(events)] == ["broker-h2 died"]


def test_nothing_happened_is_nothing() -> None:
    assert make_phase_spans((), []) == make_fault_bands([]) == make_component_lanes([]) == ()


def test_what_was_done_by_hand_to_a_job_is_a_mark_in_its_lane() -> None:
    events = [
        event(2, "job-submitted", component="late", host="h1"),
        event(2.5, "started", component="late", instance=1),
        event(6, "job-moved", component="late", host="h1", to="h2"),
        event(9, "job-stopped", component="late", host="h2"),
        event(9.5, "stopped", component="late", instance=1),
    ]
    (lane,) = make_component_lanes(events)
    assert [(mark.at, mark.label) for mark in lane.marks] == [
        (2, "late was submitted by hand"),
        (6, "late was moved from h1 to h2 by hand"),
        (9, "late was stopped by hand"),
    ]
    assert make_death_marks(events) == ()


def test_faults_that_overlap_stand_in_rows_of_their_own() -> None:
    first, second, third = Span(3, 13, "cut"), Span(5, 9, "dead"), Span(10, 12, "slow")
    assert split_overlaps([third, second, first]) == [[first], [second, third]]
    many = [Span(number, 100, str(number)) for number in range(8)]
    rows = split_overlaps(many)
    assert [len(row) for row in rows] == [1, 1, 1, 1, 4]


def test_the_time_of_fetching_is_drawn_only_beside_longer_times() -> None:
    short, long, load = Span(-5, -4, "software"), Span(-80, -4, "software"), Span(-4, 12, "load")
    assert leave_out_fetching([short, load]) == (short, load)
    assert leave_out_fetching([long, load]) == (load,)
    assert leave_out_fetching([long]) == (long,)
