"""What a link promises, whatever moves the packets: loss, duplicates, order and damage."""

from __future__ import annotations

import math
from statistics import quantiles

import pytest

from stream2gym.link import Bursts, LinkSettings
from tests.contract.conftest import Build

COUNT, RATE = 6000, 12_000


def inside(count: int, share: float, total: int = COUNT) -> bool:
    """Whether a count lies within the 99.9 % interval of its setting."""
    return abs(count - total * share) <= 3.29 * math.sqrt(total * share * (1 - share)) + 1


def middle_and_deviation(delays_ms: list[float]) -> tuple[float, float]:
    """The median, and the standard deviation of a normal distribution with these quartiles.

    A program that the machine kept waiting sees packets late; that moves a mean, but hardly the middle.
    """
    low, middle, high = quantiles(delays_ms, n=4)
    return middle, (high - low) / 1.349


@pytest.mark.parametrize("share", [0.01, 0.1])
def test_as_many_packets_are_lost_as_asked(lab: Build, share: float) -> None:
    running = lab({"h1 -- h2": (LinkSettings(loss=share), LinkSettings())})
    seen = running.datagrams("h1", "h2", count=COUNT, rate=RATE)
    lost = COUNT - seen["distinct"]
    assert inside(lost, share)
    assert running.counters("h1 -- h2").dropped == {"loss": lost}
    back = running.datagrams("h2", "h1", count=1000, rate=RATE)
    assert back["distinct"] == 1000


def test_losses_come_in_bursts_when_asked(lab: Build) -> None:
    running = lab({"h1 -- h2": LinkSettings(bursts=Bursts(to_bad=0.02, to_good=0.2))})
    seen = running.datagrams("h1", "h2", count=COUNT, rate=RATE, list=True)
    arrived = set(seen["numbers"])
    lost = [number for number in range(COUNT) if number not in arrived]
    runs = sum(number - 1 not in set(lost) for number in lost)
    assert len(lost) / COUNT == pytest.approx(0.02 / 0.22, rel=0.4)
    assert len(lost) / runs == pytest.approx(5, rel=0.4)


@pytest.mark.every_device
def test_a_seed_repeats_its_losses_with_offload_on_and_off(lab: Build) -> None:
    def arrived(seed: int, offload: bool) -> list[int]:
        running = lab({"h1 -- h2": LinkSettings(loss=0.1)}, seed=seed, offload=offload)
        numbers: list[int] = running.datagrams("h1", "h2", count=1000, rate=RATE, list=True)["numbers"]
        return numbers

    once = arrived(1, True)
    assert once == arrived(1, True) == arrived(1, False)
    assert once != arrived(2, True)


def test_duplicates_come_as_often_as_asked(lab: Build) -> None:
    running = lab({"h1 -- h2": LinkSettings(duplicate=0.05)})
    seen = running.datagrams("h1", "h2", count=COUNT, rate=RATE)
    assert seen["distinct"] == COUNT
    assert inside(seen["duplicates"], 0.05)
    assert running.counters("h1 -- h2").duplicated == seen["duplicates"]


def test_packets_overtake_only_when_asked(lab: Build) -> None:
    running = lab({"h1 -- h2": LinkSettings(latency_ms=5, jitter_ms=2)})
    orderly = running.datagrams("h1", "h2", count=2000, rate=4000)
    assert (orderly["distinct"], orderly["overtaken"]) == (2000, 0)
    running.fabric.set_link("h1 -- h2", forward=LinkSettings(latency_ms=5, reorder=0.05))
    hasty = running.datagrams("h1", "h2", count=COUNT, rate=RATE)
    assert hasty["distinct"] == COUNT
    assert inside(running.counters("h1 -- h2").reordered, 0.05)
    assert hasty["overtaken"] > 0.05 * COUNT
    assert hasty["delay_ms"]["min"] < 1


@pytest.mark.parametrize("shape", ["normal", "uniform", "pareto"])
def test_jitter_spreads_the_latency(lab: Build, shape: str) -> None:
    settings = LinkSettings(latency_ms=20, jitter_ms=2, jitter_shape=shape)  # type: ignore[arg-type]
    running = lab({"h1 -- h2": settings})
    seen = running.datagrams("h1", "h2", count=60, rate=60)
    spread = 2 / math.sqrt(3) if shape == "uniform" else 2
    assert seen["delay_ms"]["p50"] == pytest.approx(20, abs=3)
    assert 20 - 4 * spread < seen["delay_ms"]["min"] < 20 - spread / 3


