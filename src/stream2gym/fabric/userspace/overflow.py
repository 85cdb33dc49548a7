"""Packets that a host sent and that its device dropped because the engine did not read fast enough.

No link asked for these drops, so they have to be known. A packet socket counts them itself. The kernel's count of a
TUN device is seen only inside its network namespace; to look costs a tenth of a millisecond, so only those devices
are looked at that may have been full since the start: a full queue has to be read to its end without a break.
"""

from __future__ import annotations

import fcntl
import os
import socket
import struct
from collections.abc import Iterable

from stream2gym import linux
from stream2gym.fabric.userspace.engine import Port

CAUSE = "device queue full"
_SIOCGSKNS = 0x894C
_SOL_PACKET, _PACKET_STATISTICS = 263, 6


class Overflows:
    """Counts what was dropped at the devices since the start."""

    def __init__(self, kind: str, fds: Iterable[int]) -> None:
        self._sockets = [socket.socket(fileno=os.dup(fd)) for fd in fds] if kind == "veth" else []
        self._dropped = 0

    def count(self, ports: Iterable[Port]) -> dict[str, int]:
        """Drops by cause, empty where there were none."""
        for sock in self._sockets:
            self._dropped += struct.unpack("II", sock.getsockopt(_SOL_PACKET, _PACKET_STATISTICS, 8))[1]
        dropped = self._dropped + sum(tun_drops(port.fd) for port in ports if port.suspect)
        return {CAUSE: dropped} if dropped else {}


def tun_drops(fd: int) -> int:
    """Packets that a TUN device dropped on their way to us, since it was made."""
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    there = fcntl.ioctl(fd, _SIOCGSKNS)
    try:
        linux.setns(there, linux.CLONE_NEWNET)
        try:
            with open("/proc/thread-self/net/dev") as file:
                rows = (line.partition(":") for line in file.readlines()[2:])
                return sum(int(numbers.split()[11]) for name, _, numbers in rows if name.strip() != "lo")
        finally:
            linux.setns(home, linux.CLONE_NEWNET)
    finally:
        os.close(there)
        os.close(home)
