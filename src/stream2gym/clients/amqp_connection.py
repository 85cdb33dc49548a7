"""A connection to one node of a RabbitMQ cluster, with one channel, that is made again when it is lost.

Nothing runs in the background: ``poll`` serves the socket and the timers (heartbeats among them) of pika's event loop
and returns. When a connection is lost, or cannot be made, the next node in the list is tried after ``RETRY_S``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

from pika import ConnectionParameters, SelectConnection
from pika.adapters.select_connection import IOLoop

RETRY_S = 0.25
HEARTBEAT_S = 10
CONNECT_S = 3.0
# A node that answers is asked for its version and more. One that does not answer in this time is given up.
HANDSHAKE_S = 6.0

# What pika says about every attempt is told by ``on_trouble``.
logging.getLogger("pika").setLevel(logging.CRITICAL)


def connection_parameters(address: str, client_name: str, heartbeat_s: int = HEARTBEAT_S) -> ConnectionParameters:
    """How pika connects to ``HOST:PORT``, as the user that every node knows (guest)."""
    host, _, port = address.rpartition(":")
    return ConnectionParameters(
        host,
        int(port),
        heartbeat=heartbeat_s,
        socket_timeout=CONNECT_S,
        stack_timeout=HANDSHAKE_S,
        connection_attempts=1,
        client_properties={"connection_name": client_name},
    )


class AmqpConnection:
    """A connection with a channel. ``on_channel`` gets every new channel, ``on_lost`` is told when one is gone.

    ``on_trouble`` is told in words why a connection was lost or could not be made.
    """

    def __init__(
        self,
        addresses: Sequence[str],
        client_name: str,
        *,
        on_channel: Callable[[Any], None],
        on_lost: Callable[[], None],
        on_trouble: Callable[[str], None],
        heartbeat_s: int = HEARTBEAT_S,
    ) -> None:
        self._parameters = [connection_parameters(address, client_name, heartbeat_s) for address in addresses]
        self._on_channel = on_channel
        self._on_lost = on_lost
        self._on_trouble = on_trouble
        self._loop = IOLoop()
        self._loop.activate_poller()
        self._attempts = 0
        self._connection: Any = None
        self._closing = False
        self._told = ""
        self.channel: Any = None
        self._connect()

    def poll(self, timeout_s: float) -> None:
        """Serve the socket and the timers once; wait at most so long for something to serve."""
        timer = self._loop.call_later(max(0.0, timeout_s), _nothing)
        self._loop.poll()
        self._loop.process_timeouts()
        self._loop.remove_timeout(timer)

    def unsent_bytes(self) -> int:
        """How many bytes wait for the socket."""
        transport = getattr(self._connection, "_transport", None)
        return 0 if transport is None else int(transport.get_write_buffer_size())

    def close(self, timeout_s: float, clock: Callable[[], float]) -> None:
        """Close the connection in an orderly way, so that what was written arrives; give up after a while."""
        self._closing = True
        if self._connection is not None and self._connection.is_open:
            deadline = clock() + timeout_s
            self._connection.close()
            while not self._connection.is_closed and clock() < deadline:
                self.poll(0.05)

    def _connect(self) -> None:
        parameters = self._parameters[self._attempts % len(self._parameters)]
        self._attempts += 1
        self._connection = SelectConnection(
            parameters,
            on_open_callback=self._opened,
            on_open_error_callback=self._not_opened,
            on_close_callback=self._closed,
            custom_ioloop=self._loop,
        )

    def _opened(self, connection: Any) -> None:
        connection.channel(on_open_callback=self._channel_opened)

    def _channel_opened(self, channel: Any) -> None:
        self.channel = channel
        self._told = ""
        channel.add_on_close_callback(self._channel_closed)
        self._on_channel(channel)

    def _channel_closed(self, channel: Any, reason: Any) -> None:
        """The node refused something: go on with a new channel."""
        if channel is not self.channel:
            return
        self.channel = None
        self._on_lost()
        if not self._closing and self._connection.is_open:
            self._tell_trouble(reason)
            self._loop.call_later(RETRY_S, self._reopen)

    def _reopen(self) -> None:
        if self._connection.is_open and self.channel is None:
            self._connection.channel(on_open_callback=self._channel_opened)

    def _not_opened(self, _connection: Any, error: Any) -> None:
        self._retry(error)

    def _closed(self, _connection: Any, reason: Any) -> None:
        if self.channel is not None:
            self.channel = None
            self._on_lost()
        self._retry(reason)

    def _retry(self, why: Any) -> None:
        if not self._closing:
            self._tell_trouble(why)
            self._loop.call_later(RETRY_S, self._connect)

    def _tell_trouble(self, why: Any) -> None:
        """Tell what went wrong, but not the same again and again while attempts go on."""
        words = _words(why)
        if words != self._told:
            self._told = words
            self._on_trouble(words)


def _nothing() -> None:
    return None


def _words(reason: Any) -> str:
    return f"{type(reason).__name__}: {reason}" if str(reason) else type(reason).__name__
