"""Schedules: times from t0, the same for the same seed, refused where they contradict."""

from __future__ import annotations

from typing import Any

import pytest

from stream2gym.errors import BadInput
from stream2gym.plan.make_plan import make_plan
from stream2gym.plan.plan_tables import plan_tables
from stream2gym.plan.planned import Plan
from stream2gym.spec.model import Experiment


def planned(*faults: dict[str, Any], seed: int = 1) -> Plan:
    experiment = Experiment.model_validate(
        {
            "topology": {
                "hosts": ["h1", "h2", "h3"],
                "switches": ["s1"],
                "links": [f"h{n} -- s1" for n in (1, 2, 3)],
            },
            "brokers": [{"on": "h1"}, {"on": "h2"}],
            "topics": [{"name": "in"}],
            "time": "100 s",
            "faults": [{"name": f"f{number}", **fault} for number, fault in enumerate(faults, 1)],
        }
    )
    return make_plan(experiment, seed=seed)


def windows(*faults: dict[str, Any], seed: int = 1) -> list[list[tuple[float, float | None]]]:
    return [[(w.start_s, w.end_s) for w in fault.windows] for fault in planned(*faults, seed=seed).faults]


DOWN = {"do": "down", "on": "h1 -- s1"}


def test_a_fault_starts_at_its_time_and_lasts_as_long_as_it_says() -> None:
    assert windows(DOWN | {"at": "10 s", "for": "5 s"}) == [[(10, 15)]]
    assert windows(DOWN | {"at": "10 s"}) == [[(10, None)]]


def test_a_share_is_of_the_load_time() -> None:
    assert windows(DOWN | {"at": "10 %", "for": "45 s"}) == [[(10, 55)]]


def test_a_fault_comes_again_until_its_end() -> None:
    assert windows(DOWN | {"at": "10 s", "for": "2 s", "every": "20 s", "until": "60 s"}) == [
        [(10, 12), (30, 32), (50, 52)]
    ]


def test_acknowledged_is_planned_under_its_stored_name() -> None:
    [fault] = planned(DOWN | {"when": "acknowledged > 5000"}).faults
    assert fault.trigger == "acked > 5000"


def test_drawn_times_depend_on_the_seed_only_and_stay_within() -> None:
    fault = DOWN | {"within": ["10 s", "20 s"], "for": "1 s"}
    again = DOWN | {"at": "10 s", "every": "10 s", "jitter": "2 s", "for": "1 s"}

    assert windows(fault, again) == windows(fault, again)
    assert windows(fault, again) != windows(fault, again, seed=2)
    drawn, jittered = windows(fault, again)
    assert 10 <= drawn[0][0] <= 20
    assert all(abs(start - 10 * n) <= 2 for n, (start, _) in enumerate(jittered, 1))


def test_a_sequence_follows_its_predecessors() -> None:
    first = DOWN | {"at": "10 s", "for": "5 s"}
    second = {"do": "down", "on": "h2 -- s1", "after": "f1", "for": "3 s"}
    third = {"do": "restart", "on": "broker-h1", "after": "fault f2", "down": "4 s"}

    assert windows(first, second, third) == [[(10, 15)], [(15, 18)], [(18, 22)]]


def test_conditions_stay_conditions_and_pass_on_to_what_follows() -> None:
    plan = planned(DOWN | {"after": "1000 messages", "for": "1 s"}, {**DOWN, "on": "h2 -- s1", "after": "f1"})

    assert [(fault.trigger, fault.for_s) for fault in plan.faults] == [
        ("1000 messages", 1.0),
        ("fault f1", None),
    ]


def test_an_end_beyond_the_load_is_at_its_end_with_a_warning() -> None:
    plan = planned(DOWN | {"at": "90 s", "for": "60 s"})

    assert [(w.start_s, w.end_s) for w in plan.faults[0].windows] == [(90, 100)]
    assert any("f1" in warning and "100 s" in warning for warning in plan.warnings)


@pytest.mark.parametrize(
    ("faults", "complaint"),
    [
        ([DOWN | {"at": "100 %"}], "when the load of 100 s is over"),
        ([DOWN | {"after": "f2", "for": "1 s"}, {**DOWN, "after": "f1", "for": "1 s"}], "which never starts"),
        ([DOWN | {"at": "1 s"}, {**DOWN, "on": "h2 -- s1", "after": "f1"}], "never ends"),
        ([{"do": "restart", "on": "broker-h1", "at": "1 s", "for": "2 s"}], "ends by itself"),
        (
            [
                {"do": "kill", "on": "broker-h1", "at": "1 s", "for": "9 s"},
                {"do": "pause", "on": "broker-*", "at": "5 s", "for": "9 s"},
            ],
            "broker-h1 at 5 s: kill and pause",
        ),
        (
            [
                {"do": "host-off", "on": "h2", "at": "1 s", "for": "9 s"},
                {"do": "stop", "on": "broker-h2", "at": "2 s", "for": "1 s"},
            ],
            "host-off and stop",
        ),
        ([{"do": "kill", "on": "broker-h1", "at": "1 s", "every": "5 s"}], "repeats"),
    ],
)
def test_schedules_that_cannot_be_are_refused(faults: list[dict[str, Any]], complaint: str) -> None:
    with pytest.raises(BadInput, match=complaint):
        planned(*faults)


def test_what_was_killed_may_be_restarted_later() -> None:
    kill = {"do": "kill", "on": "broker-h1", "at": "1 s"}

    assert windows(kill, {"do": "restart", "on": "broker-h1", "at": "9 s"}) == [[(1, None)], [(9, 9)]]


def test_the_plan_shows_the_timeline() -> None:
    plan = planned(
        DOWN | {"at": "10 s", "for": "2 s", "every": "20 s", "until": "40 s"},
        {"do": "kill", "on": "leader of in/0", "at": "5 s"},
        {"do": "pause", "on": "controller", "when": "lag > 5000", "for": "2 s"},
    )

    table = next(table for table in plan_tables(plan) if table.title.startswith("Faults"))
    assert table.heads[-1] == f"{plan.load_s:g} s of load"
    assert tuple(row[:-1] for row in table.rows) == (
        ("5 s", "the end", "f2", "kill", "leader of in/0"),
        ("10 s", "12 s", "f1", "down", "h1 -- s1"),
        ("30 s", "32 s", "f1", "down", "h1 -- s1"),
        ("at lag > 5000", "2 s later", "f3", "pause", "controller"),
    )
    line = "─"
    assert [row[-1] for row in table.rows] == [
        2 * line + 38 * "█",
        4 * line + "█" + 35 * line,
        12 * line + "█" + 27 * line,
        "",
    ]


def test_what_is_done_at_once_is_a_point_on_the_timeline() -> None:
    plan = planned({"do": "restart", "on": "broker-h1", "at": "50 s"})

    table = next(table for table in plan_tables(plan) if table.title.startswith("Faults"))
    assert table.rows[0][-1] == 20 * "─" + "◆" + 19 * "─"
