"""What one direction of a link does to packets, on a clock that only the test moves."""

from __future__ import annotations

import pytest

from stream2gym.fabric.protocol import LinkCounters
from stream2gym.fabric.userspace.direction import LinkDirection, Piece
from stream2gym.fabric.userspace.packet import wire_packets
from stream2gym.link import LinkSettings
from tests.unit.fabric.packets import VIRTIO, tcp_burst, udp

MS = 1_000_000
PACKET = udp(bytes(1472))  # 1500 bytes on the wire
BURST = tcp_burst(bytes(1448 * 40), 1448)  # 40 packets of 1500 bytes


def link(seed: int = 1, **settings: object) -> LinkDirection:
    return LinkDirection("a -- b", "forward", LinkSettings(**settings), seed=seed)  # type: ignore[arg-type]


def send(direction: LinkDirection, now: int, data: bytes = PACKET, hold: int = 0) -> list[Piece]:
    count, size = wire_packets(data, VIRTIO) if data[1] else (1, len(data) - VIRTIO)
    direction.entered_packets += count
    direction.entered_bytes += size
    return list(direction.carry(now, hold, data, count, size))


def arrivals(pieces: list[Piece]) -> list[int]:
    """When each piece is complete."""
    return [first + hold for first, hold, _, _, _ in pieces]


def test_latency_is_added() -> None:
    assert arrivals(send(link(latency_ms=5), 100)) == [100 + 5 * MS]


def test_serialisation_takes_its_time_and_packets_wait_for_each_other() -> None:
    direction = link(bandwidth_bps=12e6, latency_ms=1)  # one packet a millisecond
    assert [arrivals(send(direction, 0))[0] for _ in range(3)] == [2 * MS, 3 * MS, 4 * MS]
    assert arrivals(send(direction, 10 * MS)) == [12 * MS]


def test_a_full_queue_drops_the_newcomer() -> None:
    direction = link(bandwidth_bps=12e6, queue_packets=3)
    kept = [len(send(direction, 0)) for _ in range(6)]
    assert kept == [1, 1, 1, 1, 0, 0]  # one on the wire and three waiting
    assert direction.dropped == {"queue": 2}
    assert len(send(direction, 1 * MS)) == 1


@pytest.mark.parametrize(("mbps", "latency", "packets"), [(1, 0, 50), (100, 1, 167), (100, 20, 333), (1000, 1, 1000)])
def test_a_queue_that_nobody_sized_suits_the_link(mbps: float, latency: float, packets: int) -> None:
    direction = link(bandwidth_bps=mbps * 1e6, latency_ms=latency)
    assert sum(len(send(direction, 0)) for _ in range(2000)) == packets + 1


def test_a_queue_may_be_bounded_in_bytes() -> None:
    direction = link(bandwidth_bps=12e6, queue_packets=None, queue_bytes=3100)
    assert [len(send(direction, 0)) for _ in range(4)] == [1, 1, 0, 0]
    small = udp(bytes(72))
    assert len(send(direction, 0, small)) == 1


def test_a_burst_fills_the_queue_packet_by_packet() -> None:
    direction = link(bandwidth_bps=12e6, queue_packets=9)
    pieces = send(direction, 0, BURST)
    assert sum(count for _, _, _, count, _ in pieces) == 10
    assert direction.dropped == {"queue": 30}


def test_a_burst_and_single_packets_meet_the_same_queue() -> None:
    whole, apart = (link(bandwidth_bps=100e6, queue_packets=100) for _ in range(2))
    for now in range(0, 40 * MS, 2 * MS):
        send(whole, now, BURST)
        for _ in range(40):
            send(apart, now)
    assert abs(whole.dropped["queue"] - apart.dropped["queue"]) <= 1


def test_no_piece_of_a_burst_holds_the_link_longer_than_a_millisecond() -> None:
    direction = link(bandwidth_bps=100e6)
    pieces = send(direction, 0, BURST)
    assert len(pieces) == 5
    assert all(size * 8 / 100e6 <= 1e-3 for _, _, _, _, size in pieces)
    assert arrivals(pieces)[-1] == pytest.approx(40 * 1500 * 8 / 100e6 * 1e9, abs=100)
    fast = link(bandwidth_bps=1e9)
    assert len(send(fast, 0, BURST)) == 1


def test_a_slow_link_sends_a_burst_packet_by_packet() -> None:
    pieces = send(link(bandwidth_bps=1e6), 0, BURST)
    assert [count for _, _, _, count, _ in pieces] == [1] * 40


