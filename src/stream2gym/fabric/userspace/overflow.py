"""Packets that a host sent and that its device dropped, because the engine did not read fast enough.

No link asked for these drops, so that they must be reported. The kernel counts them for each device, in
``/proc/net/dev`` of the device's network namespace. The supervisor opens that file there and passes it on. To read it
takes some microseconds in which no packet moves. Therefore a look reads the devices that may have been full and a few
others in turn, and all of them only on request. A packet socket counts the packets for which its buffer had no room.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterable, Mapping
from itertools import islice

from stream2gym.fabric.protocol import DEVICES_IN_TURN
from stream2gym.fabric.userspace.packet_engine import Port

CAUSE = "device queue full"
_SOL_PACKET, _PACKET_STATISTICS = 263, 6
# The column of /proc/net/dev.
_TX_DROPPED = 11


class Overflows:
    """Counts the packets that devices have dropped since the start.

    ``counters`` are descriptors of ``/proc/net/dev`` by host; more names than hosts are allowed.
    """

    def __init__(self, kind: str, ports: Iterable[Port], counters: Mapping[str, int]) -> None:
        self._ports = {port.name: port for port in ports}
        self._sockets = [socket.socket(fileno=os.dup(port.fd)) for port in self._ports.values() if kind == "veth"]
        self._counters = counters
        # While a host is built, its device may drop packets of the kernel itself.
        self._at_start = {name: read_drops(fd) for name, fd in counters.items()}
        self._dropped = dict.fromkeys(counters, 0)
        self._socket_drops = 0
        self._turn = list(counters)

    def count(self, *, every_device: bool = False) -> dict[str, int]:
        """The number of drops by cause; empty if there were none."""
        for name in self._turn if every_device else self._some():
            self._dropped[name] = read_drops(self._counters[name]) - self._at_start[name]
        for sock in self._sockets:
            _, dropped = struct.unpack("II", sock.getsockopt(_SOL_PACKET, _PACKET_STATISTICS, 8))
            self._socket_drops += dropped
        dropped = self._socket_drops + sum(self._dropped.values())
        return {CAUSE: dropped} if dropped else {}

    def _some(self) -> set[str]:
        """The devices that may have been full, and the next few in turn."""
        found = set(islice(self._turn, DEVICES_IN_TURN))
        self._turn = self._turn[DEVICES_IN_TURN:] + self._turn[:DEVICES_IN_TURN]
        return found | {name for name, port in self._ports.items() if port.suspect and name in self._counters}


def read_drops(fd: int) -> int:
    """Packets that the interfaces of a network namespace, except ``lo``, dropped on their way out."""
    text = b""
    # The kernel returns a page at a time.
    while part := os.pread(fd, 1 << 20, len(text)):
        text += part
    rows = (line.partition(":") for line in text.decode().splitlines()[2:])
    return sum(int(numbers.split()[_TX_DROPPED]) for name, _, numbers in rows if name.strip() != "lo")
