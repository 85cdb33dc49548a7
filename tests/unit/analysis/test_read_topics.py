"""Which topics an observed program reads: what it asked for counts, also where it never got a partition."""

from __future__ import annotations

from typing import Any

import pytest

from stream2gym.analysis.program_observation import find_read_topics

TOPICS = ["topic-0", "topic-1", "other"]
CLIENT = {"event": "observed", "component": "eat", "role": "consumer", "group": "g", "start": "earliest"}


def read_by(*events: dict[str, Any]) -> set[str]:
    found = find_read_topics([CLIENT, *({"component": "eat", "group": "g", **event} for event in events)], TOPICS)
    return {topic for _, topic in found.get("eat", {})}


def test_a_member_that_never_got_a_partition_wanted_what_it_subscribed_to() -> None:
    assert read_by({"event": "subscribed", "topics": ["other"]}) == {"other"}
    assert read_by({"event": "subscribed", "topics": [], "pattern": "^topic-*"}) == {"topic-0", "topic-1"}
    assert read_by({"event": "subscribed", "topics": ["^topic-1$"]}) == {"topic-1"}


@pytest.mark.parametrize("pattern", ["^topic-[", "(?P<"])
def test_of_a_pattern_in_another_dialect_only_what_was_assigned_is_known(pattern: str) -> None:
    subscribed = {"event": "subscribed", "topics": [], "pattern": pattern}
    assert read_by(subscribed) == set()
    assert read_by(subscribed, {"event": "assigned", "partitions": [["topic-0", 0, -1]]}) == {"topic-0"}
