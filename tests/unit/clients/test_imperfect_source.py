"""Imperfect sources: each flaw has its share, its effect, and its truth."""

from __future__ import annotations

import itertools
import json
from random import Random

import pytest

from stream2gym.clients.config import Imperfect
from stream2gym.clients.imperfect_source import Emission, imperfectly, noise
from stream2gym.clients.load_schedule import Event
from stream2gym.record.journal import DISORDERED, DUPLICATED, LATE, MISSING, NOISY

COUNT = 4000


def source(count: int = COUNT) -> list[Event]:
    return [Event(n * 1000, "t", None, b"%06d" % n) for n in range(count)]


def emitted(**shares: float) -> list[Emission]:
    return list(imperfectly(source(), Imperfect(**shares), Random(1)))  # type: ignore[arg-type]


def share_of(flaw: int, emissions: list[Emission]) -> float:
    return sum(bool(emission.flaws & flaw) for emission in emissions) / COUNT


def test_a_perfect_source_sends_every_event_as_it_is() -> None:
    emissions = emitted()
    assert [emission.event for emission in emissions] == source()
    assert all(emission.flaws == 0 and emission.happened == emission.event.due for emission in emissions)


def test_missing_events_are_told_and_not_sent() -> None:
    emissions = emitted(missing=0.1)
    assert share_of(MISSING, emissions) == pytest.approx(0.1, abs=0.02)
    assert [emission.number for emission in emissions] == list(range(COUNT))


def test_late_events_come_later_by_the_set_time_in_order_of_time() -> None:
    emissions = emitted(late=0.1, late_by_s=50e-6)
    late = [emission for emission in emissions if emission.flaws & LATE]
    assert share_of(LATE, emissions) == pytest.approx(0.1, abs=0.02)
    assert all((e.event.due or 0) - (e.happened or 0) == 50_000 for e in late)
    due = [emission.event.due or 0 for emission in emissions]
    assert due == sorted(due)
    assert sorted(emission.number for emission in emissions) == list(range(COUNT))


def test_disordered_events_follow_a_few_of_their_successors() -> None:
    emissions = emitted(disordered=0.1, disordered_by=5)
    assert share_of(DISORDERED, emissions) == pytest.approx(0.1, abs=0.02)
    assert sorted(emission.number for emission in emissions) == list(range(COUNT))
    in_place = [emission.number for emission in emissions if not emission.flaws & DISORDERED]
    assert in_place == sorted(in_place)
    for position, emission in enumerate(emissions):
        if emission.flaws & DISORDERED:
            ahead = [e.number for e in emissions[:position] if e.number > emission.number]
            assert 1 <= len(ahead) <= 10


def test_an_event_that_nothing_overtook_is_not_called_disordered() -> None:
    emissions = list(imperfectly(source(10), Imperfect(disordered=1.0), Random(1)))
    assert [emission.flaws for emission in emissions] == [0] * 10


def test_duplicated_events_are_sent_twice_and_only_the_second_is_the_duplicate() -> None:
    emissions = emitted(duplicated=0.1)
    assert share_of(DUPLICATED, emissions) == pytest.approx(0.1, abs=0.02)
    for first, second in itertools.pairwise(emissions):
        if second.flaws & DUPLICATED:
            assert (first.number, first.event, first.flaws) == (second.number, second.event, 0)
    assert len(emissions) == COUNT + sum(bool(emission.flaws & DUPLICATED) for emission in emissions)


def test_noisy_events_differ_from_the_truth_and_others_do_not() -> None:
    emissions = emitted(noisy=0.1)
    assert share_of(NOISY, emissions) == pytest.approx(0.1, abs=0.02)
    assert all((e.event.value != e.clean) == bool(e.flaws & NOISY) for e in emissions)
    assert all(e.clean == b"%06d" % e.number for e in emissions)


def test_noise_keeps_length_and_syntax() -> None:
    rng = Random(2)
    reading = b'{"id": 17, "t": 20.5, "name": "x"}'
    for _ in range(100):
        changed = noise(reading, rng)
        assert changed != reading
        assert len(changed) == len(reading)
        assert json.loads(changed)["name"] == "x"
    assert noise(b"abc", rng) != b"abc"
    assert noise(b"", rng) == b""


def test_all_flaws_together_lose_no_event_and_repeat_with_the_seed() -> None:
    shares = {
        "late": 0.1,
        "late_by_s": 1e-4,
        "disordered": 0.1,
        "duplicated": 0.1,
        "missing": 0.1,
        "noisy": 0.1,
    }
    emissions = emitted(**shares)
    assert {emission.number for emission in emissions} == set(range(COUNT))
    assert emissions == emitted(**shares)


def test_a_source_without_a_pace_has_no_late_events() -> None:
    events = [Event(None, "t", None, b"x%d" % n) for n in range(100)]
    emissions = list(imperfectly(events, Imperfect(late=1.0), Random(1)))
    assert [emission.flaws for emission in emissions] == [0] * 100
