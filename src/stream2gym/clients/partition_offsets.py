"""The offsets that Kafka tells of partitions: where they begin and end, and what a group has committed of them."""

from __future__ import annotations

from typing import Any

from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]

from stream2gym.clients.admin_answers import error_words

EARLIEST, LATEST = OffsetSpec.earliest(), OffsetSpec.latest()  # type: ignore[no-untyped-call]


def committed_offsets(client: AdminClient, group: str, timeout_s: float) -> list[list[Any]]:
    """What a group has committed: topic, partition and offset."""
    asked = [ConsumerGroupTopicPartitions(group)]
    answers = client.list_consumer_group_offsets(asked, request_timeout=timeout_s)
    found = answers[group].result(timeout_s).topic_partitions or []
    return [[place.topic, place.partition, place.offset] for place in found if place.offset >= 0]


def list_offsets(
    client: AdminClient, places: list[tuple[str, int]], which: OffsetSpec, timeout_s: float, unknown: dict[str, str]
) -> dict[tuple[str, int], int]:
    """The offsets of the partitions whose leader answers; the others go to ``unknown`` with the reason."""
    if not places:
        return {}
    asked = {TopicPartition(topic, number): which for topic, number in places}
    found = {}
    for place, future in client.list_offsets(asked, request_timeout=timeout_s).items():
        try:
            found[place.topic, place.partition] = int(future.result(timeout_s).offset)
        except Exception as error:
            unknown[f"{place.topic}/{place.partition}"] = error_words(error)
    return found
