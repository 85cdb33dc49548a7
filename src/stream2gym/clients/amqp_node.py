"""One node of RabbitMQ as the admin client asks it: a thread with a connection of its own, so that none waits for
another.

A node that stands still answers nothing. Whoever asks waits as long as it likes; the thread notices by missed
heartbeats, and connects again for the next question.
"""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from pika import BlockingConnection
from pika.exceptions import AMQPError, ChannelClosedByBroker

from stream2gym.clients.amqp_connection import connection_parameters

# An idle connection is served this often, so that heartbeats are answered.
SERVE_EVERY_S = 1.0

T = TypeVar("T")


class NodeSilent(Exception):
    """The node cannot be reached, or did not answer in time; the text says what was seen."""


class Refused(Exception):
    """The node answered that it will not; the text is its own."""


class Node:
    """The connection of the observer to one node."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._connection: BlockingConnection | None = None
        self._questions: queue.SimpleQueue[tuple[Callable[[Any], Any], Future[Any]]] = queue.SimpleQueue()
        threading.Thread(target=self._serve, name=f"node {address}", daemon=True).start()

    def ask(self, question: Callable[[Any], T]) -> Future[T]:
        """Call ``question`` with a new channel, in the thread of the node."""
        answer: Future[T] = Future()
        self._questions.put((question, answer))
        return answer

    def _serve(self) -> None:
        while True:
            try:
                question, answer = self._questions.get(timeout=SERVE_EVERY_S)
            except queue.Empty:
                self._keep_alive()
                continue
            if answer.set_running_or_notify_cancel():
                try:
                    answer.set_result(self._answer(question))
                except Exception as error:
                    answer.set_exception(error)

    def _answer(self, question: Callable[[Any], T]) -> T:
        try:
            if self._connection is None or not self._connection.is_open:
                self._connection = BlockingConnection(connection_parameters(self.address, "s2g-observer"))
            channel = self._connection.channel()
            result = question(channel)
            channel.close()
        except ChannelClosedByBroker as error:
            raise Refused(error.reply_text) from error
        except (AMQPError, OSError) as error:
            self._drop()
            raise NodeSilent(f"{type(error).__name__}: {error}".rstrip(": ")) from error
        return result

    def _keep_alive(self) -> None:
        if self._connection is not None:
            try:
                self._connection.process_data_events(0)
            except (AMQPError, OSError):
                self._drop()

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None and connection.is_open:
            with contextlib.suppress(AMQPError, OSError):
                connection.close()
