"""What all nodes of a RabbitMQ cluster together know of a queue."""

from __future__ import annotations

from typing import Any

from stream2gym.clients.amqp_admin import combine_views

EMPTY = {"ready": 0, "consumers": 0, "end": 0}


def wanted(kind: str) -> list[dict[str, str]]:
    return [{"name": "q", "kind": kind}]


def combine(kind: str, told: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    return combine_views(wanted(kind), told)


def test_the_largest_numbers_count_because_nodes_that_were_apart_may_have_different_queues() -> None:
    views = {"a": {"q": EMPTY}, "b": {"q": {"ready": 3, "consumers": 1, "end": 0}}}
    assert combine("classic", views) == ({"q": {"ready": 3, "consumers": 1, "end": 0}}, {})


def test_a_queue_that_a_node_cannot_reach_is_unknown_with_the_words_of_the_node() -> None:
    views = {"a": {"q": EMPTY}, "b": {"q": {"error": "home node is down"}}}
    assert combine("classic", views) == ({}, {"q": "b: home node is down"})
    assert combine("quorum", views) == ({}, {"q": "b: home node is down"})


def test_a_classic_queue_or_a_stream_is_unknown_while_a_node_is_silent() -> None:
    views = {"a": {"q": EMPTY}, "b": "no answer in time"}
    for kind in ("classic", "stream"):
        assert combine(kind, views) == ({}, {"q": "b: no answer in time"})


def test_a_quorum_queue_that_answers_has_a_majority_whoever_is_silent() -> None:
    assert combine("quorum", {"a": {"q": EMPTY}, "b": "no answer in time"}) == ({"q": EMPTY}, {})


def test_nothing_is_known_where_every_node_is_silent() -> None:
    assert combine("quorum", {"a": "refused", "b": "gone"}) == ({}, {"q": "a: refused; b: gone"})
