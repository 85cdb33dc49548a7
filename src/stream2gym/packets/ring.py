"""The kernel's ring of captured packets (TPACKET_V3): blocks of packets that the kernel fills and we give back.

A block is copied as a whole, so that capturing costs one write for hundreds of packets. ``packets_of`` takes it apart
later. Where no block is free the kernel drops packets and counts them.
"""

from __future__ import annotations

import mmap
import socket
import struct
from collections.abc import Iterator
from typing import NamedTuple

BLOCK_BYTES, BLOCKS = 256 << 10, 32
RETIRE_MS = 20  # after which a block that is not full is handed over
_FRAME_BYTES = 2048
_SOL_PACKET, _RX_RING, _STATISTICS, _VERSION = 263, 5, 6, 10
_VERSION_3 = 2
_OURS, _THEIRS = 1, 0
_STATUS_AT = 8
_BLOCK = struct.Struct("=III")  # packets, place of the first one, bytes of the block
_PACKET = struct.Struct("=IIIIIIHH")  # next, seconds, nanoseconds, kept bytes, bytes, status, (link), network
_CHECKSUM_TO_COME, _CHECKSUM_VALID = 0x08, 0x80
_LINK_ADDRESS = 48 + 10  # of the packet's kind in the address that stands behind its header
_OUTGOING = 4


class CapturedPacket(NamedTuple):
    """``is_sound``: the kernel knows the checksum to be right, or has not filled it in yet."""

    at_ns: int  # of the wall clock
    is_sound: bool
    data: memoryview


class PacketRing:
    """The ring of one packet socket."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        sock.setsockopt(_SOL_PACKET, _VERSION, _VERSION_3)
        frames = BLOCK_BYTES // _FRAME_BYTES * BLOCKS
        request = struct.pack("7I", BLOCK_BYTES, BLOCKS, _FRAME_BYTES, frames, RETIRE_MS, 0, 0)
        sock.setsockopt(_SOL_PACKET, _RX_RING, request)
        self._map = mmap.mmap(sock.fileno(), BLOCK_BYTES * BLOCKS, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
        self._view = memoryview(self._map)
        self._next = 0

    def has_block(self) -> bool:
        """Whether the next block is filled."""
        return bool(self._view[self._next * BLOCK_BYTES + _STATUS_AT] & _OURS)

    def block(self) -> tuple[int, memoryview]:
        """The number of packets of the next block, and its bytes; valid until ``give_back``."""
        at = self._next * BLOCK_BYTES
        packets, first, length = _BLOCK.unpack_from(self._view, at + _STATUS_AT + 4)
        return packets, self._view[at + first : at + max(first, length)]

    def give_back(self) -> None:
        """Let the kernel fill the block again."""
        struct.pack_into("=I", self._view, self._next * BLOCK_BYTES + _STATUS_AT, _THEIRS)
        self._next = (self._next + 1) % BLOCKS

    def dropped(self) -> int:
        """Packets that found no free block since the last call."""
        told = self.sock.getsockopt(_SOL_PACKET, _STATISTICS, 12)
        return int(struct.unpack("=III", told)[1])


def packets_of(block: bytes, count: int) -> Iterator[CapturedPacket]:
    """The packets of a copied block, in the order in which they passed."""
    view, at = memoryview(block), 0
    for _ in range(count):
        following, seconds, rest, kept, _length, status, _link, network = _PACKET.unpack_from(view, at)
        left_here = view[at + _LINK_ADDRESS] == _OUTGOING
        is_sound = left_here or bool(status & (_CHECKSUM_TO_COME | _CHECKSUM_VALID))
        start = at + network
        yield CapturedPacket(seconds * 1_000_000_000 + rest, is_sound, view[start : start + kept])
        at += following
