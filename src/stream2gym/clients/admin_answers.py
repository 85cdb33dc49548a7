"""What the answers of the admin client have in common: waiting for a condition, and errors of Kafka in words."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

from confluent_kafka import KafkaException

from stream2gym.clients import kafka_protocol

Answer = dict[str, Any]
PAUSE_S = 0.05  # between two checks of a condition


class NotThereYet(Exception):
    """What a condition waits for."""


def until(condition: Callable[[], Answer], timeout_s: float) -> Answer:
    """The first answer that the condition returns. At the deadline, NotThereYet has the reason of the last try."""
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            return condition()
        except (NotThereYet, KafkaException, TimeoutError, kafka_protocol.Refused) as error:
            if time.monotonic() >= deadline:
                raise NotThereYet(f"waited {timeout_s:g} s for {error_words(error)}") from error
        time.sleep(PAUSE_S)


def failures_of(futures: Iterable[tuple[str, Any]], timeout_s: float, fine: tuple[int, ...] = ()) -> dict[str, str]:
    """What was refused, by its name, with Kafka's words. Refusals with a code in ``fine`` do not count."""
    failed = {}
    for name, future in futures:
        try:
            future.result(timeout_s)
        except Exception as error:
            code = getattr(error.args[0], "code", None) if error.args else None
            if not callable(code) or code() not in fine:
                failed[name] = error_words(error)
    return failed


def error_words(error: BaseException) -> str:
    """An error in Kafka's own words, or in those of Python."""
    inner = error.args[0] if isinstance(error, KafkaException) and error.args else error
    text = getattr(inner, "str", None)
    return str(text() if callable(text) else inner) or type(error).__name__
