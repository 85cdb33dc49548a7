"""Ticks and scales: pure arithmetic that every axis rests on."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream2gym.figures.figure import Axis
from stream2gym.figures.number_text import show
from stream2gym.figures.scales import log_ticks, make_scale, nice_ticks

finite = st.floats(-1e12, 1e12, allow_nan=False)


@given(finite, st.floats(1e-6, 1e12), st.integers(1, 20))
def test_ticks_rise_and_stay_inside_the_range(low: float, span: float, about: int) -> None:
    span = max(span, abs(low) * 1e-6)  # make_scale widens what is narrower
    high = low + span
    ticks = nice_ticks(low, high, about)
    slack = span * 1e-6 + abs(low) * 1e-9
    assert ticks == sorted(set(ticks))
    assert all(low - slack <= tick <= high + slack for tick in ticks)
    assert len(ticks) <= about + 1


@given(st.floats(1e-9, 1e6), st.floats(1.5, 1e9), st.integers(1, 12))
def test_log_ticks_rise_and_stay_inside_the_range(low: float, factor: float, about: int) -> None:
    ticks = log_ticks(low, low * factor, about)
    assert ticks == sorted(set(ticks))
    assert all(low * 0.999 <= tick <= low * factor * 1.001 for tick in ticks)


@given(st.lists(st.floats(0, 1e9), min_size=1), st.sampled_from(["linear", "log", "percentile"]))
def test_a_scale_places_every_value_between_its_ends_and_keeps_their_order(values: list[float], kind: str) -> None:
    scale = make_scale(Axis("x", "s", kind), values)  # type: ignore[arg-type]
    places = [scale.place(value) for value in sorted(values)]
    assert all(0 <= place <= 1 for place in places)
    assert places == sorted(places)


def test_an_axis_of_one_value_still_has_a_range() -> None:
    scale = make_scale(Axis("x"), [5.0, 5.0])
    assert scale.high > scale.low


def test_the_unit_follows_the_size_of_the_values() -> None:
    assert make_scale(Axis("latency", "s"), [0.0, 0.004]).caption == "latency (ms)"
    assert make_scale(Axis("latency", "s"), [0.0, 4.0]).caption == "latency (s)"
    assert make_scale(Axis("rate", "bps"), [0.0, 2e8]).caption == "rate (Mbps)"


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.00512, "s", "5.12 ms"),
        (0.0, "s", "0 s"),
        (1234567.0, "", "1,234,567"),
        (0.999999, "share", "99.9999 %"),
        (1.0, "share", "100 %"),
        (0.0000001, "share", "0.00001 %"),
        (2.5e9, "bps", "2.5 Gbps"),
        (999.96, "/s", "1,000/s"),
        (0.0, "B", "0 B"),
        (0.0, "share", "0 %"),
        (None, "s", "–"),
        (float("nan"), "s", "–"),
        (float("inf"), "bps", "∞"),
    ],
)
def test_numbers_read_well_and_never_round_a_loss_away(value: float | None, unit: str, text: str) -> None:
    assert show(value, unit) == text


def test_between_whole_numbers_there_is_no_tick() -> None:
    axis = Axis("workers", low=0.88, high=4.12, is_whole=True)
    assert [tick.text for tick in make_scale(axis, (1, 2, 4)).ticks(8)] == ["1", "2", "3", "4"]
