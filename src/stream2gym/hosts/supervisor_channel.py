"""The command's end of the socket to the supervisor: requests and answers, and what the supervisor tells unasked.

A thread reads. It takes answers to whoever waits for them, and the ends of programs to their handles. When the socket
closes without having been asked to, or when the supervisor tells that the fabric has died, the network is broken:
every request from then on raises that failure, and listeners are told of it.
"""

from __future__ import annotations

import contextlib
import itertools
import signal
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from stream2gym.errors import CannotHere, Defect, S2gError
from stream2gym.hosts import supervisor_messages
from stream2gym.hosts.process import Exit, Process

ANSWER_TIMEOUT_S = 60.0
READER_TIMEOUT_S = 5.0


class SupervisorChannel:
    """Talks with the supervisor. Any thread may ask."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._processes: dict[int, Process] = {}
        self._answers: dict[int, dict[str, Any]] = {}
        self._changed = threading.Condition()
        self._sending = threading.Lock()
        self._numbers = itertools.count(1)
        # What the supervisor said when it had built the hosts.
        self._built: dict[str, Any] | None = None
        self._is_closing = False
        self._failure: S2gError | None = None
        self._listeners: list[Callable[[S2gError], None]] = []
        self._reader = threading.Thread(target=self._read, name="s2g-supervisor-reader", daemon=True)

    @property
    def failure(self) -> S2gError | None:
        """Why the network is broken, or None."""
        return self._failure

    def when_failed(self, listener: Callable[[S2gError], None]) -> None:
        """Call the listener when the network breaks: the fabric or the supervisor has died."""
        self._listeners.append(listener)
        if self._failure is not None:
            listener(self._failure)

    def build(self, order: Mapping[str, Any], timeout_s: float) -> dict[str, Any]:
        """Send the order for the network. Returns what the supervisor says when its hosts are there."""
        supervisor_messages.send(self._sock, dict(order))
        self._reader.start()
        built: dict[str, Any] = self._wait_for(lambda: self._built, timeout_s, "the hosts to be built")
        return built

    def spawn(self, host: str, name: str, program: Mapping[str, Any], stdio: Sequence[int]) -> Process:
        """Start a program on a host, and return its handle."""
        process = Process(next(self._numbers), host, name, self._signal)
        self._processes[process.number] = process
        request = {"op": "spawn", "host": host, "program": dict(program)}
        process.pid = self.ask(request, stdio, number=process.number)["pid"]
        return process

    def ask(self, request: dict[str, Any], fds: Sequence[int] = (), number: int | None = None) -> dict[str, Any]:
        """Send a request with descriptors to the supervisor and wait for its answer; Defect has its error."""
        key = next(self._numbers) if number is None else number
        with self._sending:
            if self._failure is not None:
                raise self._failure
            try:
                supervisor_messages.send(self._sock, {**request, "id": key}, fds)
            except OSError:
                raise self._failure or Defect("the supervisor is gone") from None
        answer = self._wait_for(lambda: self._answers.pop(key, None), ANSWER_TIMEOUT_S, request["op"])
        if "error" in answer:
            raise Defect(answer["error"])
        return dict(answer)

    def expect_end(self) -> None:
        """From now on the supervisor may end: it is no failure."""
        self._is_closing = True

    def close(self) -> None:
        """Close the socket, when the supervisor has ended."""
        self.expect_end()
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)
        if self._reader.is_alive() and self._reader is not threading.current_thread():
            self._reader.join(READER_TIMEOUT_S)
        self._sock.close()

    def _signal(self, process: int, number: int) -> bool:
        return bool(self.ask({"op": "signal", "process": process, "signal": int(number)})["sent"])

    def _wait_for(self, value: Callable[[], Any], timeout_s: float, what: str) -> Any:
        """Wait until ``value`` returns something, and return it. A failure of the network is raised."""
        found: Any = None

        def there() -> bool:
            nonlocal found
            found = value()
            return found is not None or self._failure is not None

        with self._changed:
            if not self._changed.wait_for(there, timeout_s):
                raise Defect(f"waited {timeout_s:g} s for {what}")
        if found is None and self._failure is not None:
            raise self._failure
        return found

    def _read(self) -> None:
        """Take the messages of the supervisor until its end; the reader thread runs this."""
        with contextlib.suppress(OSError):
            while (received := supervisor_messages.receive(self._sock)) is not None:
                message, fds = received
                self._take_message({**message, "fds": fds} if fds else message)
        if not self._is_closing:
            self._fail(Defect("the supervisor of the emulated network died"))
        # They died with the PID namespace.
        for process in list(self._processes.values()):
            process.ended(Exit(-signal.SIGKILL))

    def _take_message(self, message: dict[str, Any]) -> None:
        match message["op"]:
            case "built":
                with self._changed:
                    self._built = message
                    self._changed.notify_all()
            case "answer":
                with self._changed:
                    self._answers[message["id"]] = message
                    self._changed.notify_all()
            case "exit":
                process = self._processes.pop(message["process"], None)
                if process is not None:
                    process.ended(Exit(message["code"], message["cpu_s"], message["max_rss_bytes"]))
            case "stopped":
                process = self._processes.get(message["process"])
                if process is not None:
                    process.stopped()
            case "fabric":
                self._fail(Defect(f"the fabric process died ({Exit(message['code'])}): no packets move any more"))
            case "cannot":
                self._fail(CannotHere(message["what"], message["remedy"]))

    def _fail(self, failure: S2gError) -> None:
        """Note why the network is broken, and tell all listeners. Only the first reason counts."""
        with self._changed:
            if self._failure is not None:
                return
            self._failure = failure
            self._changed.notify_all()
        for listener in self._listeners:
            listener(failure)
