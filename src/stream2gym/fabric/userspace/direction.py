"""One direction of a link, in virtual time: what happens to a packet that enters at a given moment.

Pure state, no clock and no device: the engine says when a packet enters and gets back when which packets arrive
at the far end. In order: down, MTU, loss, duplication, queue, corruption, serialisation, latency and jitter. Packets
never overtake each other here, whatever changes while they are on their way, except the share that ``reorder``
sends ahead.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from random import Random
from typing import Any

from stream2gym.fabric.userspace.chance import Fates, GilbertElliott, Independent, jitter
from stream2gym.fabric.userspace.packet import Burst, corrupted
from stream2gym.fabric.userspace.pcap import PcapWriter
from stream2gym.link import LinkSettings

Piece = tuple[int, bytes, int, int]  # arrival, data, wire packets, wire bytes
_HOLD_NS = 1_000_000  # no piece keeps the link busy for longer, unless it is a single packet
_NOTHING: tuple[Piece, ...] = ()
_UNBOUNDED = 1 << 60
_NEARLY_FULL = 64  # packets: only then it matters how much of the piece on the wire has gone


class LinkDirection:
    """State, settings and counters of one direction.

    ``plain`` says that only latency applies, so that the engine may do the little that is left by itself.
    """

    def __init__(
        self,
        link: str,
        direction: str,
        settings: LinkSettings,
        *,
        seed: int,
        ip: int = 10,
        widest: int = 1500,
    ) -> None:
        self.link, self.direction = link, direction
        self._seed, self._ip, self._widest = seed, ip, widest
        self.entered_packets = self.entered_bytes = self.delivered_packets = self.delivered_bytes = 0
        self.duplicated = self.reordered = self.corrupted = 0
        self.dropped: dict[str, int] = {}
        self.last_arrival = 0
        self._tap: PcapWriter | None = None
        self._free_at = self._queued_packets = self._queued_bytes = self._queued_bytes_max = 0
        self._queue: deque[tuple[int, int, int, int]] = deque()  # start, finish, packets, bytes
        self._cut = False
        self._randoms: dict[str, Random] = {}
        self._settings: LinkSettings | None = None
        self._loss: Fates | None = None
        self._duplicate: Fates | None = None
        self._reorder: Fates | None = None
        self._corrupt: Fates | None = None
        self.apply(settings)

    def apply(self, settings: LinkSettings) -> None:
        """Hold these settings for packets that enter from now on; what did not change goes on undisturbed."""
        before = self._settings
        if before is None or (before.loss, before.bursts) != (settings.loss, settings.bursts):
            self._loss = self._independent("loss", settings.loss)
            if settings.bursts is not None:
                self._loss = GilbertElliott(settings.bursts, self._random("loss"))
        if before is None or before.duplicate != settings.duplicate:
            self._duplicate = self._independent("duplicate", settings.duplicate)
        if before is None or before.reorder != settings.reorder:
            self._reorder = self._independent("reorder", settings.reorder)
        if before is None or before.corrupt != settings.corrupt:
            self._corrupt = self._independent("corrupt", settings.corrupt)
        self.latency_ns = round(settings.latency_ms * 1e6)
        self._jitter_ns = settings.jitter_ms * 1e6
        self._jitter_shape = settings.jitter_shape
        self._ns_per_byte = 8e9 / settings.bandwidth_bps if settings.bandwidth_bps else 0.0
        packets = settings.usual_queue
        self._queue_packets = _UNBOUNDED if packets is None else packets
        self._queue_bytes = _UNBOUNDED if settings.queue_bytes is None else settings.queue_bytes
        self._mtu = settings.mtu
        self._settings = settings
        self._refresh()

    def cut(self, is_cut: bool) -> None:
        """Drop whatever enters, or no longer; settings stay as they are."""
        self._cut = is_cut
        self._refresh()

    def tap(self, writer: PcapWriter | None) -> None:
        """Show every packet that enters to ``writer``, before anything happens to it."""
        self._tap = writer
        self._refresh()

    def _refresh(self) -> None:
        self.up = not self._cut and (self._settings is None or self._settings.up)
        self._chancy = bool(self._loss or self._duplicate or self._reorder or self._corrupt)
        self._small = self._mtu < self._widest
        shaped = self._chancy or self._jitter_ns or self._ns_per_byte or self._small
        self.plain = self.up and not shaped and self._tap is None

    def _independent(self, kind: str, share: float) -> Fates | None:
        return Independent(share, self._random(kind)) if share > 0 else None

    def _random(self, kind: str) -> Random:
        """Each kind of decision has its own numbers, so that asking for one leaves the others as they were."""
        if kind not in self._randoms:
            self._randoms[kind] = Random(f"{self._seed}/{self.link}/{self.direction}/{kind}")
        return self._randoms[kind]

    def carry(self, now: int, data: bytes, count: int, size: int) -> Sequence[Piece]:
        """What arrives of ``count`` wire packets, in one burst, that enter now and are counted as entered already."""
        if self._tap is not None:
            self._tap.write(now, Burst(data, self._ip, count, size), self._ip)
        if not self.up:
            self._drop("down", count)
            return _NOTHING
        if self._chancy or self._small:
            return self._one_by_one(now, data, count, size)
        if self._ns_per_byte:
            if count > 1 and size * self._ns_per_byte > _HOLD_NS:
                return self._one_by_one(now, data, count, size)
            if self._room(now, size // count) < count:
                if count > 1:
                    return self._one_by_one(now, data, count, size)
                self._drop("queue", 1)
                return _NOTHING
        return ((self._put(now, count, size, False), data, count, size),)

    def _one_by_one(self, now: int, data: bytes, count: int, size: int) -> list[Piece]:
        """Decide about every wire packet; those in a row that nothing befalls stay together, up to a millisecond."""
        lost = self._loss.hits(count) if self._loss else ()
        doubled = self._duplicate.hits(count) if self._duplicate else ()
        hasty = self._reorder.hits(count) if self._reorder else ()
        damaged = self._corrupt.hits(count) if self._corrupt else ()
        special = {*lost, *doubled, *hasty, *damaged}
        burst = Burst(data, self._ip, count, size)
        together = max(1, int(_HOLD_NS / (burst.largest * self._ns_per_byte))) if self._ns_per_byte else count
        pieces: list[Piece] = []
        first = 0
        while first < count:
            alone = burst.bytes_of(first, first + 1)
            if alone > self._mtu:
                self._drop("mtu", 1)
                first += 1
                continue
            if first not in special:
                last = self._row_end(first, min(count, first + together), special)
                if burst.bytes_of(last - 1, last) > self._mtu:
                    last -= 1
                first = self._accept(now, burst, first, last, pieces)
                continue
            if first in lost:
                self._drop("loss", 1)
            else:
                marks = (first in hasty, first in damaged)
                self._accept_special(now, burst, first, marks, pieces)
                if first in doubled:
                    self.duplicated += 1
                    self.entered_packets += 1
                    self.entered_bytes += alone
                    self._accept_special(now, burst, first, marks, pieces)
            first += 1
        return pieces

    @staticmethod
    def _row_end(first: int, limit: int, special: set[int]) -> int:
        last = first + 1
        while last < limit and last not in special:
            last += 1
        return last

    def _accept(self, now: int, burst: Burst, first: int, last: int, pieces: list[Piece]) -> int:
        """Queue as much of the row as has room; returns where to go on."""
        if self._ns_per_byte:
            room = self._room(now, burst.bytes_of(first, first + 1))
            if room <= 0:
                self._drop("queue", 1)
                return first + 1
            last = min(last, first + room)
        size = burst.bytes_of(first, last)
        arrival = self._put(now, last - first, size, False)
        pieces.append((arrival, burst.piece(first, last), last - first, size))
        return last

    def _accept_special(
        self, now: int, burst: Burst, number: int, marks: tuple[bool, bool], pieces: list[Piece]
    ) -> None:
        hasty, damaged = marks
        size = burst.bytes_of(number, number + 1)
        if self._ns_per_byte and self._room(now, size) <= 0:
            self._drop("queue", 1)
            return
        data = burst.piece(number, number + 1)
        if damaged:
            self.corrupted += 1
            data = corrupted(data, self._ip, self._random("bit").random())
        self.reordered += hasty
        pieces.append((self._put(now, 1, size, hasty), data, 1, size))

    def _put(self, now: int, count: int, size: int, hasty: bool) -> int:
        """Send packets that have room; returns when they arrive."""
        arrival = now
        if self._ns_per_byte:
            start = self._free_at if self._free_at > now else now
            arrival = self._free_at = start + int(size * self._ns_per_byte)
            self._queue.append((start, arrival, count, size))
            self._queued_packets += count
            self._queued_bytes += size
            self._queued_bytes_max = max(self._queued_bytes_max, self._queued_bytes)
        if hasty:
            return arrival
        arrival += self.latency_ns
        if self._jitter_ns:
            shift = int(jitter(self._jitter_shape, self._jitter_ns, self._random("jitter")))
            arrival += max(shift, -self.latency_ns)
        if arrival < self.last_arrival:
            return self.last_arrival
        self.last_arrival = arrival
        return arrival

    def _room(self, now: int, size: int) -> int:
        """How many packets of ``size`` bytes the queue takes now; the one on the wire does not count."""
        queue = self._queue
        while queue and queue[0][1] <= now:
            _, _, packets, octets = queue.popleft()
            self._queued_packets -= packets
            self._queued_bytes -= octets
        room = self._queue_packets + 1 - self._queued_packets
        if not queue:
            return room if self._queue_bytes == _UNBOUNDED else min(room, max(1, self._queue_bytes // size))
        if room < _NEARLY_FULL or self._queue_bytes != _UNBOUNDED:
            start, finish, packets, octets = queue[0]
            sent = max(0.0, (now - start) / (finish - start))
            room += int(packets * sent)
            waiting = self._queued_bytes - int(octets * sent)
            room = min(room, (self._queue_bytes - waiting) // size)
        return room

    def _drop(self, cause: str, count: int) -> None:
        self.dropped[cause] = self.dropped.get(cause, 0) + count

    def row(self, in_flight: int, now: int) -> list[Any]:
        """The counters in the order of ``LinkCounters``; who holds the packets in flight says how many there are.

        A plain list, since packets wait while a thousand of them are collected and sent.
        """
        self._room(now, 1)
        return [
            self.link,
            self.direction,
            self.entered_packets,
            self.entered_bytes,
            self.delivered_packets,
            self.delivered_bytes,
            in_flight,
            self.dropped,
            self.duplicated,
            self.reordered,
            self.corrupted,
            self._queued_bytes,
            self._queued_bytes_max,
        ]
