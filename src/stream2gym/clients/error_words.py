"""What an error of the Kafka library says, in its own words."""

from __future__ import annotations

from confluent_kafka import KafkaException


def describe_kafka_error(error: BaseException) -> str:
    inner = error.args[0] if isinstance(error, KafkaException) and error.args else error
    text = getattr(inner, "str", None)
    return str(text() if callable(text) else inner) or type(error).__name__
