"""The character of a link, one direction at a time: plain data that spec, plan, fabric and faults share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from stream2gym.jsonable import Jsonable

JitterShape = Literal["normal", "uniform", "pareto"]


@dataclass(frozen=True)
class Bursts(Jsonable):
    """Gilbert-Elliott loss: each packet moves between a good and a bad state and may be lost in either."""

    to_bad: float
    to_good: float
    loss_bad: float = 1.0
    loss_good: float = 0.0


@dataclass(frozen=True)
class LinkSettings(Jsonable):
    """One direction of a link. Shares are fractions of one, counted in packets of the wire (MTU)."""

    latency_ms: float = 0.0
    jitter_ms: float = 0.0
    jitter_shape: JitterShape = "normal"
    bandwidth_bps: float | None = None  # None: unlimited
    loss: float = 0.0
    bursts: Bursts | None = None  # instead of independent loss
    duplicate: float = 0.0
    reorder: float = 0.0  # share that skips this link's latency and so overtakes
    corrupt: float = 0.0  # share that gets one bit flipped
    queue_packets: int | None = None  # where neither is given, ``usual_queue`` packets
    queue_bytes: int | None = None
    mtu: int = 1500
    up: bool = True

    @property
    def usual_queue(self) -> int | None:
        """Packets that wait at most where no queue was asked for: 20 ms, or the link's own round trip if longer.

        Enough that one TCP stream fills the link; so little that several come to share it within seconds, which
        behind the deep queues of emulators they do not.
        """
        if self.bandwidth_bps is None or self.queue_packets is not None or self.queue_bytes is not None:
            return self.queue_packets
        seconds = max(0.020, 2 * self.latency_ms / 1e3)
        return min(1000, max(50, round(self.bandwidth_bps * seconds / 8 / self.mtu)))
