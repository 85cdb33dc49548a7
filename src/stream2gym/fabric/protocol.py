"""The ``Fabric`` protocol: what moves packets between hosts and gives every link its character.

An implementation is built over hosts that exist already and must pass ``tests/contract`` unchanged.
Links are named as in the plan (``"h1 -- s1"``); a direction is ``"forward"`` (a to b) or ``"backward"``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from stream2gym.jsonable import Jsonable
from stream2gym.link import LinkSettings

Direction = Literal["forward", "backward"]


@dataclass(frozen=True)
class LinkCounters(Jsonable):
    """Wire packets of one direction since the start: entered = delivered + dropped + in_flight.

    ``entered`` counts copies made by duplication too, so that the sum holds.
    """

    link: str
    direction: str
    entered_packets: int = 0
    entered_bytes: int = 0
    delivered_packets: int = 0
    delivered_bytes: int = 0
    in_flight_packets: int = 0
    dropped: dict[str, int] = field(default_factory=dict)  # by cause: loss, queue, down, mtu
    duplicated: int = 0
    reordered: int = 0
    corrupted: int = 0
    queue_bytes: int = 0
    queue_bytes_max: int = 0


@dataclass(frozen=True)
class Lateness(Jsonable):
    """How late packets left against their due time: counts per bucket with upper bounds in microseconds."""

    bounds_us: tuple[float, ...]
    counts: tuple[int, ...]
    max_us: float = 0.0


@dataclass(frozen=True)
class FabricStats(Jsonable):
    """One consistent snapshot."""

    at_ns: int  # CLOCK_MONOTONIC
    links: tuple[LinkCounters, ...]
    lateness: Lateness
    unasked_drops: dict[str, int]  # drops that no link asked for, by cause
    cpu_s: float
    no_route: int = 0  # packets for an address that no host has or that no path leads to
    blocked: int = 0  # packets between hosts that are kept from reaching each other


class Fabric(Protocol):
    """Moves packets until closed. Every call returns after the change is in force."""

    def set_link(
        self, link: str, *, forward: LinkSettings | None = None, backward: LinkSettings | None = None
    ) -> None:
        """Replace the settings of one or both directions, for packets that enter from now on."""

    def set_links(self, changes: dict[str, tuple[LinkSettings | None, LinkSettings | None]]) -> None:
        """Replace many settings in one step."""

    def cut(self, link: str) -> None:
        """Take the link down, both directions; packets already on it arrive. Settings may still change."""

    def heal(self, link: str) -> None:
        """End the cut. A direction whose settings say down stays down."""

    def block(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Drop what these source hosts send to these target hosts, before any link; replaces earlier pairs."""

    def move(self, link: str, a: str, b: str) -> None:
        """Let a link lead between two other nodes; routes follow at once, packets already on it arrive."""

    def stats(self) -> FabricStats:
        """Counters of every link and the lateness histogram."""

    def capture(self, link: str, path: Path) -> None:
        """Start writing what enters the link, both directions, to a pcap file, before any of it is lost."""

    def stop_capture(self, link: str) -> None:
        """Finish the capture of the link; the file is complete when this returns."""

    def close(self) -> None:
        """Stop moving packets."""