def test_loss_hits_the_same_packets_of_the_wire_in_bursts_and_alone() -> None:
    whole, apart = link(loss=0.1), link(loss=0.1)
    survivors = [sum(count for _, _, _, count, _ in send(whole, now, BURST)) for now in range(20)]
    singles = [sum(len(send(apart, now)) for _ in range(40)) for now in range(20)]
    assert survivors == singles
    assert whole.dropped == apart.dropped


def test_a_seed_repeats_its_pattern_and_another_does_not() -> None:
    def pattern(seed: int) -> list[int]:
        direction = link(seed, loss=0.2)
        return [len(send(direction, now)) for now in range(300)]

    assert pattern(1) == pattern(1)
    assert pattern(1) != pattern(2)


def test_asking_for_duplicates_leaves_the_losses_as_they_were() -> None:
    plain, doubling = link(loss=0.1), link(loss=0.1, duplicate=0.5)
    for now in range(500):
        send(plain, now)
        send(doubling, now)
    assert plain.dropped == doubling.dropped


def test_a_duplicate_is_counted_as_entered() -> None:
    direction = link(duplicate=1.0)
    assert len(send(direction, 0)) == 2
    assert (direction.entered_packets, direction.duplicated, direction.entered_bytes) == (2, 1, 3000)


def test_a_reordered_packet_skips_the_latency() -> None:
    direction = link(latency_ms=10, reorder=1.0)
    assert arrivals(send(direction, 5)) == [5]
    assert direction.reordered == 1


def test_jitter_never_reorders() -> None:
    for shape in ("normal", "uniform", "pareto"):
        direction = link(latency_ms=10, jitter_ms=8, jitter_shape=shape)
        times = [arrivals(send(direction, now * MS // 2))[0] for now in range(1000)]
        assert times == sorted(times)
        assert len(set(times)) > 20


def test_packets_larger_than_the_mtu_are_dropped() -> None:
    direction = link(mtu=1000)
    assert send(direction, 0) == []
    assert len(send(direction, 0, udp(bytes(972)))) == 1
    assert send(direction, 0, BURST) == []
    assert direction.dropped == {"mtu": 41}


def test_the_small_end_of_a_burst_fits_a_small_mtu() -> None:
    direction = link(mtu=1000)
    pieces = send(direction, 0, tcp_burst(bytes(1448 * 2 + 10), 1448))
    assert [size for _, _, _, _, size in pieces] == [62]
    assert direction.dropped == {"mtu": 2}


def test_a_cut_drops_what_enters_and_heals() -> None:
    direction = link(latency_ms=1)
    direction.cut(True)
    assert send(direction, 0) == []
    assert direction.dropped == {"down": 1}
    direction.cut(False)
    assert len(send(direction, 0)) == 1


def test_settings_that_change_during_a_cut_do_not_end_it() -> None:
    direction = link()
    direction.cut(True)
    direction.apply(LinkSettings(latency_ms=3))
    assert send(direction, 0) == []


def test_nothing_overtakes_when_latency_falls_or_bandwidth_grows() -> None:
    direction = link(latency_ms=50, bandwidth_bps=12e6)
    first = arrivals(send(direction, 0))[0]
    direction.apply(LinkSettings(latency_ms=1))
    second = arrivals(send(direction, 1000))[0]
    assert second >= first
    assert arrivals(send(direction, 60 * MS)) == [61 * MS]


def test_a_change_of_latency_leaves_the_loss_pattern_alone() -> None:
    steady, changing = link(loss=0.1), link(loss=0.1)
    fates = [len(send(steady, now)) for now in range(200)]
    changed = []
    for now in range(200):
        changing.apply(LinkSettings(loss=0.1, latency_ms=now / 100))
        changed.append(len(send(changing, now)))
    assert changed == fates


def test_entered_is_delivered_and_dropped_whatever_happens() -> None:
    direction = link(
        loss=0.1, duplicate=0.1, reorder=0.1, corrupt=0.1, bandwidth_bps=400e6, queue_packets=30, latency_ms=1
    )
    arrived = 0
    for now in range(0, 300 * MS, MS):
        arrived += sum(count for _, _, _, count, _ in send(direction, now, BURST))
        arrived += sum(count for _, _, _, count, _ in send(direction, now))
    counters = LinkCounters(*direction.row(0, 301 * MS))
    assert set(counters.dropped) == {"loss", "queue"}
    assert counters.entered_packets == arrived + sum(counters.dropped.values())
    assert counters.entered_packets == 300 * 41 + counters.duplicated
    assert counters.queue_bytes == 0
    assert counters.queue_bytes_max > 0
