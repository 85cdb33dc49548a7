"""What the observer's admin client makes of Kafka's answers."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any, cast

import pytest
from confluent_kafka import KafkaError, KafkaException

from stream2gym.clients.admin import Admin
from stream2gym.clients.admin_answers import NotThereYet, failures_of
from stream2gym.clients.cluster_state import ClusterState


def refused(code: int) -> Future[None]:
    future: Future[None] = Future()
    future.set_exception(KafkaException(KafkaError(code, "words of Kafka")))
    return future


def made() -> Future[None]:
    future: Future[None] = Future()
    future.set_result(None)
    return future


def test_a_topic_that_a_lost_attempt_has_made_is_made() -> None:
    answers: dict[str, Any] = {
        "a": made(),
        "b": refused(KafkaError.TOPIC_ALREADY_EXISTS),
        "c": refused(KafkaError.INVALID_REPLICATION_FACTOR),
    }
    found = failures_of(answers.items(), 1.0, fine=(KafkaError.TOPIC_ALREADY_EXISTS,))
    assert found == {"c": "words of Kafka"}


def test_every_other_request_tells_what_was_refused() -> None:
    slow: Future[None] = Future()
    answers = {"a": refused(KafkaError.TOPIC_ALREADY_EXISTS), "b": slow}
    assert set(failures_of(answers.items(), 0.01)) == {"a", "b"}


def test_the_state_of_the_cluster_waits_for_the_watch_that_was_asked_for_before_it() -> None:
    class Known:
        def __init__(self) -> None:
            self.asked = 0

        def is_known(self) -> bool:
            self.asked += 1
            return self.asked > 2

        def ask(self) -> dict[str, Any]:
            return {"under_replicated": 0, "asked": self.asked}

    admin = Admin("127.0.0.1:1", lambda _answer: None)
    admin._state = cast(ClusterState, Known())
    assert admin.state({}) == {"under_replicated": 0, "asked": 3}


def test_a_state_that_nobody_watches_is_an_error_and_no_empty_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stream2gym.clients.admin.WATCH_BEGINS_S", 0.0)
    admin = Admin("127.0.0.1:1", lambda _answer: None)
    with pytest.raises(NotThereYet, match="a broker to tell of its partitions"):
        admin.state({})
