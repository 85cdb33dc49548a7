"""When partitions had a leader again after a fault."""

from __future__ import annotations

from stream2gym.analysis.elections import find_election
from stream2gym.analysis.result_tables import Change, LeaderSpan


def elected(place: str, at_s: float) -> Change:
    return Change("leader", place, at_s, 1, 2)


def test_the_slowest_partition_counts() -> None:
    changes = [elected("t/0", 10.3), elected("t/1", 40.0)]
    assert find_election(10.0, None, 60.0, changes, []) == (30.0, False)


def test_a_fault_that_took_no_leader_has_no_election() -> None:
    assert find_election(10.0, 20.0, 60.0, [elected("t/0", 5.0), elected("t/0", 70.0)], []) == (None, False)
    assert find_election(10.0, 20.0, 60.0, [Change("isr", "t/0", 11.0, 3, 2)], []) == (None, False)


def test_a_partition_that_nobody_leads_to_the_end_leaves_no_upper_bound() -> None:
    vacant = [LeaderSpan("t", 1, -1, 10.1, 60.0)]
    assert find_election(10.0, None, 60.0, [elected("t/0", 10.3)], vacant) == (50.0, True)


def test_leadership_that_returns_with_the_broker_is_no_late_election() -> None:
    changes = [elected("t/0", 13.0), elected("t/0", 22.5), elected("t/1", 22.5)]
    assert find_election(10.0, 22.0, 60.0, changes, []) == (3.0, False)


def test_a_leader_that_came_only_with_the_broker_is_one() -> None:
    vacant = [LeaderSpan("t", 1, -1, 13.0, 22.5)]
    changes = [elected("t/0", 13.0), elected("t/1", 22.5)]
    assert find_election(10.0, 22.0, 60.0, changes, vacant) == (12.5, False)
    assert find_election(10.0, 11.0, 60.0, [elected("t/0", 13.0)], []) == (3.0, False)
