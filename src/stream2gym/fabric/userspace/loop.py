"""The loop: waits for packets, due times and requests, and feeds the engine.

Sleeping is a ``select`` on the epoll descriptor, which takes microseconds where ``epoll.poll`` takes milliseconds
and exists on every kernel. A sleep wakes some tens of microseconds late, so it ends a little early and the rest is
spun, as long as spinning costs no more than a few per cent of a core.
"""

from __future__ import annotations

import errno
import os
import select
import socket
from collections.abc import Callable
from time import monotonic_ns

from stream2gym.fabric.userspace.devices import QUEUE_PACKETS
from stream2gym.fabric.userspace.engine import NEVER, Engine, Port

_READ_BYTES = 66_000  # a burst of 64 KB and its headers
_BATCH = 32  # packets from one device before the others have their turn
_SPIN_NS = 80_000
_SPIN_SHARE = 0.05
_CREDIT_NS = 2_000_000
_LOW_FD = 0  # select() takes descriptors below 1024 only; nobody reads standard input here


class Loop:
    """Runs until the control channel is gone or ``serve`` says so."""

    def __init__(self, engine: Engine, control: socket.socket) -> None:
        self._engine = engine
        self._control_fd = control.fileno()
        self._epoll = select.epoll()
        os.dup2(self._epoll.fileno(), _LOW_FD)
        for fd in (self._control_fd, *engine.ports):
            self._epoll.register(fd, select.EPOLLIN)
        self._credit_ns = 0.0
        self._credited_at = monotonic_ns()
        self._spun_for = 0

    def want_to_write(self, wanted: bool) -> None:
        """Wake up when the control channel takes more bytes, or no longer."""
        self._epoll.modify(self._control_fd, select.EPOLLIN | (select.EPOLLOUT if wanted else 0))

    def run(self, serve: Callable[[], bool]) -> None:
        """Move packets; call ``serve`` when the control channel is ready, until it returns False."""
        engine, ports, poll = self._engine, self._engine.ports, self._epoll.poll
        while True:
            now = monotonic_ns()
            due = engine.next_due()
            if due <= now:
                engine.run_due(now)
            else:
                self._sleep(now, due)
            for fd, _ in poll(0, 64):
                if fd != self._control_fd:
                    self._drain(ports[fd])
                elif not serve():
                    return

    def _drain(self, port: Port) -> None:
        """Take a batch of packets; epoll is level-triggered and brings the rest in the next round.

        To find a device empty costs as much as a packet, so a batch grows only while there is more to read.
        """
        fd, enter = port.fd, self._engine.enter
        try:
            for _ in range(port.batch):
                enter(port, os.read(fd, _READ_BYTES))
            port.unbroken += port.batch
            if port.unbroken >= QUEUE_PACKETS:
                port.suspect = True
            port.batch = min(port.batch * 2, _BATCH)
        except BlockingIOError:
            port.unbroken = 0
            port.batch = (port.batch + 1) // 2
        except OSError as error:
            if error.errno not in (
                errno.ENETDOWN,
                errno.ENODEV,
            ):  # the host is being taken down, and we are next
                raise

    def _sleep(self, now: int, due: int) -> None:
        """Wait for a packet, a request, or shortly before ``due``; then come back at once until it is time."""
        if due == NEVER:
            select.select((_LOW_FD,), (), ())
            return
        self._credit_ns = min(_CREDIT_NS, self._credit_ns + (now - self._credited_at) * _SPIN_SHARE)
        self._credited_at = now
        left = due - now
        if left <= _SPIN_NS:
            if due == self._spun_for:
                return
            if self._credit_ns >= left:
                self._credit_ns -= left
                self._spun_for = due
                return
        elif self._credit_ns >= _SPIN_NS:
            left -= _SPIN_NS
        select.select((_LOW_FD,), (), (), left * 1e-9)
