"""Publishes to RabbitMQ and tells for each message when the broker acknowledged it.

A message that was published and not acknowledged when the connection was lost is published again on the next one,
before all later ones: so it may stand in a queue twice, and is never given up while its producer runs. Without
confirms (acks 0) nothing is published again.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pika import BasicProperties

from stream2gym.clients.amqp_connection import HEARTBEAT_S, AmqpConnection
from stream2gym.clients.amqp_types import (
    HEARTBEAT,
    TIME_HEADER,
    AmqpError,
    ClusterState,
    KafkaException,
    PartitionState,
    TopicState,
)

PERSISTENT = 2
# How many messages may wait for their confirms, and how many bytes for the socket.
MOST_OPEN = 10_000
MOST_UNSENT_BYTES = 4 * 1024**2
# Publishing is interrupted after this many messages, so that the socket and the confirms are served.
SERVE_EVERY = 64
LOOK_S = 0.02


@dataclass(frozen=True)
class Delivered:
    """What a delivery report tells of a message: AMQP tells no offset."""

    def partition(self) -> int:
        return 0

    def offset(self) -> None:
        return None


_DELIVERED = Delivered()


@dataclass
class _Open:
    """A message without an answer."""

    exchange: str
    key: str
    body: bytes
    properties: BasicProperties
    report: Callable[[AmqpError | None, Delivered | None], None] | None


class AmqpProducer:
    """In the place of the ``Producer`` of Kafka's library."""

    def __init__(self, properties: dict[str, Any]) -> None:
        self._confirms = str(properties.get("acks")) != "0"
        error_cb = properties.get("error_cb")
        # Open messages by the number in which they were handed over, which is the order of publishing.
        self._open: OrderedDict[int, _Open] = OrderedDict()
        self._handed_over = 0
        # The number of the message of each delivery tag on this channel. Tags count from 1.
        self._by_tag: OrderedDict[int, int] = OrderedDict()
        self._published = 0
        self._is_ready = False
        self._topics: tuple[str, ...] = tuple(properties["topics"])
        # Topics whose exchange is there, and the one that is being asked for.
        self._known: set[str] = set()
        self._asked = ""
        self._connection = AmqpConnection(
            str(properties["bootstrap.servers"]).split(","),
            str(properties.get("client.id", "producer")),
            on_channel=self._on_channel,
            on_lost=self._on_lost,
            on_trouble=lambda words: error_cb(AmqpError(words)) if error_cb else None,
            heartbeat_s=int(properties.get(HEARTBEAT, HEARTBEAT_S)),
        )

    def __len__(self) -> int:
        return len(self._open)

    def produce(
        self,
        topic: str,
        value: bytes,
        key: bytes | None = None,
        *,
        on_delivery: Callable[[AmqpError | None, Delivered | None], None] | None = None,
        headers: list[tuple[str, bytes]] | None = None,
        timestamp: int | None = None,
    ) -> None:
        """Publish a message, or keep it for the next connection. BufferError: too many are open."""
        if len(self._open) >= MOST_OPEN or self._connection.unsent_bytes() > MOST_UNSENT_BYTES:
            raise BufferError("too many messages wait for an answer")
        table: dict[str, Any] = {name: content.decode("ascii") for name, content in headers or ()}
        if timestamp is not None:
            table[TIME_HEADER] = timestamp
        properties = BasicProperties(delivery_mode=PERSISTENT, headers=table)
        message = _Open(topic, "" if key is None else key.decode("utf-8"), value, properties, on_delivery)
        number = self._handed_over
        self._handed_over += 1
        self._open[number] = message
        if self._is_ready:
            self._publish(number, message)
            if number % SERVE_EVERY == 0:
                self._connection.poll(0)

    def poll(self, timeout: float = 0.0) -> int:
        """Serve the connection, so that confirms come in."""
        if not self._confirms:
            self._settle_unconfirmed()
        self._connection.poll(timeout)
        return 0

    def flush(self, timeout: float) -> int:
        """Wait until no message is open. Returns how many are."""
        deadline = time.monotonic() + timeout
        while (left := deadline - time.monotonic()) > 0 and (self._open or self._connection.unsent_bytes()):
            self.poll(min(left, LOOK_S))
        return len(self._open)

    def list_topics(self, timeout: float) -> ClusterState:
        """The topics whose exchange is there. A node closes the channel when it is asked for one that is not."""
        deadline = time.monotonic() + timeout
        while not self._is_ready and time.monotonic() < deadline:
            self._connection.poll(LOOK_S)
        if not self._is_ready:
            raise KafkaException(AmqpError("no node of RabbitMQ answers"))
        for topic in self._topics:
            while topic not in self._known and time.monotonic() < deadline:
                if self._is_ready and not self._asked:
                    self._asked = topic
                    self._connection.channel.exchange_declare(topic, passive=True, callback=self._found_exchange)
                self._connection.poll(LOOK_S)
        return ClusterState({topic: TopicState({0: PartitionState(0)}) for topic in self._known})

    def _found_exchange(self, _frame: Any) -> None:
        self._known.add(self._asked)
        self._asked = ""

    def _on_channel(self, channel: Any) -> None:
        if self._confirms:
            channel.confirm_delivery(self._on_answer, callback=lambda _frame: self._begin())
        else:
            self._begin()

    def _begin(self) -> None:
        """Publish again what the last connection did not confirm."""
        self._published = 0
        self._by_tag.clear()
        self._is_ready = True
        for number, message in list(self._open.items()):
            self._publish(number, message)

    def _on_lost(self) -> None:
        self._is_ready = False
        self._asked = ""

    def _publish(self, number: int, message: _Open) -> None:
        self._published += 1
        if self._confirms:
            self._by_tag[self._published] = number
        self._connection.channel.basic_publish(message.exchange, message.key, message.body, message.properties)

    def _on_answer(self, frame: Any) -> None:
        """The node confirms, or refuses, one message or all up to one."""
        answer = frame.method
        refused = AmqpError("the broker refused the message", "NACK") if answer.NAME == "Basic.Nack" else None
        if not answer.multiple:
            tags = [answer.delivery_tag]
        else:
            tags = []
            for tag in self._by_tag:
                if tag > answer.delivery_tag:
                    break
                tags.append(tag)
        for tag in tags:
            number = self._by_tag.pop(tag, None)
            message = None if number is None else self._open.pop(number, None)
            if message is not None and message.report is not None:
                message.report(refused, None if refused else _DELIVERED)

    def _settle_unconfirmed(self) -> None:
        """Report the messages for which nobody asks a confirm: they were handed to the connection, no more."""
        while self._is_ready and self._open:
            _, message = self._open.popitem(last=False)
            if message.report is not None:
                message.report(None, _DELIVERED)
