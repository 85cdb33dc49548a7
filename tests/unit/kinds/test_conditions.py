"""Conditions that faults wait for."""

from __future__ import annotations

import pytest

from stream2gym.kinds.conditions import normalize_condition, parse_condition


class Known:
    def number(self, name: str) -> float | None:
        return {"sent": 10_000.0, "acked": 9_000.0, "lag": 7.0}.get(name)

    def who_is(self, role: str) -> str | None:
        return {"controller": "broker-h2", "leader of in/1": "broker-h1"}.get(role)


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("10000 messages", True),
        ("10001 messages", False),
        ("lag > 5", True),
        ("lag <= 5", False),
        ("received > 0", False),
        ("acked >= 9000", True),
        ("acknowledged >= 9000", True),
        ("acknowledged > 9000", False),
        ("broker-h2 is controller", True),
        ("broker-h1 is controller", False),
        ("broker-h1 is not controller", True),
        ("broker-h1 is leader of in/1", True),
        ("broker-h1 is coordinator of g", False),
        ("broker-h1 is not coordinator of g", False),
    ],
)
def test_a_condition_holds_when_what_is_known_says_so(text: str, holds: bool) -> None:
    condition = parse_condition(text)

    assert condition is not None
    assert condition.holds(Known()) is holds


@pytest.mark.parametrize("text", ["lagg > 5", "lag > many", "broker-h1 is happy", ""])
def test_what_is_no_condition_says_what_would_be(text: str) -> None:
    with pytest.raises(ValueError, match="controller"):
        parse_condition(text)


@pytest.mark.parametrize(
    ("said", "stored"),
    [
        ("acknowledged > 10", "acked > 10"),
        ("acknowledged>10", "acked>10"),
        ("acked  >  10", "acked > 10"),
        ("broker-acknowledged is  controller", "broker-acknowledged is controller"),
    ],
)
def test_a_plan_holds_one_word_for_acknowledged(said: str, stored: str) -> None:
    assert normalize_condition(said) == stored
    assert parse_condition(said) == parse_condition(stored)
