"""An imperfect source: some events are late, out of order, duplicated, missing or noisy; the truth is recorded.

    missing     never sent
    late        sent ``late_by`` after it was due
    disordered  sent after one to ``disordered_by`` of the events that follow it
    duplicated  sent twice in a row: two messages, each with its own number
    noisy       its digits are changed to other digits (the first of a number never to 0), or one byte when it
                has none: the value is wrong, but its syntax is right

A missing event has no other flaw; late and disordered exclude each other. All random choices come from one seeded
generator, so that a run can be repeated.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterable, Iterator
from random import Random
from typing import NamedTuple

from stream2gym.clients.config import Imperfect
from stream2gym.clients.load_schedule import Event
from stream2gym.record.journal import DISORDERED, DUPLICATED, LATE, MISSING, NOISY

_DIGITS = re.compile(rb"\d+")


class Emission(NamedTuple):
    """What the source sends for an event; with the flaw MISSING it sends nothing."""

    event: Event  # with the value and the due time that it is sent with
    number: int
    happened: int | None  # when the event was due in truth
    clean: bytes
    flaws: int


def imperfectly(events: Iterable[Event], shares: Imperfect, rng: Random) -> Iterator[Emission]:
    """What an imperfect source sends instead of ``events``."""
    waiting: list[tuple[int, int, Emission]] = []  # late: until a time
    held: list[tuple[int, int, Emission]] = []  # disordered: until the event of a number
    late_ns = round(shares.late_by_s * 1e9)
    due: int | None = None
    last_in_place = -1
    for number, event in enumerate(events):
        due = event.due
        while waiting and due is not None and waiting[0][0] <= due:
            yield from _with_copy(heapq.heappop(waiting)[2])
        emission = _flawed(number, event, shares, rng)
        if emission.flaws & LATE:
            at = (due or 0) + late_ns
            heapq.heappush(waiting, (at, number, _at(at, emission)))
        elif emission.flaws & DISORDERED:
            heapq.heappush(held, (number + rng.randint(1, shares.disordered_by), number, emission))
        else:
            yield from _with_copy(emission)
            if not emission.flaws & MISSING:
                last_in_place = number
        while held and held[0][0] <= last_in_place:
            yield from _with_copy(_at(due, heapq.heappop(held)[2]))
    for _, number, emission in sorted(held):
        overtaken = number < last_in_place
        kept = emission if overtaken else emission._replace(flaws=emission.flaws & ~DISORDERED)
        yield from _with_copy(_at(due, kept))
    for _, _, emission in sorted(waiting):
        yield from _with_copy(emission)


def _flawed(number: int, event: Event, shares: Imperfect, rng: Random) -> Emission:
    missing, late, disordered, duplicated, noisy = (rng.random() for _ in range(5))
    flaws = 0
    value = event.value
    if missing < shares.missing:
        flaws = MISSING
    else:
        if late < shares.late and event.due is not None:
            flaws |= LATE
        elif disordered < shares.disordered:
            flaws |= DISORDERED
        if duplicated < shares.duplicated:
            flaws |= DUPLICATED
        if noisy < shares.noisy:
            flaws |= NOISY
            value = noise(value, rng)
    return Emission(event._replace(value=value), number, event.due, event.value, flaws)


def _at(due: int | None, emission: Emission) -> Emission:
    """The same emission with another due time."""
    return emission._replace(event=emission.event._replace(due=due))


def _with_copy(emission: Emission) -> Iterator[Emission]:
    """A duplicated event is sent twice; only the second copy is marked as duplicated."""
    yield emission._replace(flaws=emission.flaws & ~DUPLICATED)
    if emission.flaws & DUPLICATED:
        yield emission


def noise(value: bytes, rng: Random) -> bytes:
    """Another value of the same length and syntax."""
    if not value:
        return value

    def other(match: re.Match[bytes]) -> bytes:
        return b"%d" % rng.randint(10 ** (len(match[0]) - 1), 10 ** len(match[0]) - 1)

    for _ in range(8):
        changed = _DIGITS.sub(other, value)
        if changed != value:
            return changed
    at = rng.randrange(len(value))
    return value[:at] + bytes([(value[at] + rng.randint(1, 255)) % 256]) + value[at + 1 :]
