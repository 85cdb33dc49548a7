"""Opens TCP connections on a host for a program outside: each is handed over as a connected socket.

    python -m stream2gym.clients.host_connector

CONTRACT
  in    standard input     a stream socket of the machine: requests in the messages of ``hosts/supervisor_messages``,
                           ``{"id": N, "to": [[ADDRESS, PORT], ...]}``
  out   standard input     ``{"id": N}`` with the socket that is connected to the first of them that answers, or
                           ``{"id": N, "error": "words"}``
  exit  0 when the other side closes its end
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import threading
from typing import Any

from stream2gym.hosts import supervisor_messages

CONNECT_S = 10.0


def connect(places: list[tuple[str, int]]) -> socket.socket:
    """A connection to the first place that answers. OSError of the last one if none does."""
    trouble: OSError = OSError("there is no place to connect to")
    for address, port in places:
        try:
            made = socket.create_connection((address, port), CONNECT_S)
        except OSError as error:
            trouble = error
            continue
        made.settimeout(None)
        return made
    raise trouble


def serve(requests: socket.socket) -> None:
    """Answer requests until the other side closes. One that takes long holds no other up."""
    sending = threading.Lock()

    def answer(request: dict[str, Any]) -> None:
        reply: dict[str, Any] = {"id": request["id"]}
        fds: list[int] = []
        try:
            fds = [connect([(str(address), int(port)) for address, port in request["to"]]).detach()]
        except OSError as error:
            reply["error"] = error.strerror or str(error)
        with sending, contextlib.suppress(OSError):
            supervisor_messages.send(requests, reply, fds)
        for fd in fds:
            os.close(fd)

    while (received := supervisor_messages.receive(requests)) is not None:
        threading.Thread(target=answer, args=(received[0],), daemon=True).start()


def main() -> int:
    with socket.socket(fileno=os.dup(0)) as requests, contextlib.suppress(OSError):
        serve(requests)
    return 0


if __name__ == "__main__":
    sys.exit(main())
