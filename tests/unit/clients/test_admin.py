"""What the observer's admin client makes of Kafka's answers."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

from confluent_kafka import KafkaError, KafkaException

from stream2gym.clients.admin import _failures


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
    found = _failures(answers.items(), 1.0, fine=(KafkaError.TOPIC_ALREADY_EXISTS,))
    assert found == {"c": "words of Kafka"}


def test_every_other_request_tells_what_was_refused() -> None:
    slow: Future[None] = Future()
    answers = {"a": refused(KafkaError.TOPIC_ALREADY_EXISTS), "b": slow}
    assert set(_failures(answers.items(), 0.01)) == {"a", "b"}
