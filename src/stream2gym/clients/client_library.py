"""Which library our clients speak to the broker with. This is the only place that chooses one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any


def load_library(broker: str) -> Any:
    """The library for a type of broker, with Producer, Consumer, TopicPartition, KafkaError and KafkaException."""
    if broker == "rabbitmq":
        from stream2gym.clients import amqp_consumer, amqp_producer, amqp_types

        return SimpleNamespace(
            Producer=amqp_producer.AmqpProducer,
            Consumer=amqp_consumer.AmqpConsumer,
            TopicPartition=amqp_types.TopicPartition,
            KafkaError=amqp_types.KafkaError,
            KafkaException=amqp_types.KafkaException,
        )
    from stream2gym.clients.lean_kafka import lean_kafka

    return lean_kafka()
