"""What faults of links do to packets: down, flap, degrade in every setting, ramp."""

from __future__ import annotations

from itertools import groupby
from typing import Any

import pytest

from tests.system.faults.scene import STAR, Scene, until

COUNT = 400


def received(scene: Scene, **options: Any) -> dict[str, float]:
    """What of some datagrams from h1 to h2 arrives, and how."""
    return scene.lab.datagrams("h1", "h2", count=COUNT, rate=1000, **options)


def test_a_link_that_is_down_carries_nothing_until_it_is_healed(scene: Scene) -> None:
    with scene.fault("down", "h1 -- s1"):
        assert scene.answers("h1", "h2") == 0
        assert scene.reaches("h2", "h3")

    assert scene.reaches("h1", "h2")


def test_one_direction_may_be_down_alone(scene: Scene) -> None:
    with scene.fault("down", "h1 -- s1", ways="forward"):
        heard = scene.settles({"h1": {"h2"}, "h2": set()})

    assert heard == {"h1": {"h2"}, "h2": set()}


def test_a_flapping_link_is_down_and_up_in_turn_and_up_in_the_end(scene: Scene) -> None:
    with scene.runner("flap", "h1 -- s1", 4.0, period="800 ms", duty="50 %"):
        scene.wait_for("fault-applied")
        answered = [one is not None for one in scene.trips(300, wait_s=0.3)]
        scene.wait_for("fault-healed")

    turns = [up for up, _ in groupby(answered)]
    assert turns.count(False) >= 2
    assert turns.count(True) >= 2
    assert scene.reaches("h1", "h2")


def test_a_degraded_link_is_slower_by_what_was_asked(scene: Scene) -> None:
    with scene.fault("degrade", "h1 -- s1", latency="21 ms", ways="forward"):
        assert scene.round_trip("h1", "h2", at_least=24, below=28)

    assert scene.round_trip("h1", "h2", at_least=4, below=8)


def test_jitter_spreads_the_times_of_arrival(scene: Scene) -> None:
    with scene.fault("degrade", "h1 -- s1", latency="30 ms", jitter="10 ms"):
        delays = received(scene)["delay_ms"]

    assert delays["max"] - delays["min"] > 15  # type: ignore[index]


def test_a_narrow_link_takes_its_time(scene: Scene) -> None:
    with scene.fault("degrade", "h1 -- s1", bandwidth="2 Mbps"):
        narrow = received(scene, size=1000)

    bits = (narrow["distinct"] - 1) * 1000 * 8
    assert narrow["distinct"] > 1
    assert narrow["seconds"] >= bits / 2e6


@pytest.mark.parametrize("setting", ["loss", "corrupt"])
def test_a_lossy_or_damaging_link_loses_the_share_that_was_asked(scene: Scene, setting: str) -> None:
    with scene.fault("degrade", "h1 -- s1", **{setting: "30 %"}):
        got = received(scene)["distinct"]

    assert 0.5 * COUNT < got < 0.9 * COUNT
    assert until(lambda: received(scene)["distinct"] == COUNT)


def test_packets_come_twice_or_overtake_each_other_where_that_was_asked(scene: Scene) -> None:
    with scene.fault("degrade", "h1 -- s1", duplicate="20 %", ways="forward"):
        twice = received(scene)["duplicates"]
    with scene.fault("degrade", "h1 -- s1", latency="20 ms", reorder="20 %", ways="forward"):
        overtaken = received(scene)["overtaken"]

    assert 0.05 * COUNT < twice < 0.5 * COUNT
    assert overtaken > 0.02 * COUNT


def test_a_ramp_passes_through_what_lies_between_and_ends_as_planned(scene: Scene) -> None:
    with scene.runner("ramp", "h1 -- s1", 3.0, to={"latency": "101 ms"}, step="50 ms"):
        trips = [one for one in scene.trips(280, wait_s=2) if one is not None]
        scene.wait_for("fault-healed")

    # From 4 ms to 204 ms, and in many steps between.
    assert min(trips) < 100
    assert max(trips) > 120
    assert len({int(one) // 20 for one in trips}) >= 3
    assert scene.round_trip("h1", "h2", at_least=4, below=8)
    assert scene.context.links.settings("h1 -- s1")[0] == STAR["h1 -- s1"]
