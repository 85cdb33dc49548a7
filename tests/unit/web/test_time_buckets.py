"""Numbers over time stay bounded and keep their sums."""

from __future__ import annotations

import pytest

from stream2gym.web.time_buckets import MOST_VALUES, TimeBuckets

S = 1_000_000_000
KEY = ("source", "object", "metric")


def test_what_happens_in_a_bucket_adds_up_and_states_are_the_latest() -> None:
    buckets = TimeBuckets(0)
    buckets.add(KEY, 1 * S, 2)
    buckets.add(KEY, 1 * S + 1, 3)
    buckets.set(("", "", "state"), 1 * S, 7)
    buckets.set(("", "", "state"), 1 * S + 5, 9)
    assert buckets.value(KEY, 2) == 5
    assert buckets.rate(KEY, 2) == 10
    assert buckets.value(("", "", "state"), 2) == 9
    assert buckets.value(("", "", "state"), 4) is None
    assert buckets.value(("", "", "state"), 4, carry=2) == 9


def test_an_amount_is_shared_by_time() -> None:
    buckets = TimeBuckets(0)
    buckets.spread(KEY, S // 4, S + S // 4, 100)
    assert [buckets.value(KEY, bucket) for bucket in range(3)] == [25, 50, 25]
    buckets.spread(("", "", "moment"), S, S, 5)
    assert buckets.value(("", "", "moment"), 2) == 5


def test_a_long_run_has_wider_buckets_and_the_same_sums() -> None:
    buckets = TimeBuckets(0, most=10)
    for second in range(100):
        buckets.add(KEY, second * S, 1)
        buckets.set(("", "", "state"), second * S, second)
        buckets.add_latency(second * S, second)
    assert buckets.bucket(99 * S) < 10
    assert buckets.total(KEY, 10**9) == 100
    assert buckets.latest(("", "", "state"), 10) == 99
    assert len(buckets.latencies_until(10)) == 100


def test_the_latencies_of_a_bucket_are_bounded() -> None:
    buckets = TimeBuckets(0)
    for number in range(10 * MOST_VALUES):
        buckets.add_latency(0, number)
    assert len(buckets.latencies_until(0)) == MOST_VALUES
    assert buckets.latency(0, 0.5) == pytest.approx(MOST_VALUES / 2)
    assert buckets.latency(1, 0.5) is None


def test_too_many_series_are_left_out_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stream2gym.web.time_buckets.MOST_SERIES", 3)
    buckets = TimeBuckets(0)
    for number in range(5):
        buckets.add(("", "", str(number)), 0, 1)
    assert len(buckets.list_keys()) == 3
    assert buckets.left_out == 2
