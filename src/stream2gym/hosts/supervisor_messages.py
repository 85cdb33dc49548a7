"""Messages between the command and the supervisor: JSON after its length, with file descriptors beside it."""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Sequence
from typing import Any

_LENGTH = struct.Struct("!I")
_MAX_FDS = 8


def send(sock: socket.socket, message: dict[str, Any], fds: Sequence[int] = ()) -> None:
    """Send one message. Descriptors are sent with its first bytes."""
    body = json.dumps(message, separators=(",", ":")).encode()
    header = _LENGTH.pack(len(body))
    if fds:
        socket.send_fds(sock, [header], list(fds))
    else:
        sock.sendall(header)
    sock.sendall(body)


def receive(sock: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    """Wait for one message and its descriptors; None when the other side has closed the socket."""
    header, fds, _flags, _address = socket.recv_fds(sock, _LENGTH.size, _MAX_FDS)
    if not header:
        return None
    header += _exactly(sock, _LENGTH.size - len(header))
    body = _exactly(sock, _LENGTH.unpack(header)[0])
    return json.loads(body), fds


def _exactly(sock: socket.socket, count: int) -> bytes:
    parts = bytearray()
    while len(parts) < count:
        part = sock.recv(count - len(parts))
        if not part:
            raise ConnectionResetError("the other side closed in the middle of a message")
        parts += part
    return bytes(parts)
