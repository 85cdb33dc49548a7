"""What faults of the whole network do: partitions of every shape, isolated hosts, dead switches, moves, loops."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from stream2gym.link import LinkSettings
from tests.support.network import Lab, network
from tests.system.faults.scene import Scene, everyone, until

HOSTS = ("h1", "h2", "h3", "h4", "h5")
RING = ("s1 -- s2", "s2 -- s3", "s3 -- s4", "s4 -- s1", "h1 -- s1", "h2 -- s2", "h3 -- s3")


def groups(*parts: str) -> dict[str, set[str]]:
    """Who hears whom when each group hears itself alone."""
    return {host: {*part.split()} - {host} for part in parts for host in part.split()}


@pytest.mark.parametrize(
    ("settings", "wanted"),
    [
        ({"groups": [["h1", "h2"], ["h3", "h4", "h5"]]}, groups("h1 h2", "h3 h4 h5")),
        ({"groups": [["h1"], ["h2"]]}, everyone(HOSTS) | {"h1": {"h3", "h4", "h5"}, "h2": {"h3", "h4", "h5"}}),
        ({"shape": "halves"}, groups("h1 h2", "h3 h4 h5")),
        ({"shape": "majority"}, groups("h1 h2", "h3 h4 h5")),
        (
            {"shape": "ring"},  # each sees a majority, and each another one
            {"h1": {"h5", "h2"}, "h2": {"h1", "h3"}, "h3": {"h2", "h4"}, "h4": {"h3", "h5"}, "h5": {"h4", "h1"}},
        ),
        (
            {"shape": "bridge", "bridge": "h3"},
            {"h1": {"h2", "h3"}, "h2": {"h1", "h3"}, "h3": {"h1", "h2", "h4", "h5"}, "h4": {"h3", "h5"},
             "h5": {"h3", "h4"}},
        ),
        (  # what h1 and h2 say reaches nobody else, they hear everybody
            {"groups": [["h1", "h2"], ["h3", "h4", "h5"]], "one_way": True},
            {"h1": {"h2", "h3", "h4", "h5"}, "h2": {"h1", "h3", "h4", "h5"}, "h3": {"h4", "h5"}, "h4": {"h3", "h5"},
             "h5": {"h3", "h4"}},
        ),
    ],
    ids=["groups", "two hosts", "halves", "majority", "ring", "bridge", "one way"],
)  # fmt: skip
def test_a_partition_lets_through_what_its_shape_says(
    scene: Scene, settings: dict[str, object], wanted: dict[str, set[str]]
) -> None:
    hit = () if "groups" in settings else HOSTS
    with scene.fault("partition", *hit, **settings):
        parted = scene.settles(wanted)

    assert parted == wanted


def test_after_a_partition_everybody_hears_everybody(scene: Scene) -> None:
    with scene.fault("partition", *HOSTS, shape="majority"):
        pass

    assert scene.settles(everyone(HOSTS)) == everyone(HOSTS)


@pytest.mark.parametrize(
    ("ways", "hears", "is_heard"), [("both", False, False), ("in", False, True), ("out", True, False)]
)
def test_an_isolated_host_is_deaf_dumb_or_both(scene: Scene, ways: str, hears: bool, is_heard: bool) -> None:
    others = {"h2", "h3"}
    wanted = {host: (others - {host}) | ({"h1"} if is_heard else set()) for host in others}
    wanted["h1"] = others if hears else set()

    with scene.fault("isolate", "h1", ways=ways):
        assert scene.settles(wanted) == wanted


def test_hosts_at_a_dead_switch_reach_nobody(scene: Scene) -> None:
    silence: dict[str, set[str]] = {host: set() for host in HOSTS}
    with scene.fault("switch-down", "s1"):
        assert scene.hears(HOSTS) == silence

    assert scene.settles(everyone(HOSTS)) == everyone(HOSTS)


def test_a_host_that_moved_is_farther_away_and_comes_back(scene: Scene) -> None:
    with scene.fault("move", "h1", to="s2"):
        assert scene.round_trip("h1", "h2", at_least=14, below=18)

    assert scene.round_trip("h1", "h2", at_least=4, below=8)


@contextmanager
def ring(reconverge_ms: float | None) -> Iterator[Scene]:
    """Four switches in a loop, 2 ms a link: h1 to h2 is three links, and five the other way round."""
    with Lab(network({name: LinkSettings(latency_ms=2) for name in RING}, reconverge_ms=reconverge_ms)) as lab:
        yield Scene(lab)


def test_on_a_loop_whose_routes_stay_a_cut_is_a_cut() -> None:
    with ring(None) as scene:
        assert scene.round_trip("h1", "h2", at_least=12, below=16)
        with scene.fault("down", "s1 -- s2"):
            assert scene.answers("h1", "h2") == 0
            assert scene.reaches("h2", "h3")
        assert scene.reaches("h1", "h2")
        with scene.fault("switch-down", "s2"):
            assert scene.answers("h1", "h2") == 0


def test_on_a_loop_whose_routes_are_chosen_anew_packets_go_the_other_way_round() -> None:
    with ring(50) as scene:
        assert scene.round_trip("h1", "h2", at_least=12, below=16)
        with scene.fault("down", "s1 -- s2"):
            assert until(lambda: scene.answers("h1", "h2") == 5)
            assert scene.round_trip("h1", "h2", at_least=20, below=24)
        assert until(lambda: scene.lab.ping("h1", "h2", count=10, interval_ms=5)["rtt_ms"]["min"] < 16)


def test_a_dead_switch_on_a_loop_is_gone_around() -> None:
    with ring(50) as scene:
        for switch, way_round in (("s4", "s1 -- s2"), ("s2", "s4 -- s1")):
            with scene.fault("switch-down", switch):
                assert until(lambda: scene.answers("h1", "h3") == 5)
                used = sum(scene.lab.counters(way_round, way).delivered_packets for way in ("forward", "backward"))
                assert used >= 10
                if switch == "s2":
                    assert scene.answers("h1", "h2") == 0
            assert until(lambda: scene.answers("h1", "h2") == 5)
