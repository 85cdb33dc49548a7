"""Bursts are measured, cut and finished as a network card would."""

from __future__ import annotations

import os
import struct

import pytest

from stream2gym.fabric.userspace.packet import (
    Burst,
    checksum,
    corrupted,
    finished,
    flow_number,
    unreachable,
    wire_packets,
)
from tests.unit.fabric.packets import NEEDS_CHECKSUM, VIRTIO, is_valid, pseudo_header, slow_sum, tcp_burst, udp

IP = VIRTIO


@pytest.mark.parametrize("data", [b"", b"\0\0", b"\xff\xff", b"\x01", b"\x00\x01\xff", bytes(range(256))])
def test_the_quick_checksum_equals_the_slow_one(data: bytes) -> None:
    assert checksum(data) == 0xFFFF - slow_sum(data)


def test_the_quick_checksum_equals_the_slow_one_for_random_bytes() -> None:
    for length in range(200):
        data = os.urandom(length)
        assert checksum(data) == 0xFFFF - slow_sum(data)


def test_a_burst_counts_as_its_packets_on_the_wire() -> None:
    data = tcp_burst(bytes(3 * 1448 + 1), 1448)
    assert wire_packets(data, IP) == (4, 3 * 1448 + 1 + 4 * 52)


def test_single_packets_cut_from_a_burst_are_what_the_wire_would_show() -> None:
    payload = os.urandom(5 * 1448 + 100)
    data = tcp_burst(payload, 1448)
    burst = Burst(data, IP, *wire_packets(data, IP))
    got = b""
    for number in range(burst.count):
        piece = burst.piece(number, number + 1)
        assert piece[:2] == bytes([NEEDS_CHECKSUM, 0])
        assert len(piece) - IP == burst.bytes_of(number, number + 1)
        packet = finished(piece, IP)
        assert is_valid(packet)
        assert packet[:VIRTIO] == bytes(VIRTIO)
        identity, sequence = (
            struct.unpack_from("!H", packet, IP + 4)[0],
            struct.unpack_from("!I", packet, IP + 24)[0],
        )
        assert identity == (65530 + number) % 65536
        assert sequence == (0xFFFFFF00 + number * 1448) % 2**32
        flags = packet[IP + 33]
        assert bool(flags & 0x80) == (number == 0)
        assert bool(flags & 0x09) == (number == burst.count - 1)
        assert flags & 0x10
        got += packet[IP + 52 :]
    assert got == payload


def test_pieces_of_a_burst_are_smaller_bursts() -> None:
    payload = os.urandom(10 * 1000 + 1)
    data = tcp_burst(payload, 1000)
    burst = Burst(data, IP, *wire_packets(data, IP))
    pieces = [burst.piece(0, 4), burst.piece(4, 8), burst.piece(8, 11)]
    assert [wire_packets(piece, IP)[0] for piece in pieces] == [4, 4, 3]
    assert b"".join(piece[IP + 52 :] for piece in pieces) == payload
    for piece, size in zip(pieces, (burst.bytes_of(0, 4), burst.bytes_of(4, 8), burst.bytes_of(8, 11)), strict=True):
        assert wire_packets(piece, IP)[1] == size
        packet = piece[IP:]
        assert slow_sum(packet[:20]) == 0xFFFF
        assert int.from_bytes(packet[36:38], "big") == slow_sum(pseudo_header(packet))
        assert piece[1] == data[1]


def test_an_uncut_burst_is_handed_on_as_it_is() -> None:
    data = tcp_burst(bytes(5000), 1448)
    burst = Burst(data, IP, *wire_packets(data, IP))
    assert burst.piece(0, burst.count) is data


def test_a_flipped_bit_is_in_the_payload_and_breaks_the_checksum() -> None:
    for data in (tcp_burst(os.urandom(100), 1448), udp(os.urandom(100))):
        for draw in (0.0, 0.5, 0.999999):
            whole, damaged = finished(data, IP), corrupted(data, IP, draw)
            assert is_valid(whole)
            assert not is_valid(damaged)
            differing = [place for place in range(len(whole)) if whole[place] != damaged[place]]
            assert len(differing) == 1
            assert differing[0] >= len(data) - 100
            assert damaged[0] == 0


def test_a_packet_without_payload_is_damaged_in_its_transport_header() -> None:
    damaged = corrupted(tcp_burst(b"", 1448), IP, 0.3)
    assert not is_valid(damaged)
    assert slow_sum(damaged[IP : IP + 20]) == 0xFFFF


def test_packets_of_a_flow_share_their_number_and_others_differ() -> None:
    one, again = udp(b"a", ports=(5, 6)), udp(b"other", ports=(5, 6))
    assert flow_number(one, IP) == flow_number(again, IP)
    assert flow_number(one, IP) != flow_number(udp(b"a", ports=(7, 6)), IP)


def test_fragments_of_a_datagram_share_their_number() -> None:
    first, later = bytearray(udp(b"abcdefgh")), bytearray(udp(b"ijklmnop"))
    struct.pack_into("!H", first, IP + 6, 0x2000)
    struct.pack_into("!H", later, IP + 6, 0x0001)
    later[IP + 20 : IP + 24] = b"\1\2\3\4"
    assert flow_number(bytes(first), IP) == flow_number(bytes(later), IP)


def test_an_unreachable_host_is_answered_for() -> None:
    asked = udp(b"hello")
    answer = unreachable(asked, IP)
    assert answer is not None
    packet = answer[IP:]
    assert packet[9] == 1
    assert slow_sum(packet[:20]) == 0xFFFF
    assert slow_sum(packet[20:]) == 0xFFFF
    assert packet[16:20] == asked[IP + 12 : IP + 16]
    assert packet[28:56] == asked[IP : IP + 28]


@pytest.mark.parametrize("target", ["224.0.0.22", "255.255.255.255", "10.255.255.255", "0.0.0.0"])
def test_nobody_answers_for_groups_and_broadcasts(target: str) -> None:
    assert unreachable(udp(b"x", target=target), IP) is None
