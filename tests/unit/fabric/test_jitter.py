"""Jitter holds its mean and its spread at any packet rate and keeps the order, on a clock of the test's own."""

from __future__ import annotations

import math
from itertools import pairwise
from statistics import fmean, pstdev

import pytest

from stream2gym.fabric.userspace.direction import LinkDirection
from stream2gym.fabric.userspace.jitter import JitterCurve
from stream2gym.link import JitterShape, LinkSettings
from tests.unit.fabric.packets import udp

MS = 1_000_000
SECOND = 1_000 * MS
PACKET = udp(bytes(100))


def delays_ms(settings: LinkSettings, rate: float, seconds: float, seed: int = 1) -> list[float]:
    """What packets at this rate are delayed by; fails when one overtakes another."""
    direction = LinkDirection("a -- b", "forward", settings, seed=seed)
    sent = [round(number * SECOND / rate) for number in range(round(rate * seconds))]
    arrived = [direction.carry(at, 0, PACKET, 1, len(PACKET) - 10)[0][0] for at in sent]
    assert all(before <= after for before, after in pairwise(arrived))
    return [(there - here) / MS for here, there in zip(sent, arrived, strict=True)]


@pytest.mark.parametrize("rate", [10, 1_000, 10_000])
@pytest.mark.parametrize(("shape", "deviation"), [("normal", 5.0), ("uniform", 5 / math.sqrt(3))])
def test_mean_and_spread_hold_at_any_packet_rate(shape: JitterShape, deviation: float, rate: float) -> None:
    settings = LinkSettings(latency_ms=20, jitter_ms=5, jitter_shape=shape)
    delays = delays_ms(settings, rate, seconds=30)
    assert fmean(delays) == pytest.approx(20, abs=1)
    assert pstdev(delays) == pytest.approx(deviation, rel=0.1)


@pytest.mark.parametrize(("rate", "seconds"), [(10, 300), (1_000, 30), (10_000, 12)])
def test_the_long_tail_of_pareto_holds_its_mean_and_spread_at_any_packet_rate(rate: float, seconds: float) -> None:
    """Few values decide its spread, so it needs more knots than the others."""
    settings = LinkSettings(latency_ms=4, jitter_ms=1, jitter_shape="pareto")
    delays = delays_ms(settings, rate, seconds)
    assert fmean(delays) == pytest.approx(4, abs=0.2)
    assert pstdev(delays) == pytest.approx(1, rel=0.1)
    assert min(delays) > 4 - 0.7
    assert max(delays) > 4 + 5


@pytest.mark.parametrize(("shape", "within"), [("normal", 0.683), ("uniform", 1.0)])
def test_jitter_has_its_shape(shape: JitterShape, within: float) -> None:
    delays = delays_ms(LinkSettings(latency_ms=20, jitter_ms=2, jitter_shape=shape), 100, seconds=200)
    assert sum(abs(delay - 20) <= 2 for delay in delays) / len(delays) == pytest.approx(within, abs=0.01)
    if shape == "uniform":
        assert sum(abs(delay - 20) <= 1 for delay in delays) / len(delays) == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("shape", ["normal", "uniform"])
def test_no_packet_has_to_wait_for_the_one_before_it(shape: JitterShape, seed: int) -> None:
    curve = JitterCurve(shape, 5 * MS, seed)
    arrivals = [at + curve.at(at) for at in range(0, 100 * SECOND, MS)]
    assert all(before < after for before, after in pairwise(arrivals))


def test_a_seed_repeats_its_curve_whatever_packets_ask_for_it() -> None:
    dense, sparse, other = (
        JitterCurve("normal", MS, 7),
        JitterCurve("normal", MS, 7),
        JitterCurve("normal", MS, 8),
    )
    every = {at: dense.at(at) for at in range(0, SECOND, MS)}
    some = {at: sparse.at(at) for at in range(0, SECOND, 37 * MS)}
    assert all(every[at] == value for at, value in some.items())
    assert any(other.at(at) != value for at, value in some.items())


def test_a_change_of_latency_leaves_the_curve_as_it_is() -> None:
    steady = LinkDirection("a -- b", "forward", LinkSettings(latency_ms=20, jitter_ms=2), seed=1)
    changed = LinkDirection("a -- b", "forward", LinkSettings(latency_ms=20, jitter_ms=2), seed=1)
    for number in range(100):
        changed.apply(LinkSettings(latency_ms=20 + number, jitter_ms=2))
        at = number * 10 * MS
        one = steady.carry(at, 0, PACKET, 1, 128)[0][0]
        assert changed.carry(at, 0, PACKET, 1, 128)[0][0] - one == number * MS


def test_a_delay_is_never_negative() -> None:
    assert min(delays_ms(LinkSettings(latency_ms=1, jitter_ms=5), 1_000, seconds=10)) == 0
