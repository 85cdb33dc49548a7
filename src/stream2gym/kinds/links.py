"""What can be said about a link, in whole or one way: for topologies that set it and faults that change it."""

from __future__ import annotations

import math
from typing import Annotated, Any

from pydantic import Discriminator, Field, Tag, model_validator

from stream2gym.kinds.base import TEXT, Model, Whole
from stream2gym.link import Bursts, JitterShape, LinkSettings
from stream2gym.units import Bandwidth, Duration, Share, Size


class Jitter(Model):
    """How much the latency varies, and how it is distributed."""

    SHORT = (TEXT,)

    amount: Duration
    shape: JitterShape = "normal"

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return value if isinstance(value, dict | Jitter) else {"amount": value}


class BurstLoss(Model):
    """Gilbert-Elliott: shares of packets that change from good to bad and back, and that are lost in each."""

    to_bad: Share
    to_good: Share
    loss_bad: Share = Share(1.0)
    loss_good: Share = Share(0.0)


class Queue(Model):
    """How much may wait before a link, in packets, in bytes, or both."""

    SHORT = (TEXT, {"type": "integer"})

    packets: Whole | None = Field(default=None, ge=1)
    bytes: Size | None = None

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        if isinstance(value, int) and not isinstance(value, bool):
            return {"packets": value}
        if isinstance(value, str):
            number, _, unit = value.strip().partition(" ")
            if unit.strip() in ("packets", "packet", "pkts", "p", "") and number.isdecimal():
                return {"packets": number}
            return {"bytes": value}
        return value


def _loss_form(value: Any) -> str:
    return "bursts" if isinstance(value, dict | BurstLoss) else "share"


Loss = Annotated[
    Annotated[Share, Tag("share")] | Annotated[BurstLoss, Tag("bursts")], Discriminator(_loss_form)
]


class LinkChange(Model):
    """Settings of a link, or of one direction of it; what is not given stays as it is."""

    latency: Duration | None = None
    jitter: Jitter | None = None
    bandwidth: Bandwidth | None = None
    loss: Loss | None = None
    duplicate: Share | None = None
    reorder: Share | None = None
    corrupt: Share | None = None
    queue: Queue | None = None
    mtu: Whole | None = Field(default=None, ge=576, le=65535)
    up: bool | None = None

    def apply(self, base: LinkSettings) -> LinkSettings:
        """The settings that ``base`` becomes under this change."""
        values = {name: getattr(base, name) for name in LinkSettings.__dataclass_fields__}
        if self.latency is not None:
            values["latency_ms"] = self.latency.in_ms
        if self.jitter is not None:
            values |= {"jitter_ms": self.jitter.amount.in_ms, "jitter_shape": self.jitter.shape}
        if self.bandwidth is not None:
            values["bandwidth_bps"] = None if math.isinf(self.bandwidth) else float(self.bandwidth)
        if isinstance(self.loss, BurstLoss):
            values |= {"loss": 0.0, "bursts": Bursts(**{k: float(v) for k, v in self.loss})}
        elif self.loss is not None:
            values |= {"loss": float(self.loss), "bursts": None}
        for name in ("duplicate", "reorder", "corrupt"):
            share = getattr(self, name)
            if share is not None:
                values[name] = float(share)
        if self.queue is not None:
            size = self.queue.bytes
            values |= {
                "queue_packets": self.queue.packets,
                "queue_bytes": None if size is None else int(size),
            }
        for name in ("mtu", "up"):
            plain = getattr(self, name)
            if plain is not None:
                values[name] = plain
        return LinkSettings(**values)
