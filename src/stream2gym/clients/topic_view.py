"""Shows the topics of a cluster, and their last messages: a program on the observer host.

    python -m stream2gym.clients.topic_view list --bootstrap A:P,B:P
    python -m stream2gym.clients.topic_view tail --bootstrap A:P,B:P --topic T [--last N] [--follow] [--json]

Standard output of ``list``: one JSON object, ``{topic: [{id, leader, replicas, in_sync, start, end}, ...]}``.
Standard output of ``tail``: one line for each message, as text or as a JSON object. It reads in no group, so that
nobody's positions change. Standard error: what went wrong, in one line. Exit code 3: the cluster does not answer, or
there is no such topic.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from datetime import datetime
from typing import Any

from confluent_kafka import OFFSET_INVALID, Consumer, KafkaException, TopicPartition

ASK_S = 10.0
QUIET_S = 0.2


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("do", choices=("list", "tail"))
    parser.add_argument("--bootstrap", required=True)
    parser.add_argument("--topic", default="")
    parser.add_argument("--last", type=int, default=10)
    parser.add_argument("--follow", action="store_true")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    consumer = Consumer(
        {
            "bootstrap.servers": args.bootstrap, "group.id": "s2g-topic-view", "client.id": "s2g-topic-view",
            "enable.auto.commit": False, "enable.auto.offset.store": False, "auto.offset.reset": "earliest",
            "log_level": 2,
        }
    )  # fmt: skip
    try:
        if args.do == "list":
            print(json.dumps(list_topics(consumer)))
            return 0
        return tail(consumer, args.topic, args.last, follow=args.follow, as_json=args.json)
    except KafkaException as error:
        print(f"the cluster does not answer: {error.args[0].str()}", file=sys.stderr)
        return 3
    except BrokenPipeError:
        # Whoever read our output has seen enough; nothing may be flushed to it at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    finally:
        consumer.close()


def list_topics(consumer: Consumer) -> dict[str, list[dict[str, Any]]]:
    """The topics of the cluster with the leader, the replicas and the offsets of every partition."""
    found: dict[str, list[dict[str, Any]]] = {}
    for name, topic in sorted(consumer.list_topics(timeout=ASK_S).topics.items()):
        rows = []
        for number, partition in sorted(topic.partitions.items()):
            row: dict[str, Any] = {"id": number, "leader": partition.leader}
            row |= {"replicas": list(partition.replicas), "in_sync": list(partition.isrs), "start": None, "end": None}
            if partition.leader >= 0:
                start, end = consumer.get_watermark_offsets(TopicPartition(name, number), timeout=ASK_S)
                row |= {"start": start, "end": end}
            rows.append(row)
        found[name] = rows
    return found


def tail(consumer: Consumer, topic: str, last: int, *, follow: bool, as_json: bool) -> int:
    """Print the last messages of every partition, and further ones as they come."""
    known = consumer.list_topics(topic, timeout=ASK_S).topics.get(topic)
    if known is None or known.error is not None or not known.partitions:
        print(f"there is no topic {topic!r}", file=sys.stderr)
        return 3
    places, ends = [], {}
    for number in sorted(known.partitions):
        start, end = consumer.get_watermark_offsets(TopicPartition(topic, number), timeout=ASK_S)
        places.append(TopicPartition(topic, number, max(start, end - last)))
        ends[number] = end
    consumer.assign(places)
    waiting = {place.partition for place in places if place.offset < ends[place.partition]}
    while follow or waiting:
        message = consumer.poll(QUIET_S)
        if message is None:
            # Marks of transactions have offsets, too, so that the last message may stand before the end.
            waiting = {place.partition for place in consumer.position(places) if _is_before(place, ends)} & waiting
            continue
        if message.error():
            continue
        print(show_as_json(message) if as_json else show(message), flush=True)
        at, number = message.offset(), message.partition()
        if at is not None and number is not None and at + 1 >= ends[number]:
            waiting.discard(number)
    return 0


def _is_before(place: TopicPartition, ends: dict[int, int]) -> bool:
    return place.offset == OFFSET_INVALID or place.offset < ends[place.partition]


def show(message: Any) -> str:
    """A message as a line: where it stands, its time, its key, its value."""
    at_ms = message.timestamp()[1]
    when = f"{datetime.fromtimestamp(at_ms / 1000):%H:%M:%S.%f}"[:-3] if at_ms > 0 else "-"
    key = "" if message.key() is None else f"{as_text(message.key())}  "
    value = "(no value)" if message.value() is None else as_text(message.value())
    return f"{message.partition()}/{message.offset()}  {when}  {key}{value}"


def show_as_json(message: Any) -> str:
    described = {
        "topic": message.topic(), "partition": message.partition(), "offset": message.offset(),
        "timestamp_ms": message.timestamp()[1],
        "key": None if message.key() is None else message.key().decode("utf-8", "backslashreplace"),
        "value": None if message.value() is None else message.value().decode("utf-8", "backslashreplace"),
        "headers": {name: as_text(value or b"") for name, value in message.headers() or ()},
    }  # fmt: skip
    return json.dumps(described)


def as_text(data: bytes) -> str:
    """Bytes as text in which nothing can move the cursor or begin another line."""
    text = data.decode("utf-8", "backslashreplace")
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


if __name__ == "__main__":
    sys.exit(main())
