"""The loop: waits for packets, due times and requests, and feeds the engine.

It sleeps in ``select`` on the epoll descriptor, whose timeout is in microseconds (that of ``epoll.poll`` is in
milliseconds) and which every kernel has. A sleep ends some tens of microseconds late. Therefore it is asked to end a
little early, and the loop spins for the rest, as long as that costs only a few per cent of a core. When packets come
very fast, the loop naps instead and then takes all that have gathered, as network cards moderate their interrupts:
to wake a process for one packet costs several times as much as to move it.

The loop also knows how long a packet may have waited in its device: since the device was last seen empty. A device is
seen empty when a read says so, when a round of epoll does not list it, and as long as the loop sleeps in ``select``,
because a packet would have ended that sleep. A nap looks at no device, so that the wait continues during a nap.

The time from being woken to getting a CPU is part of the wait. The kernel counts it for each process. The loop does
not ask for it when the process has real-time priority, because then it gets a CPU at once, and the question costs as
much as a packet. The kernel does not count the time in which the process, or the whole machine, was stopped.
Therefore no sleep is longer than a twentieth of a second, and the time by which it lasts longer than asked for is
part of the wait, too.

A busy device may have a packet whenever it is read, because each delivered packet causes an answer or makes room for
the next one. Therefore, when a device was not seen empty for a while, all that is in it is read before any of it is
moved, so that no answer can come in between. If it still does not get empty, its ring bounds the wait: when the
packet one ring length earlier was read, a packet cannot have been in the ring yet.
"""

from __future__ import annotations

import errno
import os
import select
import socket
from collections.abc import Callable
from time import monotonic_ns, sleep

from stream2gym.fabric.userspace.packet_engine import NEVER, PacketEngine, Port
from stream2gym.fabric.userspace.run_delay import open_run_delay, read_run_delay_ns

# A burst of 64 KB and its headers.
_READ_BYTES = 66_000
# Packets that are read from one device before it is the turn of the others.
_BATCH = 32
# How long a device may be seen not empty until it is read before its packets are moved.
_DOUBT_NS = 500_000
# Devices that one round of epoll lists at most.
_LISTED = 64
_LONGEST_SLEEP_NS = 50_000_000
_SPIN_NS = 80_000
_SPIN_SHARE = 0.02
_CREDIT_NS = 2_000_000
# Packets a second above which the loop naps.
_BUSY_RATE = 6_000
# The time over which they are counted.
_WINDOW_NS = 2_000_000
_NAP_NS = 100_000
# Errors of a device whose host is being removed, as the fabric will be.
_TAKEN_DOWN = (errno.ENETDOWN, errno.ENODEV, errno.EBADFD)
_LOW_FD = 0
# select() takes only descriptors below 1024. Standard input is not used here.
_WATCHED = (_LOW_FD,)


