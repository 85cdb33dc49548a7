"""Seeded decisions about wire packets: which of the next n are lost, doubled, overtaking or damaged.

The n-th packet that enters has the same fate however packets are grouped into bursts, so a seed repeats its
pattern with offload on and off.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from random import Random
from typing import Protocol

from stream2gym.link import Bursts


class Fates(Protocol):
    """Says which of the next packets are hit."""

    def hits(self, count: int) -> Sequence[int]:
        """The positions, among the next ``count`` packets, that are hit."""


class Independent:
    """Every packet is hit with the same probability, drawn as gaps between hits: one draw a hit, not a packet."""

    __slots__ = ("_log", "_next", "_random")

    def __init__(self, share: float, random: Random) -> None:
        self._random = random
        self._log = math.log1p(-share) if share < 1 else -math.inf
        self._next = self._gap()

    def _gap(self) -> int:
        return int(math.log(1.0 - self._random.random()) / self._log)

    def hits(self, count: int) -> Sequence[int]:
        position = self._next
        if position >= count:
            self._next = position - count
            return ()
        found = []
        while position < count:
            found.append(position)
            position += 1 + self._gap()
        self._next = position - count
        return found


class GilbertElliott:
    """Loss in bursts: before each packet the state may change, then the packet is lost as the state says."""

    __slots__ = ("_bad", "_bursts", "_random")

    def __init__(self, bursts: Bursts, random: Random) -> None:
        self._bursts, self._random, self._bad = bursts, random, False

    def hits(self, count: int) -> Sequence[int]:
        draw, bursts, found = self._random.random, self._bursts, []
        for position in range(count):
            if draw() < (bursts.to_good if self._bad else bursts.to_bad):
                self._bad = not self._bad
            if draw() < (bursts.loss_bad if self._bad else bursts.loss_good):
                found.append(position)
        return found


def jitter(shape: str, spread_ns: float, random: Random) -> float:
    """What one packet's latency differs by: mean zero; the spread is a standard deviation, or a bound if uniform."""
    if shape == "uniform":
        return random.uniform(-spread_ns, spread_ns)
    if shape == "pareto":
        # Shape 3: mean 3/2, variance 3/4; shifted and scaled to mean zero and the spread asked for.
        return (random.paretovariate(3.0) - 1.5) / math.sqrt(0.75) * spread_ns
    return random.gauss(0.0, spread_ns)
