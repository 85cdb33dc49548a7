"""When messages are due, where they go, under which key."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest

from stream2gym.clients.config import Arrivals, Keys, ProducerConfig, Sizes
from stream2gym.clients.load_schedule import dues, events, keys, trace
from stream2gym.errors import BadInput

S = 10**9


def first_dues(count: int, rate: float | None, arrivals: Arrivals | None = None) -> list[int | None]:
    return list(itertools.islice(dues(rate, arrivals or Arrivals(), itertools.repeat(1), Random(1)), count))


def test_constant_arrivals_never_drift() -> None:
    assert first_dues(4, 3.0) == [0, 333333333, 666666667, S]
    assert next(itertools.islice(dues(3.0, Arrivals(), itertools.repeat(1), Random(1)), 300_000, None)) == 100_000 * S


def test_no_rate_is_no_due_time() -> None:
    assert first_dues(2, None) == [None, None]


def test_poisson_arrivals_have_the_rate_and_its_spread() -> None:
    due = [d for d in first_dues(20_000, 1000.0, Arrivals("poisson")) if d is not None]
    gaps = [b - a for a, b in itertools.pairwise(due)]
    mean = sum(gaps) / len(gaps)
    assert mean == pytest.approx(1e6, rel=0.03)
    spread = (sum((gap - mean) ** 2 for gap in gaps) / len(gaps)) ** 0.5
    assert spread == pytest.approx(mean, rel=0.05)


def test_bursts_pause_between_them() -> None:
    due = first_dues(5, 2.0, Arrivals("bursts", on_s=1.0, off_s=3.0))
    assert due == [0, S // 2, 4 * S, 4 * S + S // 2, 8 * S]


def test_a_rate_of_bytes_counts_what_is_sent() -> None:
    config = ProducerConfig("b", "g", {"t": 1}, rate=100.0, rate_of="bytes", size=Sizes(mean=50), messages=4)
    assert [event.due for event in events(config)] == [0, S // 2, S, S + S // 2]
    assert [len(event.value) for event in events(config)] == [50] * 4


def test_a_trace_is_replayed_from_its_first_time(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("# when, what\n100.5,a\n101.5,b\n101.0,c\n\n104.5\n")
    assert trace(path, 1.0) == [0, S, S, 4 * S]
    assert trace(path, 2.0) == [0, S // 2, S // 2, 2 * S]
    path.write_text("2020-01-01 10:00:00\n2020-01-01T10:00:02.5\n")
    assert trace(path, 1.0) == [0, 2_500_000_000]


def test_a_trace_with_something_else_in_it_names_the_line(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("1\nsoon\n")
    with pytest.raises(BadInput, match=r"t\.csv:2"):
        trace(path, 1.0)


def test_messages_and_duration_both_end_the_load() -> None:
    config = ProducerConfig("b", "g", {"t": 1}, rate=10.0, duration_s=0.5)
    assert len(list(events(config))) == 5
    config = ProducerConfig("b", "g", {"t": 1}, rate=10.0, duration_s=0.5, messages=3)
    assert len(list(events(config, t0=77))) == 3
    assert next(events(config, t0=77)).due == 77


def test_keys_are_none_one_many_or_one_a_message() -> None:
    def some(wanted: Keys, count: int = 3) -> list[bytes | None]:
        return list(itertools.islice(keys(wanted, Random(1)), count))

    assert some(Keys()) == [None] * 3
    assert some(Keys("fixed", value="k")) == [b"k"] * 3
    assert some(Keys("sequence")) == [b"0", b"1", b"2"]
    uniform = Counter(some(Keys("uniform", count=4), 8000))
    assert set(uniform) == {b"key-0", b"key-1", b"key-2", b"key-3"}
    assert max(uniform.values()) < 1.2 * min(uniform.values())
    zipf = Counter(some(Keys("zipf", count=4, skew=1.0), 8000))
    assert zipf[b"key-0"] / zipf[b"key-3"] == pytest.approx(4, rel=0.2)


def test_topics_are_drawn_by_weight() -> None:
    config = ProducerConfig("b", "g", {"a": 3.0, "b": 1.0}, messages=8000)
    counts = Counter(event.topic for event in events(config))
    assert counts["a"] / counts["b"] == pytest.approx(3, rel=0.1)


def test_the_same_seed_gives_the_same_load_and_instances_differ() -> None:
    def load(**settings: Any) -> list[object]:
        config = ProducerConfig(
            "b", "g", {"a": 1, "b": 1}, rate=10, arrivals=Arrivals("poisson"), messages=50, **settings
        )  # fmt: skip
        return list(events(config))

    assert load(seed=5) == load(seed=5)
    assert load(seed=5) != load(seed=6)
    assert load(instance=1) != load(instance=2)
