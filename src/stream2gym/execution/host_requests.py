"""The other side of ``host_server``: asks a run that goes on for a program on a host, for connections to one, or for
packets of a link."""

from __future__ import annotations

import contextlib
import itertools
import json
import socket
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from stream2gym.errors import BadInput, Mistake
from stream2gym.execution.host_server import SOCKET
from stream2gym.execution.request_socket import socket_path
from stream2gym.hosts import supervisor_messages
from stream2gym.plan.planned import Plan
from stream2gym.record.folder import RunFolder

OVER = 125  # as docker exec: the program's own code is not known, because the run ended


def read_plan(folder: RunFolder) -> Plan:
    """The plan of a run. BadInput for a run that has none yet."""
    try:
        return Plan.from_json(json.loads((folder.path / "plan.json").read_text("utf-8")))
    except (OSError, ValueError, KeyError, TypeError):
        raise BadInput(explain_refusal(folder)) from None


class HostProgram:
    """A program on a host of a run that goes on. It ends with this handle."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection

    def wait(self) -> int:
        """Wait for its end; returns its exit code as a shell tells it, ``OVER`` if the run ended first."""
        with contextlib.suppress(OSError):
            while (received := supervisor_messages.receive(self.connection)) is not None:
                if "exit" in received[0]:
                    return int(received[0]["exit"])
        return OVER

    def close(self) -> None:
        self.connection.close()


def start_on_host(
    folder: RunFolder,
    host: str,
    argv: Sequence[str],
    stdio: tuple[int, int, int],
    *,
    env: Mapping[str, str] | None = None,
    terminal: bool = False,
) -> HostProgram:
    """Start a program on a host. ``terminal``: its standard input is a terminal of its own."""
    request = {"do": "run", "host": host, "argv": list(argv), "env": dict(env or {}), "terminal": terminal}
    return HostProgram(_ask(folder, request, stdio))


class HostConnections:
    """Opens connections on a host of a run that goes on. Any thread may call it. They outlive this handle."""

    def __init__(self, folder: RunFolder, host: str, places: Sequence[tuple[str, int]]) -> None:
        """``places``: addresses and ports to connect to; the first that answers is taken."""
        self._places = [list(place) for place in places]
        self._requests, theirs = socket.socketpair()
        self._asking = threading.Lock()
        self._numbers = itertools.count(1)
        with theirs:
            request = {"do": "forward", "host": host, "port": places[0][1]}
            self.program = HostProgram(_ask(folder, request, [theirs.fileno()]))

    def connect(self) -> socket.socket:
        """A connection. ConnectionError has the reason if there is none."""
        with self._asking:
            number = next(self._numbers)
            supervisor_messages.send(self._requests, {"id": number, "to": self._places})
            received = supervisor_messages.receive(self._requests)
        if received is None:
            raise ConnectionResetError("the run has ended")
        answer, fds = received
        if "error" in answer:
            raise ConnectionRefusedError(str(answer["error"]))
        return socket.socket(fileno=fds[0])

    def close(self) -> None:
        self.program.close()
        self._requests.close()


@contextlib.contextmanager
def capture_link(folder: RunFolder, link: str, file: int) -> Iterator[socket.socket]:
    """Write the packets of a link to a file while the block runs. The file is complete afterwards.

    Yields the connection, which ends when the run does.
    """
    connection = _ask(folder, {"do": "capture", "link": link}, [file])
    with connection:
        try:
            yield connection
        finally:
            with contextlib.suppress(OSError):
                supervisor_messages.send(connection, {"do": "stop"})
                supervisor_messages.receive(connection)


def _ask(folder: RunFolder, request: dict[str, Any], fds: Sequence[int]) -> socket.socket:
    """Send the request and wait for its confirmation. BadInput has the mistakes that the run found."""
    connection = socket.socket(socket.AF_UNIX)
    try:
        try:
            with socket_path(folder.path, SOCKET) as name:
                connection.connect(name)
            supervisor_messages.send(connection, request, fds)
            received = supervisor_messages.receive(connection)
        except OSError:
            received = None
        if received is None:
            raise BadInput(explain_refusal(folder))
        if "mistakes" in received[0]:
            raise BadInput([Mistake(**mistake) for mistake in received[0]["mistakes"]])
    except BaseException:
        connection.close()
        raise
    return connection


def explain_refusal(folder: RunFolder) -> Mistake:
    """Why a run does not answer."""
    if not folder.is_running():
        return Mistake(folder.path.name, "is over", "its hosts are gone; 's2g run' starts it again")
    hint = "a run answers its owner from the phase 'network' until it stops"
    return Mistake(folder.path.name, f"does not answer now (phase {folder.info.get('phase')!r})", hint)
