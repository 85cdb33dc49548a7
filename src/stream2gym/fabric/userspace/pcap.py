"""Capture files: raw IPv4 packets with nanosecond wall clock times, as Wireshark and tcpdump read them."""

from __future__ import annotations

import struct
import time
from typing import BinaryIO

from stream2gym.fabric.userspace.packet import Burst, finished

_NANOSECOND_MAGIC = 0xA1B23C4D
_RAW_IP = 101
_LONGEST = 65535


class PcapWriter:
    """Writes every wire packet, with a valid checksum. The times that it is given are of the monotonic clock."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._offset = time.time_ns() - time.monotonic_ns()
        file.write(struct.pack("=IHHiIII", _NANOSECOND_MAGIC, 2, 4, 0, 0, _LONGEST, _RAW_IP))

    def write(self, at_ns: int, burst: Burst, ip: int) -> None:
        seconds, rest = divmod(at_ns + self._offset, 1_000_000_000)
        for number in range(burst.count):
            data = finished(burst.piece(number, number + 1), ip)[ip:]
            self._file.write(struct.pack("=IIII", seconds, rest, len(data), len(data)) + data)

    def close(self) -> None:
        self._file.close()
