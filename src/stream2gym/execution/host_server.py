"""Programs on hosts and captures of links by hand, while a run goes on: requests at a socket in its folder.

A connection makes one request, in the messages of ``hosts/supervisor_messages.py`` (JSON with descriptors beside it),
and what it asked for ends with it.

    {"do": "run", "host": HOST, "argv": [...], "env": {...}, "terminal": BOOL}, with standard input, output and error
        {"ok": {}}, and when the program has ended {"exit": CODE}
    {"do": "forward", "host": HOST, "port": PORT}, with a stream socket
        {"ok": {}}, and from then on ``clients.host_connector`` runs on the host and answers requests at the socket
    {"do": "capture", "link": LINK}, with the file
        {"ok": {}}; the file is complete when the client has said {"do": "stop"} and was answered {"ok": {}}

The answer to a wrong request is ``{"mistakes": [...]}``. Only the user who owns the run, or root, is answered. Every
request is an event, because it may change what the run measures.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import socket
import struct
import threading
from pathlib import Path
from typing import Any

from stream2gym.components.run_context import RunContext
from stream2gym.errors import BadInput, Mistake, S2gError
from stream2gym.execution.request_socket import socket_path
from stream2gym.execution.run_control import RunControl
from stream2gym.hosts import supervisor_messages
from stream2gym.hosts.launch import Terminal
from stream2gym.hosts.process import Process
from stream2gym.own_python import own_python

SOCKET = "hosts.sock"
_CLOSE_S = 5.0
_CREDENTIALS = struct.Struct("3i")  # process, user, group


def start_host_server(run: RunControl, context: RunContext) -> None:
    """Answer requests from now on until the run stops its network."""
    try:
        server = HostServer(context, is_captured=run.planned.capture_all)
    except OSError as error:
        run.recorder.tell("warning", what=f"hosts of this run cannot be entered: {error.strerror}")
        return
    run.undo.callback(server.close)


class HostServer:
    """Handle of the socket. A thread accepts connections, and each has a thread of its own."""

    def __init__(self, context: RunContext, *, is_captured: bool) -> None:
        self._context = context
        self._is_captured = is_captured
        self._captured: set[str] = set()
        self._connections: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()
        self._is_closing = False
        self._folder = context.folder.path
        self._socket = socket.socket(socket.AF_UNIX)
        os.fchmod(self._socket.fileno(), 0o600)  # before it has a name: there is no moment for others
        with socket_path(self._folder, SOCKET) as name:
            self._socket.bind(name)
        self._socket.listen(8)
        self._acceptor = threading.Thread(target=self._accept, name="s2g-hosts", daemon=True)
        self._acceptor.start()

    def close(self) -> None:
        """End what was asked for by hand, and remove the socket."""
        self._is_closing = True
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        with self._lock:
            for connection in self._connections:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RD)
        for thread in (self._acceptor, *self._threads):
            thread.join(_CLOSE_S)
        self._socket.close()
        (self._folder / SOCKET).unlink(missing_ok=True)

    def _accept(self) -> None:
        while not self._is_closing:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            if not _is_owner(connection):
                connection.close()
                continue
            thread = threading.Thread(target=self._serve, args=(connection,), name="s2g-hosts-request", daemon=True)
            with self._lock:
                self._connections.add(connection)
                self._threads = [one for one in self._threads if one.is_alive()] + [thread]
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        fds: list[int] = []
        with connection, contextlib.suppress(OSError):
            try:
                received = supervisor_messages.receive(connection)
                if received is not None:
                    request, fds = received
                    self._answer(connection, request, fds)
            except BadInput as error:
                supervisor_messages.send(connection, {"mistakes": [one.as_json() for one in error.mistakes]})
            except (ValueError, KeyError, TypeError, S2gError) as error:
                mistake = Mistake("", f"{type(error).__name__}: {error}")
                supervisor_messages.send(connection, {"mistakes": [mistake.as_json()]})
            finally:
                for fd in fds:
                    os.close(fd)
        with self._lock:
            self._connections.discard(connection)

    def _answer(self, connection: socket.socket, request: dict[str, Any], fds: list[int]) -> None:
        match request.get("do"):
            case "run" if len(fds) == 3:
                self._run(connection, request, fds)
            case "forward" if len(fds) == 1:
                self._forward(connection, str(request["host"]), int(request["port"]), fds)
            case "capture" if len(fds) == 1:
                self._capture(connection, str(request["link"]), fds[0])
            case _:
                raise BadInput(f"no such request: {request.get('do')!r}")

    def _run(self, connection: socket.socket, request: dict[str, Any], fds: list[int]) -> None:
        host, argv = str(request["host"]), [str(word) for word in request["argv"]]
        terminal: Terminal = "own" if request.get("terminal") else "none"
        env = {str(name): str(value) for name, value in dict(request.get("env") or {}).items()}
        stdio = (fds[0], fds[1], fds[2])
        process = self._context.network.spawn(host, argv, env=env, stdio=stdio, terminal=terminal)
        for fd in fds:
            os.close(fd)
        fds.clear()  # the program has them; who reads its output sees the end of it
        self._context.tell("command-by-hand", host=host, command=shlex.join(argv))
        self._follow(connection, process)

    def _forward(self, connection: socket.socket, host: str, port: int, fds: list[int]) -> None:
        fds.append(os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC))
        argv = own_python("-m", "stream2gym.clients.host_connector")
        process = self._context.network.spawn(host, argv, env={}, stdio=(fds[0], fds[1], fds[1]), terminal="none")
        self._context.tell("forward-by-hand", host=host, port=port)
        self._follow(connection, process)

    def _follow(self, connection: socket.socket, process: Process) -> None:
        """Tell the end of a program, pass signals on, and end it with the connection."""
        supervisor_messages.send(connection, {"ok": {}})
        process.when_ended(lambda ended: _tell_exit(connection, ended))
        with contextlib.suppress(OSError):
            while (received := supervisor_messages.receive(connection)) is not None:
                process.signal(int(received[0].get("signal", signal.SIGTERM)))
        # Whoever started it is gone, or the run stops.
        with contextlib.suppress(S2gError):
            process.signal(signal.SIGKILL)

    def _capture(self, connection: socket.socket, link: str, fd: int) -> None:
        if self._is_captured:
            raise BadInput(Mistake(link, "is captured already", "captures/ of the run folder has every link"))
        with self._lock:
            if link in self._captured:
                raise BadInput(Mistake(link, "is captured already", "by another command"))
            self._captured.add(link)
        fabric = self._context.network.fabric
        try:
            fabric.capture(link, Path(f"/proc/self/fd/{fd}"))
            self._context.tell("capture-by-hand", link=link)
            supervisor_messages.send(connection, {"ok": {}})
            with contextlib.suppress(OSError):
                supervisor_messages.receive(connection)  # the wish to stop, or the end of the connection
        finally:
            with self._lock:
                self._captured.discard(link)
            with contextlib.suppress(S2gError):
                fabric.stop_capture(link)
        supervisor_messages.send(connection, {"ok": {}})


def _tell_exit(connection: socket.socket, process: Process) -> None:
    how = process.poll()
    with contextlib.suppress(OSError):
        supervisor_messages.send(connection, {"exit": how.shell_code if how else 125})


def _is_owner(connection: socket.socket) -> bool:
    """Whether the other side is the user who owns the run, or root."""
    data = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return _CREDENTIALS.unpack(data)[1] in (0, os.geteuid())
