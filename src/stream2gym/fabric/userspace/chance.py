"""Seeded decisions about wire packets: which of the next n are lost, duplicated, reordered or corrupted.

The decision about the n-th packet does not depend on how packets are grouped into bursts, so that a seed repeats its
pattern with offload on and off.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from random import Random
from typing import Protocol

from stream2gym.link import Bursts


class RandomHits(Protocol):
    """Decides which of the next packets are hit."""

    def hits(self, count: int) -> Sequence[int]:
        """The positions, among the next ``count`` packets, that are hit."""


class Independent:
    """Every packet is hit with the same probability. Gaps between hits are drawn: one draw a hit, not a packet."""

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
    """Loss in bursts. Before each packet the state may change; the state decides how probable the loss is."""

    __slots__ = ("_bad", "_bursts", "_random")

    def __init__(self, bursts: Bursts, random: Random) -> None:
        self._bursts = bursts
        self._random = random
        self._bad = False

    def hits(self, count: int) -> Sequence[int]:
        draw, bursts, found = self._random.random, self._bursts, []
        for position in range(count):
            if draw() < (bursts.to_good if self._bad else bursts.to_bad):
                self._bad = not self._bad
            if draw() < (bursts.loss_bad if self._bad else bursts.loss_good):
                found.append(position)
        return found
