"""Packets for tests, built and checked with plain 16-bit sums that share nothing with the code under test."""

from __future__ import annotations

import socket
import struct

VIRTIO = 10
NEEDS_CHECKSUM, TCP_BURST = 1, 1


def slow_sum(data: bytes) -> int:
    """The ones' complement sum, one word after the other."""
    if len(data) % 2:
        data += b"\0"
    total = 0
    for (word,) in struct.iter_unpack("!H", data):
        total += word
        total = (total & 0xFFFF) + (total >> 16)
    return total


def ip_header(source: str, target: str, protocol: int, length: int, number: int = 1) -> bytes:
    ends = socket.inet_aton(source) + socket.inet_aton(target)
    head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + length, number, 0x4000, 64, protocol, 0) + ends
    return head[:10] + struct.pack("!H", 0xFFFF - slow_sum(head)) + head[12:]


def pseudo_header(packet: bytes) -> bytes:
    return packet[12:20] + struct.pack("!HH", packet[9], len(packet) - 20)


def udp(payload: bytes, source: str = "10.0.0.1", target: str = "10.0.0.2", ports: tuple[int, int] = (1, 2)) -> bytes:
    """A datagram whose checksum stands already."""
    body = struct.pack("!HHHH", *ports, 8 + len(payload), 0) + payload
    packet = ip_header(source, target, 17, len(body)) + body
    value = 0xFFFF - slow_sum(pseudo_header(packet) + body) or 0xFFFF
    return bytes(VIRTIO) + packet[:26] + struct.pack("!H", value) + packet[28:]


def tcp_burst(
    payload: bytes, segment: int, *, flags: int = 0x99, sequence: int = 0xFFFFFF00, number: int = 65530
) -> bytes:
    """What a kernel with segmentation offload hands over: CWR, ACK, PSH and FIN set, twelve bytes of options."""
    body = struct.pack("!HHIIBBHHH", 1000, 2000, sequence, 7, 8 << 4, flags, 500, 0, 0) + bytes(range(12)) + payload
    packet = ip_header("10.0.0.1", "10.0.0.2", 6, len(body), number) + body
    partial = slow_sum(pseudo_header(packet))
    packet = packet[:36] + struct.pack("!H", partial) + packet[38:]
    kind = TCP_BURST if len(payload) > segment else 0
    return struct.pack("=BBHHHH", NEEDS_CHECKSUM, kind, 52, segment if kind else 0, 20, 16) + packet


def is_valid(data: bytes) -> bool:
    """Whether the checksums of a finished packet are right, and its length."""
    packet = data[VIRTIO:]
    lengths = int.from_bytes(packet[2:4], "big") == len(packet)
    whole = slow_sum(pseudo_header(packet) + packet[20:]) == 0xFFFF
    return lengths and slow_sum(packet[:20]) == 0xFFFF and whole
