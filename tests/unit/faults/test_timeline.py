"""Faults happen when they should, add up, are undone in any order, and never fail in silence."""

from __future__ import annotations

import pytest

from stream2gym.plan.planned import PlannedFault, Window
from tests.support.planned_faults import checked
from tests.unit.faults.fakes import Scene

LINK = "h1 -- s1"


def fault(
    name: str, kind: str, on: str | tuple[str, ...], *windows: tuple[float, float | None], **settings: object
) -> PlannedFault:
    targets = (on,) if isinstance(on, str) else on
    return PlannedFault(name, kind, targets, dict(settings), tuple(Window(*window) for window in windows))


def test_a_link_is_down_for_its_time_and_no_longer() -> None:
    scene = Scene()
    scene.add(fault("cut", "down", LINK, (1, 3)))

    scene.go(0.999)
    before = scene.fabric.up(LINK)
    scene.go(1)
    during = scene.fabric.up(LINK)
    scene.go(3)

    assert (before, during, scene.fabric.up(LINK)) == ((True, True), (False, False), (True, True))
    assert scene.told() == [("fault-applied", "cut"), ("fault-healed", "cut")]
    assert [one["planned_ns"] for one in scene.events] == [10**9, 3 * 10**9]


def test_a_link_fault_at_zero_is_in_force_before_the_load_and_counts_from_its_beginning() -> None:
    scene = Scene()
    scene.add(
        fault("cut", "down", LINK, (0, 2)),
        fault("later", "degrade", LINK, (1, 2), latency="50 ms"),
        fault("dead", "kill", "consumer-h5", (0, None)),
    )
    scene.now = -30_000_000

    scene.timeline.apply_before_load()

    assert scene.fabric.up(LINK) == (False, False)
    assert scene.told() == [("fault-applied", "cut")]
    assert [one["at_ns"] for one in scene.events] == [0]
    scene.go(0)
    assert scene.told() == [("fault-applied", "cut"), ("fault-applied", "dead")]
    scene.go(2)
    assert scene.fabric.up(LINK) == (True, True)


@pytest.mark.parametrize(("ends_a", "ends_b"), [(4, 6), (6, 4)])
def test_overlapping_faults_of_one_link_add_up_whichever_ends_first(ends_a: float, ends_b: float) -> None:
    scene = Scene()
    scene.add(
        fault("slow", "degrade", LINK, (1, ends_a), latency="50 ms"),
        fault("lossy", "degrade", LINK, (2, ends_b), loss="5 %"),
        fault("cut", "down", LINK, (3, 3.5), ways="forward"),
    )

    scene.go(3.2)
    both = scene.fabric.links[LINK][0]
    scene.go(5)
    one = scene.fabric.links[LINK][0]
    scene.go(7)
    none = scene.fabric.links[LINK][0]

    assert (both.latency_ms, both.loss, both.up) == (50, 0.05, False)
    assert (one.latency_ms, one.loss, one.up) == ((50, 0, True) if ends_a == 6 else (1, 0.05, True))
    assert (none.latency_ms, none.loss, none.up) == (1, 0, True)


def test_two_cuts_of_one_link_end_with_the_later_one() -> None:
    scene = Scene()
    scene.add(fault("a", "down", LINK, (1, 3)), fault("b", "down", "h1 -- *", (2, 4)))

    scene.go(3.5)
    still = scene.fabric.up(LINK)
    scene.go(4)

    assert (still, scene.fabric.up(LINK)) == ((False, False), (True, True))


def test_a_flapping_link_is_down_for_its_share_of_every_period() -> None:
    scene = Scene()
    scene.add(fault("flap", "flap", LINK, (1, 5), period="1 s", duty="30 %"))

    seen = []
    for tenth in range(10, 52):
        scene.go(tenth / 10 + 0.05)
        seen.append(scene.fabric.up(LINK)[0])

    assert seen[:10] == [False] * 3 + [True] * 7
    assert seen[:40] == seen[:10] * 4
    assert seen[40:] == [True, True]


def test_a_ramp_moves_in_steps_and_ends_where_it_was() -> None:
    scene = Scene()
    scene.add(fault("ramp", "ramp", LINK, (0, 10), to={"latency": "101 ms"}, step="1 s"))

    scene.go(5.5)
    halfway = scene.fabric.links[LINK][0].latency_ms
    scene.go(10)

    assert halfway == pytest.approx(51)
    assert scene.fabric.links[LINK][0].latency_ms == 1


