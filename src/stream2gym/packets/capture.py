"""The process that captures: it copies what packet sockets show it to the spool, and finds out whose connections are.

``python -m stream2gym.packets.capture CONFIG``, with the sockets as open descriptors. It decodes nothing, because it
must never be late: a ring that is full loses packets. It ends when its standard input is closed, after the packets
that are in the rings by then; the last entry of each host's spool says so. Standard output gets one line when every
packet from now on will be captured.

It runs outside the hosts. So neither the limits of a host nor its end reach it, and what it uses counts for no host.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stream2gym import linux
from stream2gym.hosts.packet_socket import begin_to_hear
from stream2gym.packets.owners import find_owner
from stream2gym.packets.ring import RETIRE_MS, PacketRing
from stream2gym.packets.spool import SpoolWriter
from stream2gym.packets.tcp import parse_segment

_PRIORITY = -10  # where it may have it
_DROPS_EVERY_S = 1.0
_OPENING_BYTES = 256
_LAST_WAIT_S = 2.0


@dataclass
class TappedHost:
    """One host: its ring, the socket that shows the beginnings of connections, and its spool."""

    net: int
    ring: PacketRing
    openings: socket.socket
    spool: SpoolWriter

    def copy_block(self) -> bool:
        """Copy the next filled block; the owners of connections that begin in it come first."""
        if not self.ring.has_block():
            return False
        self.name_owners()
        packets, block = self.ring.block()
        self.spool.add_block(packets, block, time.monotonic_ns(), time.time_ns())
        self.ring.give_back()
        return True

    def name_owners(self) -> None:
        while True:
            try:
                packet = self.openings.recv(_OPENING_BYTES)
            except (BlockingIOError, InterruptedError):
                return
            except OSError:  # a device of the host went down; the socket goes on
                continue
            segment = parse_segment(packet, 0)
            if segment is not None:
                self.spool.add_owner(*segment.source, find_owner(self.net, segment.source, segment.target))

    def note_drops(self) -> None:
        self.spool.note_lost(self.ring.dropped())


def main(path: str) -> int:
    linux.name_process("s2g-capture")
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, _PRIORITY)
    config: dict[str, Any] = json.loads(Path(path).read_text("utf-8"))
    folder = Path(config["spool"])
    hosts = []
    for host, tap in config["hosts"].items():
        openings = socket.socket(fileno=tap["openings"])
        begin_to_hear(openings)
        ring = PacketRing(socket.socket(fileno=tap["traffic"]))
        begin_to_hear(ring.sock)
        hosts.append(TappedHost(tap["net"], ring, openings, SpoolWriter(folder, host)))
    sys.stdout.write("capturing\n")
    sys.stdout.flush()
    capture(hosts, sys.stdin.fileno())
    return 0


def capture(hosts: list[TappedHost], life: int) -> None:
    """Copy until ``life`` is closed and the rings are empty."""
    poll = select.poll()
    poll.register(life, select.POLLIN)
    by_descriptor = {}
    for host in hosts:
        for sock in (host.ring.sock, host.openings):
            poll.register(sock, select.POLLIN)
            by_descriptor[sock.fileno()] = host
    next_drops = time.monotonic() + _DROPS_EVERY_S
    is_over = False
    while not is_over:
        for descriptor, _ in poll.poll(_DROPS_EVERY_S * 1000):
            if descriptor == life:
                is_over = True
                continue
            host = by_descriptor[descriptor]
            host.name_owners()
            while host.copy_block():
                pass
        if time.monotonic() >= next_drops:
            next_drops = time.monotonic() + _DROPS_EVERY_S
            for host in hosts:
                host.note_drops()
    _finish(hosts)


def _finish(hosts: list[TappedHost]) -> None:
    """Copy what the rings hold: after two time-outs of a block without another one nothing is left."""
    deadline = time.monotonic() + _LAST_WAIT_S
    quiet_since = time.monotonic()
    while time.monotonic() < deadline and time.monotonic() - quiet_since < 2 * RETIRE_MS / 1000:
        copied = [host.copy_block() for host in hosts]
        if any(copied):
            quiet_since = time.monotonic()
        else:
            time.sleep(RETIRE_MS / 4000)
    for host in hosts:
        host.note_drops()
        host.spool.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
