"""The loop: waits for packets, due times and requests, and feeds the engine.

Sleeping is a ``select`` on the epoll descriptor, which takes microseconds where ``epoll.poll`` takes milliseconds
and exists on every kernel. A sleep wakes some tens of microseconds late, so it ends a little early and the rest is
spun, as long as spinning costs no more than a few per cent of a core. When packets come thick and fast the loop naps
instead and takes what has gathered, as network cards moderate their interrupts: to wake a process for one packet
costs several times as much as to move it.
"""

from __future__ import annotations

import errno
import os
import select
import socket
from collections.abc import Callable
from time import monotonic_ns, sleep

from stream2gym.fabric.userspace.devices import QUEUE_PACKETS
from stream2gym.fabric.userspace.engine import NEVER, Engine, Port

_READ_BYTES = 66_000  # a burst of 64 KB and its headers
_BATCH = 32  # packets from one device before the others have their turn
_SPIN_NS = 80_000
_SPIN_SHARE = 0.02
_CREDIT_NS = 2_000_000
_BUSY_RATE, _WINDOW_NS = 6_000, 2_000_000  # packets a second, and over what time they are counted
_NAP_NS = 100_000
_TAKEN_DOWN = (errno.ENETDOWN, errno.ENODEV, errno.EBADFD)  # the host is going, and we are next
_LOW_FD = 0
_WATCHED = (_LOW_FD,)  # select() takes descriptors below 1024 only; nobody reads standard input here


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
        self._packets, self._counted_at, self._is_busy = 0, 0, False

    def _busy(self, now: int) -> bool:
        """Whether packets come so fast that waking up for each of them would cost more than moving it."""
        elapsed = now - self._counted_at
        if elapsed >= _WINDOW_NS:
            self._is_busy = self._packets * 1e9 > _BUSY_RATE * elapsed
            self._packets, self._counted_at = 0, now
        return self._is_busy

    def want_to_write(self, wanted: bool) -> None:
        """Wake up when the control channel takes more bytes, or no longer."""
        self._epoll.modify(self._control_fd, select.EPOLLIN | (select.EPOLLOUT if wanted else 0))

    def run(self, serve: Callable[[], bool]) -> None:
        """Move packets; call ``serve`` when the control channel is ready, until it returns False."""
        engine, ports, poll = self._engine, self._engine.ports, self._epoll.poll
        more = False
        while True:
            now = monotonic_ns()
            due = engine.next_due()
            if due <= now:
                engine.run_due(now)
            elif not more and not self._sleep(now, due):
                continue
            more = False
            for fd, _ in poll(0, 64):
                if fd != self._control_fd:
                    more |= self._drain(ports[fd])
                elif not serve():
                    return

    def _drain(self, port: Port) -> bool:
        """Take a batch of packets; whether there may be more, which epoll brings in the next round.

        To find a device empty costs as much as a packet, so a batch grows only while there is more to read.
        """
        fd, batch, enter = port.fd, port.batch, self._engine.enter
        read = 0
        try:
            for read in range(batch):  # noqa: B007
                enter(port, os.read(fd, _READ_BYTES))
        except BlockingIOError:
            self._packets += read
            port.unbroken = 0
            port.batch = (batch + 1) // 2
            return False
        except OSError as error:
            if error.errno not in _TAKEN_DOWN:
                raise
            self._epoll.unregister(fd)
            return False
        self._packets += batch
        port.unbroken += batch
        if port.unbroken >= QUEUE_PACKETS:
            port.suspect = True
        port.batch = min(batch * 2, _BATCH)
        return batch > 1

    def _sleep(self, now: int, due: int) -> bool:
        """Wait for a packet, a request, or until shortly before ``due``; whether there is something to read."""
        if due == NEVER:
            select.select(_WATCHED, (), ())
            return True
        self._credit_ns = min(_CREDIT_NS, self._credit_ns + (now - self._credited_at) * _SPIN_SHARE)
        self._credited_at = now
        left = due - now
        if self._busy(now):
            sleep(_NAP_NS * 1e-9)
            return True
        if left <= _SPIN_NS:
            if due == self._spun_for:
                return True
            if self._credit_ns >= left:
                self._credit_ns -= left
                self._spun_for = due
                return True
        elif self._credit_ns >= _SPIN_NS:
            left -= _SPIN_NS
        return bool(select.select(_WATCHED, (), (), left * 1e-9)[0])
