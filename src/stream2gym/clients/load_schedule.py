"""The load of a producer: when each message is due, its topic, key and value. Pure functions of a seed.

Due times count from t0 and do not depend on the client or the network, so that a stall appears as delay and never as
fewer messages. ``None`` means as soon as the message before is sent.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from random import Random
from typing import NamedTuple, TypeVar

from stream2gym.clients.config import Arrivals, Keys, ProducerConfig
from stream2gym.clients.payloads import values
from stream2gym.errors import BadInput, Mistake

T = TypeVar("T")
_DRAWN_AT_ONCE = 1024


class Event(NamedTuple):
    """One event of a source."""

    due: int | None
    topic: str
    key: bytes | None
    value: bytes
    timestamp_ms: int = 0  # of the record in Kafka; 0: when it is sent


def warmup_events(config: ProducerConfig, begin: int) -> Iterator[Event]:
    """The events of the warm-up, without end: the same kind of load at the same rate, whatever limits the load has.

    A file is replayed again and again, and so are the times of a trace. The load that follows is the same as without
    a warm-up: nothing of it is drawn or read here. STANDARD values and the keys of ``sequence`` differ from those of
    the load, so that no message of the warm-up is taken for one of the load.
    """
    if config.messages == 0 or config.passes == 0:
        return iter(())
    unlimited = dataclasses.replace(config, messages=None, passes=None, duration_s=None)
    return _events(unlimited, begin, is_warmup=True)


def events(config: ProducerConfig, t0: int = 0) -> Iterator[Event]:
    """All events of a source without flaws, in order."""
    return _events(config, t0)


def _events(config: ProducerConfig, t0: int, *, is_warmup: bool = False) -> Iterator[Event]:
    own = f"{config.seed}/{config.name}/{config.instance}" + ("/warmup" if is_warmup else "")
    rng = {part: Random(f"{own}/{part}") for part in ("topics", "values", "keys", "arrivals")}
    names = list(config.topics)
    topics = draws(names, list(config.topics.values()), rng["topics"])
    messages = values(config, topics, rng["values"], is_warmup=is_warmup)
    if config.messages is not None:
        messages = itertools.islice(messages, config.messages)
    if config.rate_of == "bytes" and config.rate is not None:
        messages, sized = itertools.tee(messages)
        work: Iterable[int] = (len(value) for _, value in sized)
    else:
        work = itertools.repeat(1)
    due = dues(config.rate, config.arrivals, work, rng["arrivals"], is_warmup=is_warmup)
    made = (
        Event(None if at is None else t0 + at, topic, key, value)
        for at, (topic, value), key in zip(
            due, messages, keys(config.keys, rng["keys"], is_warmup=is_warmup), strict=False
        )
    )
    if config.duration_s is None:
        return made
    end = t0 + round(config.duration_s * 1e9)
    return itertools.takewhile(lambda event: event.due is None or event.due < end, made)


def dues(
    rate: float | None, arrivals: Arrivals, work: Iterable[int], rng: Random, *, is_warmup: bool = False
) -> Iterator[int | None]:
    """Due times. ``work`` is the part of the rate that each message takes: 1, or its bytes."""
    if arrivals.kind == "trace":
        times = trace(Path(arrivals.file or ""), arrivals.speed)
        return _repeat_trace(times) if is_warmup else iter(times)
    if rate is None:
        return itertools.repeat(None)
    at = _poisson(work, rate, rng) if arrivals.kind == "poisson" else _constant(work, rate)
    return _bursts(at, arrivals) if arrivals.kind == "bursts" else (round(seconds * 1e9) for seconds in at)


def _constant(work: Iterable[int], rate: float) -> Iterator[float]:
    done = 0  # whole units, so that no error adds up
    for units in work:
        yield done / rate
        done += units


def _poisson(work: Iterable[int], rate: float, rng: Random) -> Iterator[float]:
    at = 0.0
    for units in work:
        at += rng.expovariate(1.0) * units / rate
        yield at


def _bursts(at: Iterator[float], arrivals: Arrivals) -> Iterator[int]:
    """Load at the rate for ``on_s``, then nothing for ``off_s``, repeated."""
    for seconds in at:
        round_number, within = divmod(seconds, arrivals.on_s)
        yield round((round_number * (arrivals.on_s + arrivals.off_s) + within) * 1e9)


def trace(path: Path, speed: float) -> list[int]:
    """Due times from a file with one time stamp on each line: seconds, or ISO 8601; text after a comma is ignored.

    Times count from the first one. A message whose time is before that of its predecessor is due with it.
    """
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(Mistake("arrivals.file", f"{path} cannot be read: {error}")) from error
    times: list[float] = []
    for number, line in enumerate(lines, 1):
        stamp = line.replace(";", ",").replace("\t", ",").split(",", 1)[0].strip()
        if not stamp or stamp.startswith("#"):
            continue
        try:
            times.append(_seconds(stamp))
        except ValueError:
            wrong = Mistake("arrivals.file", f"{stamp!r} is no time", "seconds or ISO 8601", str(path), number)
            raise BadInput(wrong) from None
    due = (round((at - times[0]) / speed * 1e9) for at in times)
    return list(itertools.accumulate(due, max))


def _repeat_trace(times: list[int]) -> Iterator[int]:
    """The due times of a trace, repeated without end. A round begins the mean gap after the end of the one before."""
    if not times:
        return
    period = times[-1] + (times[-1] // (len(times) - 1) if len(times) > 1 else 0)
    for round_number in itertools.count():
        yield from (round_number * (period or 1_000_000_000) + at for at in times)


def _seconds(stamp: str) -> float:
    try:
        return float(stamp)
    except ValueError:
        return datetime.fromisoformat(stamp).timestamp()


def keys(wanted: Keys, rng: Random, *, is_warmup: bool = False) -> Iterator[bytes | None]:
    if wanted.kind == "fixed":
        return itertools.repeat((wanted.value or "").encode())
    if wanted.kind == "sequence":
        return ((b"w%d" if is_warmup else b"%d") % n for n in itertools.count())
    if wanted.kind == "none":
        return itertools.repeat(None)
    skew = wanted.skew if wanted.kind == "zipf" else 0.0
    weights = [1 / rank**skew for rank in range(1, wanted.count + 1)]
    return draws([b"key-%d" % n for n in range(wanted.count)], weights, rng)


def draws(population: list[T], weights: list[float], rng: Random) -> Iterator[T]:
    """An endless series of random choices with these weights."""
    if len(population) == 1:
        return itertools.repeat(population[0])
    cumulated = list(itertools.accumulate(weights))
    return itertools.chain.from_iterable(
        rng.choices(population, cum_weights=cumulated, k=_DRAWN_AT_ONCE) for _ in itertools.count()
    )
