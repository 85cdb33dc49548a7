"""Ports on the loopback of this machine that lead to a host of a run that goes on.

Each connection to such a port is carried to the host, to the program that listens there. A port of a broker may
change the addresses in what Kafka answers (``packets.kafka_addresses``), so that clients find all brokers at such
ports.
Loopback is open to every user of the machine; connections of users other than ours and root are closed at once.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path

from stream2gym.errors import BadInput, Mistake
from stream2gym.packets.fields import Undecodable
from stream2gym.packets.kafka_addresses import AddressChange

LOOPBACK = "127.0.0.1"
_BLOCK = 1 << 16

Change = Callable[[bytes], bytes]


class ForwardedPort:
    """Handle of one port. ``connect`` opens a connection to the host; a thread accepts until ``close``."""

    def __init__(
        self,
        listener: socket.socket,
        connect: Callable[[], socket.socket],
        say: Callable[[str], None],
        make_change: Callable[[], AddressChange] | None = None,
    ) -> None:
        self._listener = listener
        self._connect = connect
        self._say = say
        self._make_change = make_change
        self._acceptor = threading.Thread(target=self._accept, name="s2g-forward", daemon=True)
        self._acceptor.start()

    def close(self) -> None:
        """Take no more connections. Those that are open end with the process."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._acceptor.join(5.0)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), name="s2g-forward-one", daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client:
            if not is_from(client, {0, os.geteuid()}):
                self._say("a connection of another user was refused")
                return
            try:
                target = self._connect()
            except (ConnectionError, OSError) as error:
                self._say(f"no connection: {error}")
                return
            with target:
                change = self._make_change() if self._make_change else None
                self._carry(client, target, change)

    def _carry(self, client: socket.socket, target: socket.socket, change: AddressChange | None) -> None:
        """Carry bytes both ways until both sides have ended."""
        there = change.requests if change else None
        back = change.answers if change else None
        thread = threading.Thread(target=self._pump, args=(client, target, there), daemon=True)
        thread.start()
        self._pump(target, client, back)
        thread.join()

    def _pump(self, source: socket.socket, target: socket.socket, change: Change | None) -> None:
        try:
            while data := source.recv(_BLOCK):
                target.sendall(change(data) if change else data)
            target.shutdown(socket.SHUT_WR)
        except (OSError, Undecodable, IndexError) as error:
            if not isinstance(error, OSError):
                self._say(f"a connection was closed: this is not Kafka as it is known here ({error})")
            for one in (source, target):
                with contextlib.suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)


def listen_on(port: int | None, preferred: int) -> socket.socket:
    """A listening socket on loopback: at ``port``; without one at ``preferred`` if that is free, else at any port."""
    for wanted in [port] if port is not None else [preferred, 0]:
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((LOOPBACK, wanted))
            listener.listen(64)
        except OSError as error:
            listener.close()
            if port is not None:
                hint = "leave --port out, and a free one is found"
                raise BadInput(Mistake(f"--port {port}", f"cannot be used: {error.strerror}", hint)) from None
            continue
        return listener
    raise BadInput(Mistake("--port", "no port of loopback is free"))


def is_from(client: socket.socket, users: set[int]) -> bool:
    """Whether the other end of a connection over loopback belongs to one of these users."""
    owner = find_owner(Path("/proc/net/tcp").read_text(), client.getpeername(), client.getsockname())
    return owner in users


def find_owner(table: str, near: tuple[str, int], far: tuple[str, int]) -> int | None:
    """The user of the socket from ``near`` to ``far`` in a table of the kernel's TCP sockets; None if it has none."""
    wanted = (_show_address(near), _show_address(far))
    for line in table.splitlines()[1:]:
        words = line.split()
        if (words[1], words[2]) == wanted:
            return int(words[7])
    return None


def _show_address(address: tuple[str, int]) -> str:
    number = int.from_bytes(socket.inet_aton(address[0]), "little")
    return f"{number:08X}:{address[1]:04X}"