def test_jitter_holds_its_mean_and_its_spread_when_packets_come_fast(lab: Build) -> None:
    steady, spread = LinkSettings(latency_ms=20), LinkSettings(latency_ms=20, jitter_ms=3)
    running = lab({"h1 -- h2": spread, "h3 -- h4": steady})
    usual, _ = middle_and_deviation(running.datagrams("h3", "h4", count=2500, rate=2500, list=True)["delays_ms"])
    seen = running.datagrams("h1", "h2", count=10_000, rate=2500, list=True)
    assert (seen["distinct"], seen["overtaken"]) == (10_000, 0)
    middle, deviation = middle_and_deviation(seen["delays_ms"])
    assert middle == pytest.approx(usual, abs=1.5)
    assert deviation == pytest.approx(3, rel=0.3)


@pytest.mark.long
def test_jitter_holds_its_mean_and_its_spread_at_any_packet_rate(lab: Build) -> None:
    rates, seconds = (10, 1_000, 10_000), 30
    links = {f"h{number} -- h{number + 5}": LinkSettings(latency_ms=20, jitter_ms=5) for number in (1, 2, 3)}
    running = lab({**links, "h4 -- h9": LinkSettings(latency_ms=20)})
    for number, rate in enumerate(rates, 1):
        # What programs on this machine see at this rate without jitter.
        steady = running.datagrams("h4", "h9", count=5 * rate, rate=rate, list=True)
        usual, _ = middle_and_deviation(steady["delays_ms"])
        seen = running.datagrams(f"h{number}", f"h{number + 5}", count=rate * seconds, rate=rate, list=True)
        assert (seen["distinct"], seen["overtaken"]) == (rate * seconds, 0)
        middle, deviation = middle_and_deviation(seen["delays_ms"])
        assert middle == pytest.approx(usual, abs=1)
        # Quartiles of 300 values, or of 750 knots, are not more exact than this.
        assert deviation == pytest.approx(5, rel=0.2)


@pytest.mark.every_device
def test_a_damaged_packet_never_reaches_a_program(lab: Build) -> None:
    running = lab({"h1 -- h2": LinkSettings(corrupt=0.1)})
    seen = running.datagrams("h1", "h2", count=2000, rate=RATE, size=500)
    counters = running.counters("h1 -- h2")
    assert inside(counters.corrupted, 0.1, 2000)
    assert seen["distinct"] == 2000 - counters.corrupted
    assert counters.delivered_packets == 2000


@pytest.mark.every_device
@pytest.mark.parametrize("offload", [True, False])
def test_a_stream_survives_a_bad_link_byte_by_byte(lab: Build, offload: bool) -> None:
    bad = LinkSettings(latency_ms=0.5, loss=0.01, corrupt=0.01, duplicate=0.01, reorder=0.01)
    running = lab({"h1 -- h2": bad}, offload=offload)
    receiver = running.server("h2", "tcp-receive")
    sender = running.client("tcp-send", "h1", "h2", bytes=2_000_000)
    receiver.result()
    assert sender.result()["bytes"] == 2_000_000
    counters = running.counters("h1 -- h2")
    assert inside(counters.dropped["loss"], 0.01, counters.entered_packets)
    assert inside(counters.corrupted, 0.01, counters.entered_packets)


@pytest.mark.every_device
def test_a_queue_means_the_same_with_offload_on_and_off(lab: Build) -> None:
    speeds, deepest = [], []
    for offload in (True, False):
        settings = LinkSettings(latency_ms=1, bandwidth_bps=20e6, queue_packets=40)
        running = lab({"h1 -- h2": settings}, offload=offload)
        speeds.append(running.goodput_mbps("h1", "h2", 1.0))
        counters = running.counters("h1 -- h2")
        assert counters.dropped["queue"] > 0
        deepest.append(counters.queue_bytes_max)
    assert speeds == pytest.approx([20 * 1448 / 1500] * 2, rel=0.1)
    assert all(58_000 <= octets <= 41 * 1500 + 9 * 1500 for octets in deepest)