def test_an_isolated_host_hears_nothing_but_may_still_speak() -> None:
    scene = Scene()
    scene.add(fault("deaf", "isolate", "h1", (1, 2), ways="in"))

    scene.go(1.5)

    assert scene.fabric.up(LINK) == (True, False)


def test_a_dead_switch_takes_all_its_links() -> None:
    scene = Scene()
    scene.add(fault("dead", "switch-down", "s1", (1, 2)))

    scene.go(1)

    down = {link for link in scene.fabric.links if scene.fabric.up(link) == (False, False)}
    assert down == {"h1 -- s1", "h2 -- s1", "h3 -- s1", "h4 -- s1", "s1 -- s2"}


def test_partitions_come_in_all_shapes() -> None:
    blocked = {}
    for shape, more in (
        ("groups", {"groups": [["h1", "h2"], ["h3"]]}),
        ("one way", {"shape": "groups", "groups": [["h1"], ["h3"]], "one_way": True}),
        ("majority", {}),
        ("ring", {}),
        ("bridge", {"bridge": "h3"}),
    ):
        scene = Scene()
        settings = {"shape": shape} | more if "shape" not in more else more
        scene.add(fault("split", "partition", "h*" if shape != "groups" else (), (1, 2), **settings))
        scene.go(1)
        blocked[shape] = scene.fabric.blocked
        scene.go(2)
        assert scene.fabric.blocked == frozenset()

    assert blocked["groups"] == {("h1", "h3"), ("h3", "h1"), ("h2", "h3"), ("h3", "h2")}
    assert blocked["one way"] == {("h1", "h3")}
    assert {a for a, b in blocked["majority"] if b == "h5"} == {"h1", "h2"}
    sees = {a: 5 - len([b for c, b in blocked["ring"] if c == a]) for a in ("h1", "h2", "h3", "h4", "h5")}
    assert set(sees.values()) == {3}
    assert not any("h3" in pair for pair in blocked["bridge"])
    assert ("h1", "h5") in blocked["bridge"]


def test_a_killed_component_comes_back_when_its_fault_ends_and_the_load_waits_for_it() -> None:
    scene = Scene()
    scene.add(fault("dead", "kill", "producer-h4", (1, 3)))

    scene.go(2)
    during = (scene.parts["producer-h4"].state, scene.timeline.held)
    scene.go(3)

    assert during == ((False, False), frozenset({"producer-h4"}))
    assert scene.parts["producer-h4"].state == (True, False)
    assert scene.timeline.held == frozenset()


def test_what_is_killed_for_good_stays_dead() -> None:
    scene = Scene()
    scene.add(fault("dead", "kill", "broker-h1", (1, None)))

    scene.go(5)
    scene.timeline.close()

    assert scene.parts["broker-h1"].state == (False, False)


def test_a_restart_takes_its_time_and_loses_data_where_asked() -> None:
    scene = Scene()
    scene.add(fault("again", "restart", "broker-h2", (1, 3), down="2 s", data="wipe"))

    scene.go(2.5)
    during = scene.parts["broker-h2"].state
    scene.go(3.2)

    assert during == (False, False)
    assert (scene.parts["broker-h2"].state, scene.wiped) == ((True, False), ["broker-h2"])
    assert scene.told() == [("fault-applied", "again"), ("fault-healed", "again")]


def test_a_component_that_is_down_for_its_restart_when_the_run_ends_is_started() -> None:
    scene = Scene()
    scene.add(fault("again", "restart", "broker-h2", (1, None), down="2 s"))

    scene.go(1.5)
    scene.timeline.close()

    assert scene.parts["broker-h2"].state == (True, False)


def test_a_crash_loop_dies_again_and_again_and_ends_alive() -> None:
    scene = Scene()
    scene.add(fault("loop", "crash-loop", "broker-h1", (0, 9.5), up="2 s", down="1 s"))

    scene.go(20)

    assert scene.parts["broker-h1"].processes[0].starts == 5
    assert scene.parts["broker-h1"].state == (True, False)


def test_a_host_without_power_loses_links_and_processes_and_gets_them_back() -> None:
    scene = Scene()
    scene.add(fault("off", "host-off", "h5", (1, 2)))
    whole = scene.state()

    scene.go(1)
    during = (scene.fabric.up("h5 -- s2"), scene.parts["consumer-h5"].state)
    scene.go(2)

    assert during == ((False, False), (False, False))
    assert scene.state() == whole


def test_a_full_disk_excuses_deaths_and_brings_back_what_died() -> None:
    scene = Scene()
    scene.add(fault("full", "disk-full", "h1", (1, 2)))

    scene.go(1)
    process = scene.parts["broker-h1"].processes[0]
    expected = process.expected
    process.handle.alive = False
    scene.go(2)

    assert (expected, scene.hosts.full) == ("fault", set())
    assert (process.running, process.expected) == (True, "")


