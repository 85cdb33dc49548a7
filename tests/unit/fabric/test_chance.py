"""Seeded decisions: right in the mean, the same again, and independent of how packets are grouped."""

from __future__ import annotations

import math
from random import Random

import pytest

from stream2gym.fabric.userspace.chance import GilbertElliott, Independent, RandomHits
from stream2gym.link import Bursts

BURSTS = Bursts(to_bad=0.02, to_good=0.2, loss_bad=0.8, loss_good=0.001)


def hits(fates: RandomHits, groups: list[int]) -> list[int]:
    found, base = [], 0
    for size in groups:
        found += [base + place for place in fates.hits(size)]
        base += size
    return found


@pytest.mark.parametrize("share", [0.001, 0.01, 0.1, 0.5])
def test_independent_hits_come_as_often_as_asked(share: float) -> None:
    total = 200_000
    count = len(hits(Independent(share, Random(1)), [1] * total))
    assert abs(count - total * share) < 2.58 * math.sqrt(total * share * (1 - share))


def test_a_share_of_one_hits_everything() -> None:
    assert hits(Independent(1.0, Random(1)), [3, 4]) == list(range(7))


@pytest.mark.parametrize("make", [lambda r: Independent(0.05, r), lambda r: GilbertElliott(BURSTS, r)])
def test_grouping_does_not_change_the_pattern(make) -> None:  # type: ignore[no-untyped-def]
    singles = hits(make(Random(7)), [1] * 4400)
    assert hits(make(Random(7)), [44] * 100) == singles
    assert singles
    assert hits(make(Random(8)), [1] * 4400) != singles


def test_bursty_loss_has_the_mean_and_the_run_length_of_its_states() -> None:
    bursts = Bursts(to_bad=0.01, to_good=0.25)
    total = 300_000
    lost = set(hits(GilbertElliott(bursts, Random(3)), [1] * total))
    assert len(lost) / total == pytest.approx(0.01 / 0.26, rel=0.05)
    runs = sum(place - 1 not in lost for place in lost)
    assert len(lost) / runs == pytest.approx(4.0, rel=0.05)
