"""Receives from queues and streams of RabbitMQ.

A group is a queue of its own, and its members share the queue. A stream has no groups: whoever reads it gets every
message, from an offset on. A message is acknowledged to the broker after ``store_offsets`` or ``commit``, together
with all that were handed out before it. What was handed out and not acknowledged when the connection was lost comes
again.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from stream2gym.clients.amqp_connection import HEARTBEAT_S, AmqpConnection
from stream2gym.clients.amqp_types import (
    HEARTBEAT,
    NO_OFFSET,
    PREFETCH,
    TIME_HEADER,
    AmqpError,
    TopicPartition,
)

STREAM_OFFSET = "x-stream-offset"
CLOSE_S = 2.0


class AmqpMessage:
    """A message in the form in which Kafka's library gives it."""

    __slots__ = ("_body", "_headers", "_key", "_topic", "tag")

    def __init__(self, topic: str, method: Any, properties: Any, body: bytes) -> None:
        self.tag: int = method.delivery_tag
        self._topic = topic
        self._key: str = method.routing_key
        self._headers: dict[str, Any] = properties.headers or {}
        self._body = body

    def error(self) -> None:
        return None

    def topic(self) -> str:
        return self._topic

    def partition(self) -> int:
        return 0

    def offset(self) -> int:
        return int(self._headers.get(STREAM_OFFSET, NO_OFFSET))

    def key(self) -> bytes | None:
        return self._key.encode() if self._key else None

    def value(self) -> bytes:
        return self._body

    def headers(self) -> list[tuple[str, bytes]]:
        texts = {name: value for name, value in self._headers.items() if isinstance(value, str)}
        return [(name, text.encode()) for name, text in texts.items()]

    def timestamp(self) -> tuple[int, int]:
        time_ms = self._headers.get(TIME_HEADER)
        return (0, -1) if time_ms is None else (1, int(time_ms))


class AmqpConsumer:
    """In the place of the ``Consumer`` of Kafka's library.

    ``queues`` gives the queue of each topic; ``streams`` the topics whose queue is a stream, each with the offset at
    which to begin: a number, ``first`` or ``next``.
    """

    def __init__(self, properties: dict[str, Any]) -> None:
        self._error_cb = properties.get("error_cb")
        self._queues: dict[str, str] = properties["queues"]
        self._streams: dict[str, int | str] = dict(properties["streams"])
        self._prefetch = int(properties[PREFETCH])
        self._ready: deque[AmqpMessage] = deque()
        # The delivery tag of the last message that was handed out, and of the last that was acknowledged.
        self._handed_out = self._acknowledged = 0
        self._consuming: set[str] = set()
        self._is_assigned = False
        self._on_assign: Callable[[Any, list[TopicPartition]], None] = lambda _consumer, _places: None
        self._on_revoke: Callable[[Any, list[TopicPartition]], None] = lambda _consumer, _places: None
        self._connection = AmqpConnection(
            str(properties["bootstrap.servers"]).split(","),
            str(properties.get("client.id", "consumer")),
            on_channel=self._on_channel,
            on_lost=self._on_lost,
            on_trouble=self._tell,
            heartbeat_s=int(properties.get(HEARTBEAT, HEARTBEAT_S)),
        )

    def subscribe(self, _topics: list[str], on_assign: Any, on_revoke: Any) -> None:
        """Remember whom to tell. The queues were given before."""
        self._on_assign = on_assign
        self._on_revoke = on_revoke

    def poll(self, timeout: float) -> AmqpMessage | None:
        """The next message; None if there is none in this time."""
        deadline = time.monotonic() + timeout
        self._connection.poll(0 if self._ready else timeout)
        while not self._ready and (left := deadline - time.monotonic()) > 0:
            self._connection.poll(left)
        return self._hand_out() if self._ready else None

    def consume(self, count: int, _timeout: float) -> list[AmqpMessage]:
        """Messages that are here already, at most so many."""
        return [self._hand_out() for _ in range(min(count, len(self._ready)))]

    def store_offsets(self, offsets: Iterable[TopicPartition]) -> None:
        """Acknowledge what was handed out."""
        self.commit(offsets)

    def commit(self, offsets: Iterable[TopicPartition] = (), asynchronous: bool = True) -> None:
        """Acknowledge what was handed out. Another client may get it until the node has read this."""
        channel = self._connection.channel
        if channel is not None and self._handed_out > self._acknowledged:
            self._acknowledged = self._handed_out
            channel.basic_ack(self._handed_out, multiple=True)

    def committed(self, places: list[TopicPartition], timeout: float) -> list[TopicPartition]:
        """Where it begins, which was decided when it asked for messages."""
        return places

    def offsets_for_times(self, places: list[TopicPartition], timeout: float) -> list[TopicPartition]:
        """Nobody knows where a queue, or the end of a stream, begins."""
        return places

    def assign(self, places: list[TopicPartition]) -> None:
        """Nothing to do: it has asked for the messages of its queues already."""

    def close(self) -> None:
        """Acknowledge nothing more and leave, so that the broker gives what is left to others."""
        self._connection.close(CLOSE_S, time.monotonic)

    def _hand_out(self) -> AmqpMessage:
        message = self._ready.popleft()
        self._handed_out = message.tag
        if message.topic() in self._streams:
            self._streams[message.topic()] = message.offset() + 1
        return message

    def _on_channel(self, channel: Any) -> None:
        self._handed_out = self._acknowledged = 0
        channel.basic_qos(prefetch_count=self._prefetch, callback=lambda _frame: self._begin(channel))

    def _begin(self, channel: Any) -> None:
        for topic, queue in self._queues.items():
            arguments = {STREAM_OFFSET: self._streams[topic]} if topic in self._streams else {}

            def on_message(_channel: Any, method: Any, properties: Any, body: bytes, topic: str = topic) -> None:
                self._ready.append(AmqpMessage(topic, method, properties, body))

            def on_consuming(_frame: Any, topic: str = topic) -> None:
                self._consuming.add(topic)
                self._tell_assignment()

            channel.basic_consume(queue, on_message, arguments=arguments, callback=on_consuming)
        channel.add_on_cancel_callback(self._on_cancel)

    def _tell_assignment(self) -> None:
        if not self._is_assigned and self._consuming == set(self._queues):
            self._is_assigned = True
            self._on_assign(self, [TopicPartition(topic, 0, self._start_of(topic)) for topic in self._queues])

    def _start_of(self, topic: str) -> int:
        start = self._streams.get(topic, NO_OFFSET)
        if isinstance(start, int):
            return start
        return 0 if start == "first" else NO_OFFSET

    def _on_cancel(self, frame: Any) -> None:
        """The node took a queue away, because its leader is gone: ask for it again on a new connection."""
        self._tell(f"the broker cancelled {frame.method.consumer_tag}")
        channel = self._connection.channel
        if channel is not None and channel.is_open:
            channel.close()

    def _on_lost(self) -> None:
        self._ready.clear()
        self._consuming.clear()
        if self._is_assigned:
            self._is_assigned = False
            self._on_revoke(self, [TopicPartition(topic) for topic in self._queues])

    def _tell(self, words: str) -> None:
        if self._error_cb:
            self._error_cb(AmqpError(words))
