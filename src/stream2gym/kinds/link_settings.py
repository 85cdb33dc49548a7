"""The settings of a link or of one of its directions. Topologies set them, and faults change them."""

from __future__ import annotations

import math
from typing import Annotated, Any

from pydantic import Discriminator, Field, Tag, model_validator

from stream2gym.kinds.settings import TEXT, Model, Whole
from stream2gym.link import Bursts, JitterShape, LinkSettings
from stream2gym.units import Bandwidth, Duration, Share, Size


class Jitter(Model):
    """How much the latency varies, and with which distribution."""

    SHORT = (TEXT,)

    amount: Duration = Field(description="how much, like 1 ms")
    shape: JitterShape = Field(default="normal", description="its distribution")

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return value if isinstance(value, dict | Jitter) else {"amount": value}


class BurstLoss(Model):
    """Loss in bursts (Gilbert-Elliott): chances to enter and leave the bad state, and the loss in each state."""

    to_bad: Share = Field(description="chance at each packet to enter the bad state")
    to_good: Share = Field(description="chance at each packet to leave it")
    loss_bad: Share = Field(default=Share(1.0), description="share of packets lost in the bad state")
    loss_good: Share = Field(default=Share(0.0), description="share of packets lost in the good state")


class Queue(Model):
    """How much may wait before a link: packets, bytes, or both."""

    SHORT = (TEXT, {"type": "integer"})

    packets: Whole | None = Field(default=None, ge=1, description="how many packets may wait")
    bytes: Size | None = Field(default=None, description="how many bytes may wait")

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


Loss = Annotated[Annotated[Share, Tag("share")] | Annotated[BurstLoss, Tag("bursts")], Discriminator(_loss_form)]


class LinkChange(Model):
    """Settings of a link or of one of its directions. Settings that are not given stay as they are."""

    latency: Duration | None = Field(default=None, description="propagation one way, like 5 ms")
    jitter: Jitter | None = Field(
        default=None, description="how much the latency varies, like 1 ms, or {amount, shape}"
    )
    bandwidth: Bandwidth | None = Field(default=None, description="each way, like 100 Mbps, or unlimited")
    loss: Loss | None = Field(
        default=None,
        description="share of packets lost, like 0.1 %, or bursts: {to_bad, to_good, loss_bad, loss_good}",
    )
    duplicate: Share | None = Field(default=None, description="share of packets that arrive twice")
    reorder: Share | None = Field(default=None, description="share of packets that overtake others")
    corrupt: Share | None = Field(default=None, description="share of packets with a wrong byte")
    queue: Queue | None = Field(default=None, description="what may wait at the head of the link: packets, or a size")
    mtu: Whole | None = Field(default=None, ge=576, le=65535, description="largest packet in bytes, 576 to 65535")
    up: bool | None = Field(default=None, description="whether it is up at the start")

    def apply(self, base: LinkSettings) -> LinkSettings:
        """``base`` with the settings of this change."""
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
