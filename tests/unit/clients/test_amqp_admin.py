"""What all nodes of a RabbitMQ cluster together know of a queue."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from stream2gym.clients import amqp_admin
from stream2gym.clients.amqp_admin import combine_views, look_at_queues

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


class StreamChannel:
    """A channel of a node that holds so many messages of a stream, and gives those that are listed to a reader."""

    def __init__(self, held: int, given: tuple[int, ...]) -> None:
        self.connection = SimpleNamespace(channel=lambda: self)
        self.held = held
        self.given = given

    def queue_declare(self, name: str, *, passive: bool) -> Any:
        return SimpleNamespace(method=SimpleNamespace(message_count=self.held, consumer_count=0))

    def consume(self, name: str, **_: Any) -> Iterator[tuple[Any, Any, Any]]:
        for offset in self.given:
            yield SimpleNamespace(delivery_tag=1), SimpleNamespace(headers={"x-stream-offset": offset}), b""
        while True:
            yield None, None, None

    def basic_qos(self, prefetch_count: int) -> None:
        pass

    def basic_ack(self, tag: int) -> None:
        pass

    def cancel(self) -> None:
        pass

    def close(self) -> None:
        pass


@pytest.mark.parametrize(
    ("held", "given", "told"),
    [
        (0, (), {"ready": 0, "consumers": 0, "end": 0}),
        (3, (7, 8, 9), {"ready": 0, "consumers": 0, "end": 10}),
        (0, (7,), {"ready": 0, "consumers": 0, "end": 8}),
        (3, (), {"error": "it holds 3 messages, and gave none within 0.05 s"}),
    ],
)
def test_a_stream_ends_after_its_last_message_and_one_that_gives_none_of_its_messages_is_unknown(
    monkeypatch: pytest.MonkeyPatch, held: int, given: tuple[int, ...], told: dict[str, Any]
) -> None:
    monkeypatch.setattr(amqp_admin, "STREAM_END_S", 0.05)
    channel = StreamChannel(held, given)
    assert look_at_queues(channel, wanted("stream"), certain=True) == {"q": told}
