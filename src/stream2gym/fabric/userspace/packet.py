"""Packets as devices deliver them: a virtio header, an Ethernet header with veth, then IPv4. Pure.

``ip`` is always the offset of the IPv4 header. Segmentation offload makes *bursts*: one packet of up to 64 KB that
represents many packets of the wire. Links count packets of the wire. Therefore a burst can be measured, and divided
between any two of its wire packets.
"""

from __future__ import annotations

import struct
from binascii import crc32

VIRTIO_BYTES = 10
# Flags, GSO type, header length, GSO size, checksum start, checksum offset.
_VIRTIO = struct.Struct("=BBHHHH")
_NEEDS_CHECKSUM = 1
_FIN, _PSH, _CWR = 0x01, 0x08, 0x80
_ICMP, _TCP, _UDP = 1, 6, 17
# All bits of the fragment field except "don't fragment".
_MORE_OR_OFFSET = 0x3FFF


def checksum(data: bytes | bytearray | memoryview) -> int:
    """The Internet checksum: the ones' complement sum of 16-bit digits, which is the number modulo 65535."""
    number = int.from_bytes(data, "big")
    if len(data) % 2:
        number <<= 8
    return 0xFFFF - (number % 0xFFFF or (0xFFFF if number else 0))


def wire_packets(data: bytes, ip: int) -> tuple[int, int]:
    """How many wire packets a burst represents, and their bytes with IP headers."""
    gso_size = int.from_bytes(data[4:6], "little")
    header = _header_bytes(data, ip)
    payload = len(data) - ip - header
    count = max(1, -(-payload // gso_size))
    return count, payload + count * header


def _header_bytes(data: bytes, ip: int) -> int:
    internet = (data[ip] & 15) << 2
    return internet + (data[ip + internet + 12] >> 4 << 2)


class Burst:
    """One packet of a device, seen as a row of wire packets that are numbered from 0."""

    __slots__ = ("_data", "_header", "_ip", "_segment", "count", "size")

    def __init__(self, data: bytes, ip: int, count: int, size: int) -> None:
        self._data = data
        self._ip = ip
        self.count = count
        self.size = size
        if count == 1:
            self._header = 0
            self._segment = size
        else:
            self._header = _header_bytes(data, ip)
            self._segment = int.from_bytes(data[4:6], "little")

    @property
    def largest(self) -> int:
        """The size of the largest wire packet in bytes."""
        return self._header + self._segment

    def bytes_of(self, first: int, last: int) -> int:
        """The bytes on the wire of the packets from ``first`` to before ``last``."""
        if last < self.count:
            return (last - first) * (self._header + self._segment)
        return self.size - first * (self._header + self._segment)

    def piece(self, first: int, last: int) -> bytes:
        """The packets from ``first`` to before ``last``, as one packet for a device."""
        if first == 0 and last == self.count:
            return self._data
        data, ip, segment = self._data, self._ip, self._segment
        start = ip + self._header
        payload = data[start + first * segment : start + last * segment]
        head = bytearray(data[:start])
        transport = ip + ((data[ip] & 15) << 2)
        length = self._header + len(payload)
        struct.pack_into("!HH", head, ip + 2, length, (int.from_bytes(data[ip + 4 : ip + 6], "big") + first) & 0xFFFF)
        head[ip + 10 : ip + 12] = b"\0\0"
        struct.pack_into("!H", head, ip + 10, checksum(head[ip:transport]))
        sequence = int.from_bytes(data[transport + 4 : transport + 8], "big") + first * segment
        struct.pack_into("!I", head, transport + 4, sequence & 0xFFFFFFFF)
        if last < self.count:
            head[transport + 13] &= ~(_FIN | _PSH) & 0xFF
        if first > 0:
            head[transport + 13] &= ~_CWR & 0xFF
        pseudo = data[ip + 12 : ip + 20] + struct.pack("!HH", _TCP, ip + length - transport)
        struct.pack_into("!H", head, transport + 16, 0xFFFF - checksum(pseudo))
        if last - first == 1:
            head[1:6] = b"\0\0\0\0\0"
        return bytes(head) + payload


def finished(data: bytes, ip: int) -> bytes:
    """A wire packet with its checksum computed, as on a real wire."""
    flags, _, _, _, start, offset = _VIRTIO.unpack_from(data)
    if not flags & _NEEDS_CHECKSUM:
        return data
    whole = bytearray(data)
    whole[:VIRTIO_BYTES] = bytes(VIRTIO_BYTES)
    value = checksum(memoryview(whole)[VIRTIO_BYTES + start :])
    if value == 0 and data[ip + 9] == _UDP:
        value = 0xFFFF
    struct.pack_into("!H", whole, VIRTIO_BYTES + start + offset, value)
    return bytes(whole)


def corrupted(data: bytes, ip: int, draw: float) -> bytes:
    """A wire packet with one bit flipped after the IP header; ``draw`` in [0, 1) says which bit.

    The bit is in the payload if there is one. The kernel of the receiver is not told that the checksum is right, so
    that it verifies it.
    """
    whole = bytearray(finished(data, ip))
    whole[0] = 0
    begin = ip + ((data[ip] & 15) << 2)
    protocol = data[ip + 9]
    payload = begin + (8 if protocol != _TCP or len(data) < begin + 20 else data[begin + 12] >> 4 << 2)
    begin = payload if payload < len(whole) else begin
    bit = int(draw * (len(whole) - begin) * 8)
    if begin < len(whole):
        whole[begin + (bit >> 3)] ^= 1 << (bit & 7)
    return bytes(whole)


def flow_number(data: bytes, ip: int) -> int:
    """The same number for all packets of a flow: from addresses, protocol and, if all packets have them, ports."""
    key = data[ip + 9 : ip + 10] + data[ip + 12 : ip + 20]
    if data[ip + 9] in (_TCP, _UDP) and not int.from_bytes(data[ip + 6 : ip + 8], "big") & _MORE_OR_OFFSET:
        ports = ip + ((data[ip] & 15) << 2)
        key += data[ports : ports + 4]
    return crc32(key)


def unreachable(data: bytes, ip: int) -> bytes | None:
    """The ICMP answer "host unreachable"; None if the rules of ICMP forbid an answer."""
    transport = ip + ((data[ip] & 15) << 2)
    fragment = int.from_bytes(data[ip + 6 : ip + 8], "big") & 0x1FFF
    first = data[ip + 16]
    if fragment or first >= 224 or first == 0 or data[ip + 17 : ip + 20] == b"\xff\xff\xff":
        return None
    if data[ip + 9] == _ICMP and data[transport : transport + 1] not in (b"\x08", b"\x0d"):
        return None
    quoted = data[ip : transport + 8]
    body = bytearray(b"\x03\x01" + bytes(6) + quoted)
    struct.pack_into("!H", body, 2, checksum(body))
    head = bytearray(struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(body), 0, 0, 64, _ICMP, 0))
    head += data[ip + 16 : ip + 20] + data[ip + 12 : ip + 16]
    struct.pack_into("!H", head, 10, checksum(head))
    return bytes(VIRTIO_BYTES) + data[VIRTIO_BYTES:ip] + bytes(head) + bytes(body)
