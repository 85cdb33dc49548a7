"""Jitter as a smooth, seeded function of time, so that mean and spread hold at any packet rate.

Packets must not overtake each other. If each of them drew a delay of its own, a packet with a short delay would wait
for the one before it, and the mean would rise with the packet rate. Here the delay is a curve over time instead, and
every packet takes the value of the moment at which it enters. A packet that enters at ``t`` arrives at ``t + d(t)``,
so packets keep their order without waiting as long as ``d`` never falls by more than a second in a second.

The curve has knots, which are independent normal numbers, one every ``8 * spread``. Between two knots it is ``a *
cos(x) + b * sin(x)``, with ``x`` from 0 to a quarter turn. The squares of the weights add up to one, so that the
value has a standard normal distribution at every moment. Its slope is at most ``pi / 2 * sqrt(a**2 + b**2)`` a knot;
knots are kept within 3.6 standard deviations (all but 3 in 10,000 are), and so the normal curve never falls too fast.
The other shapes are quantile transforms of the same curve. The uniform one is flatter. The long tail of Pareto is
steep: about one packet in a hundred waits for the one before it, which moves the mean by a hundredth of the spread or
less.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist

from stream2gym.link import JitterShape

# Spreads between two knots.
_KNOT_GAP = 8.0
# The bound of knots, in standard deviations.
_FARTHEST_KNOT = 3.6
_WORD = (1 << 64) - 1
_NORMAL = NormalDist()
_LOWEST = _NORMAL.cdf(-_FARTHEST_KNOT)
# Pareto of shape 3, bounded at ten times its minimum, which one value in a thousand would exceed.
_PARETO_BOUND = 10.0
_PARETO_MASS = 1.0 - _PARETO_BOUND**-3
_PARETO_MEAN = 1.5 * (1.0 - _PARETO_BOUND**-2) / _PARETO_MASS
_PARETO_DEVIATION = math.sqrt(3.0 * (1.0 - 1.0 / _PARETO_BOUND) / _PARETO_MASS - _PARETO_MEAN**2)


class JitterCurve:
    """The deviation of the latency, from the first moment that is asked for. The same seed gives the same curve.

    The mean is zero. The spread is a standard deviation, or the bound on either side if the shape is uniform.
    """

    __slots__ = ("_gap_ns", "_knot", "_left", "_right", "_seed", "_spread_ns", "_start_ns", "_transform")

    def __init__(self, shape: JitterShape, spread_ns: float, seed: int) -> None:
        self._transform = _TRANSFORMS[shape]
        self._spread_ns = spread_ns
        self._gap_ns = _KNOT_GAP * spread_ns
        self._seed = seed
        self._start_ns: int | None = None
        self._knot: int | None = None
        self._left = self._right = 0.0

    def at(self, time_ns: int) -> int:
        """The deviation in nanoseconds for a packet that enters at this time."""
        if self._start_ns is None:
            self._start_ns = time_ns
        place = (time_ns - self._start_ns) / self._gap_ns
        knot = math.floor(place)
        if knot != self._knot:
            self._left = self._right if knot - 1 == self._knot else _draw_knot(self._seed, knot)
            self._right = _draw_knot(self._seed, knot + 1)
            self._knot = knot
        angle = (place - knot) * (math.pi / 2)
        value = self._left * math.cos(angle) + self._right * math.sin(angle)
        return round(self._transform(value) * self._spread_ns)


def _draw_knot(seed: int, number: int) -> float:
    """A normal number that depends only on the seed and the number of the knot (SplitMix64, then the quantile)."""
    word = (seed + number * 0x9E3779B97F4A7C15) & _WORD
    word = ((word ^ word >> 30) * 0xBF58476D1CE4E5B9) & _WORD
    word = ((word ^ word >> 27) * 0x94D049BB133111EB) & _WORD
    share = ((word ^ word >> 31) + 0.5) / (_WORD + 1)
    return _NORMAL.inv_cdf(_LOWEST + share * (1.0 - 2.0 * _LOWEST))


def _as_normal(value: float) -> float:
    return value


def _as_uniform(value: float) -> float:
    return math.erf(value / math.sqrt(2.0))


def _as_pareto(value: float) -> float:
    share = 0.5 * math.erfc(-value / math.sqrt(2.0))
    return (math.pow(1.0 - share * _PARETO_MASS, -1 / 3) - _PARETO_MEAN) / _PARETO_DEVIATION


_TRANSFORMS: dict[JitterShape, Callable[[float], float]] = {
    "normal": _as_normal,
    "uniform": _as_uniform,
    "pareto": _as_pareto,
}