def test_a_fault_of_something_dead_is_told_and_hurts_nobody_else() -> None:
    scene = Scene()
    scene.parts["broker-h1"].processes[0].kill()
    scene.add(fault("again", "kill", "broker-h1", (1, 2)), fault("cut", "down", LINK, (1, 2)))

    scene.go(3)

    assert ("fault-failed", "again") in scene.told()
    assert "not running" in next(one["reason"] for one in scene.events if one["event"] == "fault-failed")
    assert ("fault-healed", "cut") in scene.told()
    assert scene.timeline.failures == 1


def test_random_targets_are_the_same_for_the_same_seed() -> None:
    hit = []
    for seed in (1, 1, 2, 3, 4):
        scene = Scene(seed=seed)
        scene.add(fault("some", "pause", "random 2 of *-h*", (1, 2)))
        scene.go(1)
        hit.append(tuple(scene.events[0]["on"]))

    assert hit[0] == hit[1]
    assert len(set(hit)) > 1
    assert all(len(set(names)) == 2 for names in hit)


def test_a_fault_that_waits_for_another_begins_when_that_one_ends() -> None:
    scene = Scene()
    first = checked(PlannedFault("first", "down", (LINK,), trigger="sent > 10", for_s=2.0))
    scene.add(first, PlannedFault("then", "down", ("h2 -- s1",), trigger="fault first", for_s=1.0))

    scene.now = 5 * 10**9
    scene.timeline.fire(first, scene.now)
    scene.go(9)

    assert [(one["event"], one["fault"], one["at_ns"] / 1e9) for one in scene.events] == [
        ("fault-applied", "first", 5),
        ("fault-healed", "first", 7),
        ("fault-applied", "then", 7),
        ("fault-healed", "then", 8),
    ]


def test_what_never_came_is_told_at_the_end_of_the_load() -> None:
    scene = Scene()
    scene.add(fault("late", "down", LINK, (50, 51)), PlannedFault("never", "down", (LINK,), trigger="lag > 9"))

    scene.go(10)
    scene.timeline.end_load()

    assert scene.told("fault-skipped") == [("fault-skipped", "late"), ("fault-skipped", "never")]
    assert scene.timeline.failures == 2


def test_everything_is_undone_when_the_run_ends_early() -> None:
    scene = Scene()
    whole = scene.state()
    scene.add(
        fault("cut", "down", LINK, (1, 50)),
        fault("slow", "degrade", LINK, (1, None), latency="1 s"),
        fault("frozen", "pause", "broker-h1", (1, None)),
        fault("dead", "kill", "broker-h2", (1, 50)),
    )

    scene.go(2)
    scene.timeline.close()

    assert scene.state() == whole
    assert all(one["at_end"] for one in scene.events if one["event"] == "fault-healed")


def test_a_fault_that_waits_for_two_begins_a_while_after_both_have_ended() -> None:
    scene = Scene()
    scene.add(
        fault("short", "down", LINK, (1, 2)),
        fault("long", "down", "h2 -- s1", (1, 4)),
        PlannedFault("then", "down", ("h3 -- s1",), trigger="fault short, long", for_s=1.0, delay_s=0.5),
    )

    scene.go(9)

    assert [(one["event"], one["at_ns"] / 1e9) for one in scene.events if one["fault"] == "then"] == [
        ("fault-applied", 4.5),
        ("fault-healed", 5.5),
    ]


def test_what_waits_for_a_fault_that_failed_is_told_as_skipped() -> None:
    scene = Scene()
    scene.parts["broker-h1"].processes[0].kill()
    scene.add(
        fault("again", "kill", "broker-h1", (1, 2)),
        PlannedFault("then", "down", (LINK,), trigger="fault again", for_s=1.0),
    )

    scene.go(9)
    scene.timeline.close()

    assert scene.told() == [("fault-failed", "again"), ("fault-skipped", "then")]


def test_of_what_is_due_at_once_links_do_not_wait_for_processes() -> None:
    scene = Scene()
    scene.add(
        fault("dead", "kill", "broker-h1", (1, 3)),
        fault("cut", "down", LINK, (1, 3)),
        fault("next", "down", "h2 -- s1", (3, 4)),
    )

    scene.go(3)

    assert scene.told() == [
        ("fault-applied", "cut"),
        ("fault-applied", "dead"),
        ("fault-healed", "cut"),
        ("fault-applied", "next"),
        ("fault-healed", "dead"),
    ]
