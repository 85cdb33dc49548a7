"""The ``Fabric`` protocol: a fabric moves packets between hosts and gives every link its settings.

An implementation is built over hosts that exist already, and must pass ``tests/contract`` unchanged. Links are named
as in the plan (``"h1 -- s1"``). A direction is ``"forward"`` (a to b) or ``"backward"``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from stream2gym.jsonable import Jsonable
from stream2gym.link import LinkSettings

# Every snapshot reads the drops of this many devices, in turn. So drops in a large network are known some time later.
DEVICES_IN_TURN = 16


@dataclass(frozen=True)
class LinkCounters(Jsonable):
    """Wire packets of one direction since the start: entered = delivered + dropped + in_flight.

    ``entered`` includes copies that duplication made, so that the sum is right.
    """

    link: str
    direction: str
    entered_packets: int = 0
    entered_bytes: int = 0
    delivered_packets: int = 0
    delivered_bytes: int = 0
    in_flight_packets: int = 0
    # By cause: loss, queue, down, mtu.
    dropped: dict[str, int] = field(default_factory=dict)
    duplicated: int = 0
    reordered: int = 0
    corrupted: int = 0
    queue_bytes: int = 0
    queue_bytes_max: int = 0


@dataclass(frozen=True)
class Lateness(Jsonable):
    """How late packets were delivered: the number of packets in each bucket, with upper bounds in microseconds.

    The lateness of a packet is the longest time that it may have waited in its sender's device before it was read,
    and the time from when it was due at its destination until it was written there.
    """

    bounds_us: tuple[float, ...]
    counts: tuple[int, ...]
    max_us: float = 0.0


@dataclass(frozen=True)
class FabricStats(Jsonable):
    """A snapshot of all counters at one moment."""

    # On CLOCK_MONOTONIC.
    at_ns: int
    links: tuple[LinkCounters, ...]
    lateness: Lateness
    # Drops that no link asked for, by cause.
    unasked_drops: dict[str, int]
    cpu_s: float
    # How long the process that moves packets has waited for a CPU.
    run_delay_s: float = 0.0
    # Packets for an address that no host has or that no path leads to.
    no_route: int = 0
    # Packets between hosts that are blocked from each other.
    blocked: int = 0


class Fabric(Protocol):
    """Moves packets until closed. Every call returns after the change is in force."""

    # Whether the kernel runs it before other programs. If not, the programs on hosts are given a lower priority.
    has_priority: bool

    def set_link(
        self, link: str, *, forward: LinkSettings | None = None, backward: LinkSettings | None = None
    ) -> None:
        """Replace the settings of one or both directions, for packets that enter from now on."""

    def set_links(self, changes: dict[str, tuple[LinkSettings | None, LinkSettings | None]]) -> None:
        """Replace many settings in one step."""

    def cut(self, link: str) -> None:
        """Take both directions of the link down. Packets that are on it still arrive. Settings may be changed."""

    def heal(self, link: str) -> None:
        """End the cut. A direction whose settings say down stays down."""

    def block(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Drop what these source hosts send to these target hosts, before any link. Replaces earlier pairs."""

    def move(self, link: str, a: str, b: str) -> None:
        """Move a link between two other nodes. Routes change at once; packets that are on the link still arrive."""

    def stats(self, *, every_device: bool = False) -> FabricStats:
        """Counters of every link and the lateness histogram.

        Drops of a device may be noticed some snapshots later, unless ``every_device`` is read.
        """

    def capture(self, link: str, path: Path) -> None:
        """Write every packet that enters the link, in both directions, to a pcap file, lost ones included."""

    def stop_capture(self, link: str) -> None:
        """End the capture of the link. The file is complete when this returns."""

    def close(self) -> None:
        """Stop moving packets."""
