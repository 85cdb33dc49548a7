"""One direction of a link, in virtual time: what happens to a packet that enters at a given moment.

It is pure state without a clock and a device. The engine tells when a packet enters, and gets back which packets
arrive at the far end, and when. A packet meets, in this order: down, MTU, loss, duplication, queue, corruption,
serialisation, latency and jitter. Packets never overtake each other here, even if settings change while they are on
their way, except the share that ``reorder`` sends ahead.

A burst stays together over all links of its path, but its packets do not wait for each other at every link. A piece
of a burst has the time between its first and its last packet (``hold``). The next link sends the first packet as soon
as it is there, and the last one not before it has come. The whole piece is delivered when its last packet arrives. So
a packet is delayed once a path by being in a piece, by at most a millisecond.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from random import Random
from typing import Any

from stream2gym.fabric.userspace.chance import GilbertElliott, Independent, RandomHits
from stream2gym.fabric.userspace.jitter import JitterCurve
from stream2gym.fabric.userspace.packet import Burst, corrupted
from stream2gym.fabric.userspace.pcap import PcapWriter
from stream2gym.link import LinkSettings

# First arrival, hold, data, wire packets, wire bytes.
Piece = tuple[int, int, bytes, int, int]
# No piece keeps the link busy for longer, unless it is a single packet.
_HOLD_NS = 1_000_000
_NOTHING: tuple[Piece, ...] = ()
_UNBOUNDED = 1 << 60
# Packets of room. Only below it matters how much of the piece on the wire has been sent.
_NEARLY_FULL = 64


class _Entry:
    """A burst that enters a link: its first packet now, its last one ``hold`` later."""

    __slots__ = ("_hold", "burst", "now")

    def __init__(self, now: int, hold: int, burst: Burst) -> None:
        self.now = now
        self._hold = hold
        self.burst = burst

    def times_of(self, first: int, last: int) -> tuple[int, int]:
        """When the packets ``first`` and ``last - 1`` enter."""
        if not self._hold:
            return self.now, self.now
        gaps = self.burst.count - 1
        return self.now + self._hold * first // gaps, self.now + self._hold * (last - 1) // gaps


class LinkDirection:
    """State, settings and counters of one direction.

    ``plain`` says that only latency applies, so that the engine need not call it for every packet.
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
        self.link = link
        self.direction = direction
        self._seed = seed
        self._ip = ip
        self._widest = widest
        self.entered_packets = self.entered_bytes = self.delivered_packets = self.delivered_bytes = 0
        self.duplicated = self.reordered = self.corrupted = 0
        self.dropped: dict[str, int] = {}
        # When the last piece that entered arrives with its first packet.
        self.last_arrival = 0
        # When the last packet of all pieces arrives: later than ``last_arrival`` by the hold of a piece.
        self.last_end = 0
        self._tap: PcapWriter | None = None
        self._free_at = self._queued_packets = self._queued_bytes = self._queued_bytes_max = 0
        # Start, finish, packets, bytes.
        self._queue: deque[tuple[int, int, int, int]] = deque()
        self._cut = False
        self._randoms: dict[str, Random] = {}
        self._settings: LinkSettings | None = None
        self._loss: RandomHits | None = None
        self._duplicate: RandomHits | None = None
        self._reorder: RandomHits | None = None
        self._corrupt: RandomHits | None = None
        self._jitter: JitterCurve | None = None
        self.apply(settings)

    def apply(self, settings: LinkSettings) -> None:
        """Use these settings for packets that enter from now on. Random sequences of unchanged settings continue."""
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
        if before is None or (before.jitter_ms, before.jitter_shape) != (
            settings.jitter_ms,
            settings.jitter_shape,
        ):
            self._jitter = self._new_jitter(settings)
        self.latency_ns = round(settings.latency_ms * 1e6)
        # With a shorter latency, a packet must not arrive between two packets of one piece.
        self.last_arrival = max(self.last_arrival, self.last_end)
        self._ns_per_byte = 8e9 / settings.bandwidth_bps if settings.bandwidth_bps else 0.0
        packets = settings.usual_queue
        self._queue_packets = _UNBOUNDED if packets is None else packets
        self._queue_bytes = _UNBOUNDED if settings.queue_bytes is None else settings.queue_bytes
        self._mtu = settings.mtu
        self._settings = settings
        self._refresh()

    def cut(self, is_cut: bool) -> None:
        """Begin or stop to drop all packets that enter. Settings do not change."""
        self._cut = is_cut
        self._refresh()

    def tap(self, writer: PcapWriter | None) -> None:
        """Write every packet that enters to ``writer``, before anything happens to it."""
        self._tap = writer
        self._refresh()

    def _refresh(self) -> None:
        self.up = not self._cut and (self._settings is None or self._settings.up)
        self._chancy = bool(self._loss or self._duplicate or self._reorder or self._corrupt)
        self._small = self._mtu < self._widest
        shaped = self._chancy or self._jitter or self._ns_per_byte or self._small
        self.plain = self.up and not shaped and self._tap is None

    def _independent(self, kind: str, share: float) -> RandomHits | None:
        return Independent(share, self._random(kind)) if share > 0 else None

    def _new_jitter(self, settings: LinkSettings) -> JitterCurve | None:
        if settings.jitter_ms <= 0:
            return None
        seed = self._random("jitter").getrandbits(64)
        return JitterCurve(settings.jitter_shape, settings.jitter_ms * 1e6, seed)

    def _random(self, kind: str) -> Random:
        """A random generator for one kind of decision, so that one kind does not change the others."""
        if kind not in self._randoms:
            self._randoms[kind] = Random(f"{self._seed}/{self.link}/{self.direction}/{kind}")
        return self._randoms[kind]

    def carry(self, now: int, hold: int, data: bytes, count: int, size: int) -> Sequence[Piece]:
        """The pieces that arrive of a burst of ``count`` wire packets, which are counted as entered already.

        The first packet enters now, the last one ``hold`` later.
        """
        if self._tap is not None:
            self._tap.write(now, Burst(data, self._ip, count, size), self._ip)
        if not self.up:
            self._drop("down", count)
            return _NOTHING
        if self._chancy or self._small:
            return self._one_by_one(now, hold, data, count, size)
        if self._ns_per_byte:
            if count > 1 and size * self._ns_per_byte > _HOLD_NS:
                return self._one_by_one(now, hold, data, count, size)
            if self._room(now, size // count) < count:
                if count > 1:
                    return self._one_by_one(now, hold, data, count, size)
                self._drop("queue", 1)
                return _NOTHING
        if count == 1:
            return ((self._put(now, now, size, False), 0, data, 1, size),)
        first, last = self._put_row(now, (now, now + hold), count, size)
        return ((first, last - first, data, count, size),)

    def _one_by_one(self, now: int, hold: int, data: bytes, count: int, size: int) -> list[Piece]:
        """Decide about every wire packet. Packets in a row to which nothing happens stay one piece, up to a hold."""
        lost = self._loss.hits(count) if self._loss else ()
        doubled = self._duplicate.hits(count) if self._duplicate else ()
        hasty = self._reorder.hits(count) if self._reorder else ()
        damaged = self._corrupt.hits(count) if self._corrupt else ()
        special = {*lost, *doubled, *hasty, *damaged}
        entry = _Entry(now, hold, Burst(data, self._ip, count, size))
        burst = entry.burst
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
                first = self._accept(entry, first, last, pieces)
                continue
            if first in lost:
                self._drop("loss", 1)
            else:
                marks = (first in hasty, first in damaged)
                self._accept_special(entry, first, marks, pieces)
                if first in doubled:
                    self.duplicated += 1
                    self.entered_packets += 1
                    self.entered_bytes += alone
                    self._accept_special(entry, first, marks, pieces)
            first += 1
        return pieces

    @staticmethod
    def _row_end(first: int, limit: int, special: set[int]) -> int:
        last = first + 1
        while last < limit and last not in special:
            last += 1
        return last

    def _accept(self, entry: _Entry, first: int, last: int, pieces: list[Piece]) -> int:
        """Queue as much of the row as the queue has room for. Returns the first packet that is left."""
        burst = entry.burst
        if self._ns_per_byte:
            room = self._room(entry.now, burst.bytes_of(first, first + 1))
            if room <= 0:
                self._drop("queue", 1)
                return first + 1
            last = min(last, first + room)
        size = burst.bytes_of(first, last)
        begin, end = self._put_row(entry.now, entry.times_of(first, last), last - first, size)
        pieces.append((begin, end - begin, burst.piece(first, last), last - first, size))
        return last

    def _accept_special(self, entry: _Entry, number: int, marks: tuple[bool, bool], pieces: list[Piece]) -> None:
        hasty, damaged = marks
        burst = entry.burst
        size = burst.bytes_of(number, number + 1)
        if self._ns_per_byte and self._room(entry.now, size) <= 0:
            self._drop("queue", 1)
            return
        data = burst.piece(number, number + 1)
        if damaged:
            self.corrupted += 1
            data = corrupted(data, self._ip, self._random("bit").random())
        self.reordered += hasty
        entered, _ = entry.times_of(number, number + 1)
        pieces.append((self._put(entry.now, entered, size, hasty), 0, data, 1, size))

    def _put(self, now: int, entered: int, size: int, hasty: bool) -> int:
        """Send a packet for which there is room. Returns its arrival. The first of its burst entered at ``now``."""
        arrival = entered
        if self._ns_per_byte:
            arrival = self._transmit(now, 1, size)
            if entered > now:
                arrival = max(arrival, entered + int(size * self._ns_per_byte))
        if hasty:
            return arrival
        if self._jitter is None:
            arrival += self.latency_ns
        else:
            arrival += max(self.latency_ns + self._jitter.at(arrival), 0)
        if arrival < self.last_arrival:
            return self.last_arrival
        self.last_arrival = arrival
        return arrival

    def _put_row(self, now: int, entered: tuple[int, int], count: int, size: int) -> tuple[int, int]:
        """Send packets for which there is room. Returns when the first and the last of them arrive."""
        first, last = entered
        if self._ns_per_byte:
            finish = self._transmit(now, count, size)
            busy = int(size * self._ns_per_byte)
            packet = busy // count
            first = max(finish - busy, first) + packet
            last = max(finish, last + packet)
        if self._jitter is None:
            first += self.latency_ns
            last += self.latency_ns
        else:
            shift = self._jitter.at(first)
            last += max(self.latency_ns + self._jitter.at(last), 0)
            first += max(self.latency_ns + shift, 0)
        first = max(first, self.last_arrival)
        last = max(first, last)
        # With jitter, the next packet may have a shorter delay than the last packet of this piece.
        self.last_arrival = first if self._jitter is None else last
        self.last_end = max(self.last_end, last)
        return first, last

    def _transmit(self, now: int, count: int, size: int) -> int:
        """Send packets after those that wait. Returns when the last of them is sent.

        The link is busy with a burst from the arrival of its first packet, although the others enter later. Otherwise
        it would be idle between two packets of the burst while other flows wait.
        """
        start = self._free_at if self._free_at > now else now
        self._free_at = finish = start + int(size * self._ns_per_byte)
        self._queue.append((start, finish, count, size))
        self._queued_packets += count
        self._queued_bytes += size
        self._queued_bytes_max = max(self._queued_bytes_max, self._queued_bytes)
        return finish

    def _room(self, now: int, size: int) -> int:
        """How many packets of ``size`` bytes the queue has room for now. The packet on the wire does not count."""
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
        """The counters in the order of ``LinkCounters``. The caller, which has the packets in flight, counts those.

        The result is a plain list, because no packet moves while a thousand of them are collected and sent.
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