class Loop:
    """Moves packets until the control channel is closed."""

    def __init__(
        self, engine: PacketEngine, control: socket.socket, ring_packets: int, *, is_preemptible: bool
    ) -> None:
        self._engine = engine
        self._ring_packets = ring_packets
        self._control_fd = control.fileno()
        self._epoll = select.epoll()
        os.dup2(self._epoll.fileno(), _LOW_FD)
        for fd in (self._control_fd, *engine.ports):
            self._epoll.register(fd, select.EPOLLIN)
        self._credit_ns = 0.0
        self._credited_at = monotonic_ns()
        self._spun_for = 0
        self._packets = 0
        self._counted_at = 0
        self._is_busy = False
        self._run_delay_fd = open_run_delay() if is_preemptible else -1
        # A round is a look at all devices: by epoll, or by a sleep until one of them has a packet. Devices that were
        # not listed in the last complete round were empty at its time.
        self._full_round_ns = 0

    def _busy(self, now: int) -> bool:
        """Whether packets come so fast that to wake up for each of them would cost more than to move it."""
        elapsed = now - self._counted_at
        if elapsed >= _WINDOW_NS:
            self._is_busy = self._packets * 1e9 > _BUSY_RATE * elapsed
            self._packets = 0
            self._counted_at = now
        return self._is_busy

    def want_to_write(self, wanted: bool) -> None:
        """Set whether the loop wakes up when the control channel can be written to."""
        self._epoll.modify(self._control_fd, select.EPOLLIN | (select.EPOLLOUT if wanted else 0))

    def run(self, serve: Callable[[], bool]) -> None:
        """Move packets, and call ``serve`` when the control channel is ready, until it returns False."""
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
            looked_ns = monotonic_ns()
            listed = poll(0, _LISTED)
            for fd, _ in listed:
                if fd == self._control_fd:
                    if not serve():
                        return
                    continue
                port = ports[fd]
                if port.listed_ns < self._full_round_ns:
                    port.seen_empty_ns = port.counted_ns = self._full_round_ns
                    port.unbroken = 0
                port.listed_ns = looked_ns
                if looked_ns - port.seen_empty_ns > _DOUBT_NS:
                    more |= self._drain_ahead(port)
                else:
                    more |= self._drain(port)
            if len(listed) < _LISTED:
                self._full_round_ns = looked_ns

    def _drain(self, port: Port) -> bool:
        """Take a batch of packets. Returns whether there may be more; epoll lists the device again then.

        To find a device empty costs as much as a packet. Therefore a batch grows only while there is more to read.
        """
        fd, batch, enter = port.fd, port.batch, self._engine.enter
        read, read_ns = 0, port.seen_empty_ns
        try:
            for read in range(batch):  # noqa: B007
                read_ns = enter(port, os.read(fd, _READ_BYTES))
        except BlockingIOError:
            self._packets += read
            if port.unbroken + read >= self._ring_packets:
                port.suspect = True
            # The time of the last packet, because the process may have lost its CPU after it found the device empty.
            port.seen_empty_ns = port.counted_ns = read_ns
            port.unbroken = 0
            port.batch = (batch + 1) // 2
            return False
        except OSError as error:
            self._end_device(fd, error)
            return False
        self._packets += batch
        port.unbroken += batch
        if port.unbroken >= self._ring_packets:
            self._begin_count(port, read_ns)
        if batch < _BATCH:
            port.batch = batch * 2
        return batch > 1

    def _drain_ahead(self, port: Port) -> bool:
        """Read a batch of packets, then move them. Returns whether there may be more."""
        fd, enter = port.fd, self._engine.enter
        began_ns = read_ns = monotonic_ns()
        packets: list[bytes] = []
        is_empty = False
        try:
            while len(packets) < _BATCH:
                packets.append(os.read(fd, _READ_BYTES))
        except BlockingIOError:
            is_empty = True
        except OSError as error:
            self._end_device(fd, error)
        for data in packets:
            read_ns = enter(port, data)
        self._packets += len(packets)
        port.unbroken += len(packets)
        if port.unbroken >= self._ring_packets:
            self._begin_count(port, read_ns)
        if is_empty:
            port.seen_empty_ns = port.counted_ns = began_ns
            port.unbroken = 0
        return not is_empty

    def _end_device(self, fd: int, error: OSError) -> None:
        """Stop watching a device whose host is being removed. Any other error is a defect."""
        if error.errno not in _TAKEN_DOWN:
            raise error
        self._epoll.unregister(fd)

    @staticmethod
    def _begin_count(port: Port, read_ns: int) -> None:
        """Begin to count again after as many packets as the ring can have; the last one was read at this time."""
        port.suspect = True
        # All packets that are in the ring now came after the count began.
        port.seen_empty_ns = port.counted_ns
        port.counted_ns = read_ns
        port.unbroken = 0

    def _sleep(self, now: int, due: int) -> bool:
        """Wait for a packet or a request, until shortly before ``due``. Returns whether one is there."""
        if due == NEVER:
            return self._await_packet(now, _LONGEST_SLEEP_NS)
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
        return self._await_packet(now, min(left, _LONGEST_SLEEP_NS))

    def _await_packet(self, now: int, longest_ns: int) -> bool:
        """Sleep until there is something to read. All devices are seen empty until the process is woken."""
        if self._epoll.poll(0, 1):
            return True
        delay_ns = read_run_delay_ns(self._run_delay_fd)
        ready = select.select(_WATCHED, (), (), longest_ns * 1e-9)[0]
        woken_ns = monotonic_ns() - (read_run_delay_ns(self._run_delay_fd) - delay_ns)
        self._full_round_ns = min(woken_ns, now + longest_ns)
        return bool(ready)
