"""The lateness histogram and capture files."""

from __future__ import annotations

import io
import struct

from stream2gym.fabric.userspace.lateness import BOUNDS_US, LatenessCounter
from stream2gym.fabric.userspace.packet import Burst, wire_packets
from stream2gym.fabric.userspace.pcap import PcapWriter
from tests.unit.fabric.packets import VIRTIO, is_valid, tcp_burst


def test_a_packet_is_counted_in_the_bucket_of_its_lateness() -> None:
    for late_us in (0.5, 10, 100, 999, 5_000, 40_000, 1_000_000):
        counter = LatenessCounter()
        counter.add(int(late_us * 1e3))
        seen = counter.snapshot()
        place = seen.counts.index(1)
        assert sum(seen.counts) == 1
        assert late_us <= BOUNDS_US[place] * 1.02 + 4
        assert place == 0 or late_us >= BOUNDS_US[place - 1] * 0.98 - 4
        assert seen.max_us == late_us


def test_absurd_lateness_falls_into_the_last_bucket() -> None:
    counter = LatenessCounter()
    counter.add(10**12)
    assert counter.snapshot().counts[-1] == 1


def test_a_capture_holds_valid_packets_of_the_wire() -> None:
    data = tcp_burst(bytes(range(256)) * 20, 1448)
    file = io.BytesIO()
    PcapWriter(file).write(5_000_000_000, Burst(data, VIRTIO, *wire_packets(data, VIRTIO)), VIRTIO)
    content = file.getvalue()
    assert struct.unpack_from("=IHH", content) == (0xA1B23C4D, 2, 4)
    assert struct.unpack_from("=I", content, 20) == (101,)
    at, sizes = 24, []
    while at < len(content):
        _, nanoseconds, stored, original = struct.unpack_from("=IIII", content, at)
        assert nanoseconds < 1_000_000_000
        assert stored == original
        assert is_valid(bytes(VIRTIO) + content[at + 16 : at + 16 + stored])
        sizes.append(stored)
        at += 16 + stored
    assert sizes == [1500, 1500, 1500, 5120 - 3 * 1448 + 52]
