"""The engine: moves packets hop by hop in virtual time.

A packet that is read from a device enters the first link of its path now. Its arrival at the other end becomes an
event. Events are processed in the order of their times and with *their* times. So a busy moment makes packets late at
the end, but the delay does not add up over hops, and the order in which packets meet at a link stays right. The last
hop is a write to the device of the destination.

There the lateness of each packet is counted: how long after its due time it is written, and how long it may have
waited in the device of its sender before it was read. It is unknown when a packet came into a device. Therefore the
wait is the time since the device was last seen empty (``Port.seen_empty_ns``, which ``loop`` keeps): the packet came
later.

The engine uses no epoll and no process. ``loop`` calls it; tests call it with a clock of their own.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from heapq import heappop, heappush
from time import monotonic_ns, process_time
from typing import Any

from stream2gym.errors import BadInput, Mistake
from stream2gym.fabric.userspace.direction import LinkDirection
from stream2gym.fabric.userspace.lateness import LatenessCounter
from stream2gym.fabric.userspace.packet import VIRTIO_BYTES, flow_number, unreachable, wire_packets
from stream2gym.fabric.userspace.pcap import PcapWriter
from stream2gym.link import LinkSettings
from stream2gym.plan.planned import Network
from stream2gym.plan.routes import Router

NEVER = 1 << 62
_NOWHERE = -1
_FLOWS_KEPT = 50_000
# Time between two "unreachable" answers.
_ICMP_GAP_NS = 1_000_000


class Hop:
    """One link of a path and the hop after it. A hop without a link is the device of the destination."""

    __slots__ = ("direction", "fd", "next")

    def __init__(self, direction: LinkDirection | None, following: Hop | None, fd: int) -> None:
        self.direction = direction
        self.next = following
        self.fd = fd


class Port:
    """The engine's side of one host: its device, and the paths from there that were looked up so far."""

    __slots__ = (
        "batch",
        "counted_ns",
        "fd",
        "listed_ns",
        "name",
        "paths",
        "seen_empty_ns",
        "suspect",
        "unbroken",
    )

    def __init__(self, name: str, fd: int, now: int) -> None:
        self.name = name
        self.fd = fd
        # How many packets to read next time.
        self.batch = 1
        # All packets that are in the device now came after this time.
        self.seen_empty_ns = now
        # Packets that were read since ``counted_ns`` without seeing the device empty.
        self.unbroken = 0
        self.counted_ns = now
        # When the last round of the loop began in which epoll listed the device.
        self.listed_ns = 0
        # Whether it may have been full.
        self.suspect = False
        self.paths: dict[bytes, Hop] = {}


class PacketEngine:
    """All links of the network and all packets in flight."""

    def __init__(
        self,
        network: Network,
        devices: Mapping[str, int],
        *,
        ethernet_bytes: int = 0,
        write: Callable[[int, bytes], int] = os.write,
        clock: Callable[[], int] = monotonic_ns,
    ) -> None:
        self._write = write
        self._clock = clock
        self._ip = VIRTIO_BYTES + ethernet_bytes
        everyone = [*network.hosts, *filter(None, [network.observer])]
        widest = max((host.mtu for host in everyone), default=1500)
        self._directions = {
            (link.name, way): LinkDirection(link.name, way, settings, seed=network.seed, ip=self._ip, widest=widest)
            for link in network.links
            for way, settings in (("forward", link.forward), ("backward", link.backward))
        }
        now = clock()
        self.ports = {devices[host.name]: Port(host.name, devices[host.name], now) for host in everyone}
        self._by_address = {socket.inet_aton(host.address): host.name for host in everyone}
        self._observer = network.observer.name if network.observer else None
        self._devices = dict(devices)
        self._network = network
        self._router = Router.of(network)
        self._by_flow = network.routing.by == "ecmp"
        self._reconverge_ms = network.routing.reconverge_ms
        self._down = self._router.initially_down
        self.reconverge_at = NEVER
        # Time, number, hop, data, wire packets, wire bytes, hold (see ``direction``), wait before the read.
        self._events: list[tuple[int, int, Hop, bytes, int, int, int, int]] = []
        self._number = 0
        self._lateness = LatenessCounter()
        self._unasked: dict[str, int] = {}
        self._no_route = 0
        self._kept_apart: frozenset[tuple[str, str]] = frozenset()
        self._blocked = 0
        self._next_icmp = 0
        self._captures: dict[str, PcapWriter] = {}

    def next_due(self) -> int:
        """The time of the next event."""
        due = self._events[0][0] if self._events else NEVER
        return min(due, self.reconverge_at)

    def enter(self, port: Port, data: bytes) -> int:
        """Take one packet that was just read from a device. Returns the time."""
        ip = self._ip
        now = self._clock()
        if self._events and self._events[0][0] <= now:
            self.run_due(now)
        hop = None if self._by_flow else port.paths.get(data[ip + 16 : ip + 20])
        if hop is None:
            hop = self._find(port, data)
            if hop is None:
                return now
        if hop.direction is None:
            if hop.fd == _NOWHERE:
                self._blocked += wire_packets(data, ip)[0] if data[1] else 1
            else:
                self._hand_over(hop.fd, data)
        elif data[1]:
            count, size = wire_packets(data, ip)
            self._forward(hop, data, count, size, now, 0, now - port.seen_empty_ns)
        else:
            self._forward(hop, data, 1, len(data) - ip, now, 0, now - port.seen_empty_ns)
        return now

    def run_due(self, now: int) -> None:
        """Process every event that is due."""
        events = self._events
        while events and events[0][0] <= now:
            at, _, hop, data, count, size, hold, waited = heappop(events)
            direction = hop.direction
            assert direction is not None
            direction.delivered_packets += count
            direction.delivered_bytes += size
            if hop.next is None:
                self._lateness.add(self._clock() - at + waited)
                self._hand_over(hop.fd, data)
            else:
                self._forward(hop.next, data, count, size, at, hold, waited)
        if now >= self.reconverge_at:
            self._reconverge()

    def _forward(  # noqa: PLR0917 (named arguments take longer, and this is called for every packet)
        self, hop: Hop, data: bytes, count: int, size: int, now: int, hold: int, waited: int
    ) -> None:
        """Let a packet enter a link at ``now``, which may be past. The end of a burst enters ``hold`` later."""
        while True:
            direction = hop.direction
            assert direction is not None
            direction.entered_packets += count
            direction.entered_bytes += size
            is_last = hop.next is None
            if not direction.plain:
                for arrival, held, piece, packets, octets in direction.carry(now, hold, data, count, size):
                    self._number = number = self._number + 1
                    at = arrival + held if is_last else arrival
                    heappush(self._events, (at, number, hop, piece, packets, octets, held, waited))
                return
            arrival = now + direction.latency_ns
            if arrival > direction.last_arrival:
                direction.last_arrival = arrival
                if arrival == now and not (is_last and hold):
                    # The link has no latency and nothing on it: continue with the next hop at once.
                    direction.delivered_packets += count
                    direction.delivered_bytes += size
                    if hop.next is None:
                        self._lateness.add(self._clock() - now + waited)
                        self._hand_over(hop.fd, data)
                        return
                    hop = hop.next
                    continue
            else:
                arrival = direction.last_arrival
            if hold:
                direction.last_end = max(direction.last_end, arrival + hold)
                if is_last:
                    arrival += hold
            self._number = number = self._number + 1
            heappush(self._events, (arrival, number, hop, data, count, size, hold, waited))
            return

    def _hand_over(self, fd: int, data: bytes) -> None:
        try:
            self._write(fd, data)
        except OSError as error:
            self._lose(f"device: {error.strerror}")

    def _lose(self, cause: str) -> None:
        self._unasked[cause] = self._unasked.get(cause, 0) + 1

    def _find(self, port: Port, data: bytes) -> Hop | None:
        """Look up the path of a packet. None if there is none; then the packet is counted and refused here."""
        ip = self._ip
        if len(data) < ip + 20 or data[ip] >> 4 != 4:
            return None
        address = data[ip + 16 : ip + 20]
        flow = flow_number(data, ip) if self._by_flow else 0
        key = address + flow.to_bytes(4, "big") if self._by_flow else address
        hop = port.paths.get(key)
        if hop is not None:
            return hop
        hop = self._path(port.name, address, flow)
        if hop is None:
            self._refuse(port, data)
            return None
        if len(port.paths) >= _FLOWS_KEPT:
            port.paths.clear()
        port.paths[key] = hop
        return hop

    def _path(self, source: str, address: bytes, flow: int) -> Hop | None:
        target = self._by_address.get(address)
        if target is None or target == source:
            return None
        if (source, target) in self._kept_apart:
            return Hop(None, None, _NOWHERE)
        fd = self._devices[target]
        if self._observer in (source, target):
            return Hop(None, None, fd)
        path = self._router.path(source, target, flow=flow, down=self._down)
        hop: Hop | None = None
        for link, way in reversed(path or ()):
            hop = Hop(self._directions[link, way], hop, fd)
        return hop

    def _refuse(self, port: Port, data: bytes) -> None:
        """Tell the sender that the host is unreachable, at most a thousand times a second."""
        if data[self._ip + 16] >= 224:
            return
        self._no_route += wire_packets(data, self._ip)[0] if data[1] else 1
        now = self._clock()
        answer = unreachable(data, self._ip) if now >= self._next_icmp else None
        if answer is not None:
            self._next_icmp = now + _ICMP_GAP_NS
            self._hand_over(port.fd, answer)

    def set_links(self, changes: Mapping[str, tuple[LinkSettings | None, LinkSettings | None]]) -> None:
        """Apply settings (forward, backward). None does not change a direction."""
        pairs = {link: self._pair(link) for link in changes}
        before = self._links_down()
        for link, (forward, backward) in changes.items():
            for direction, settings in zip(pairs[link], (forward, backward), strict=True):
                if settings is not None:
                    direction.apply(settings)
        self._notice(before)

    def cut(self, link: str, is_cut: bool) -> None:
        """Cut a link or end the cut."""
        pair = self._pair(link)
        before = self._links_down()
        for direction in pair:
            direction.cut(is_cut)
        self._notice(before)

    def block(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Block packets from these sources to these targets. Replaces earlier pairs."""
        self._kept_apart = frozenset(pairs)
        self._forget_paths()

    def move(self, link: str, a: str, b: str) -> None:
        """Move a link between two other nodes."""
        self._pair(link)
        links = tuple(replace(one, a=a, b=b) if one.name == link else one for one in self._network.links)
        self._network = replace(self._network, links=links)
        self._router = Router.of(self._network)
        self._forget_paths()

    def _pair(self, link: str) -> tuple[LinkDirection, LinkDirection]:
        try:
            return self._directions[link, "forward"], self._directions[link, "backward"]
        except KeyError:
            raise BadInput(Mistake(where=link, what="no such link")) from None

    def _links_down(self) -> frozenset[str]:
        return frozenset(link for (link, _), direction in self._directions.items() if not direction.up)

    def _notice(self, before: frozenset[str]) -> None:
        if self._reconverge_ms is not None and self._links_down() != before:
            self.reconverge_at = self._clock() + round(self._reconverge_ms * 1e6)

    def _reconverge(self) -> None:
        self.reconverge_at = NEVER
        self._down = self._links_down()
        self._forget_paths()

    def _forget_paths(self) -> None:
        for port in self.ports.values():
            port.paths.clear()

    def capture(self, link: str, writer: PcapWriter) -> None:
        """Write the packets of both directions of a link to a writer. An earlier capture of the link ends."""
        pair = self._pair(link)
        self.stop_capture(link)
        self._captures[link] = writer
        for direction in pair:
            direction.tap(writer)

    def stop_capture(self, link: str) -> None:
        """End the capture of a link, if there is one."""
        pair = self._pair(link)
        writer = self._captures.pop(link, None)
        for direction in pair:
            direction.tap(None)
        if writer is not None:
            writer.close()

    def stop_captures(self) -> None:
        """End every capture."""
        for link in list(self._captures):
            self.stop_capture(link)

    def stats(self) -> dict[str, Any]:
        """A snapshot, ready for JSON. Links that never had a packet are left out."""
        now = self._clock()
        self.run_due(now)
        in_flight: dict[LinkDirection | None, int] = {}
        for event in self._events:
            in_flight[event[2].direction] = in_flight.get(event[2].direction, 0) + event[4]
        return {
            "at_ns": now,
            "links": [
                direction.row(in_flight.get(direction, 0), now)
                for direction in self._directions.values()
                if direction.entered_packets
            ],
            "lateness": self._lateness.snapshot().to_json(),
            "unasked_drops": dict(self._unasked),
            "cpu_s": process_time(),
            "no_route": self._no_route,
            "blocked": self._blocked,
        }
