"""Requests to a run that goes on: one JSON line to a socket in its folder, one JSON line back.

The answer is ``{"ok": ...}``, or ``{"mistakes": [...]}`` to a wrong request. Only the user who owns the run, or root,
can open the socket.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from stream2gym.errors import BadInput, Mistake, S2gError

ANSWER_S = 60.0
_LONGEST = 1 << 20


@contextlib.contextmanager
def socket_path(folder: Path, name: str) -> Iterator[str]:
    """A short path of a socket in the folder, while the block runs: addresses of sockets must be short."""
    fd = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{fd}/{name}"
    finally:
        os.close(fd)


class RequestServer:
    """Handle of a socket. A thread of its own answers one request after the other."""

    def __init__(self, folder: Path, name: str, answer: Callable[[dict[str, Any]], Any]) -> None:
        self._folder = folder
        self._name = name
        self._answer = answer
        self._is_closing = False
        self._socket = socket.socket(socket.AF_UNIX)
        # Before the socket has a name, so that there is no moment at which others could open it.
        os.fchmod(self._socket.fileno(), 0o600)
        with socket_path(folder, name) as path:
            self._socket.bind(path)
        self._socket.listen(8)
        self._thread = threading.Thread(target=self._serve, name=f"s2g-{name}", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Remove the socket when the request under way is answered; may be called twice."""
        if self._is_closing:
            return
        self._is_closing = True
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join(ANSWER_S)
        self._socket.close()
        (self._folder / self._name).unlink(missing_ok=True)

    def _serve(self) -> None:
        while not self._is_closing:
            try:
                client, _ = self._socket.accept()
            except OSError:
                return
            with client, contextlib.suppress(OSError):
                client.settimeout(ANSWER_S)
                client.sendall(json.dumps(self._answer_line(_read_line(client))).encode() + b"\n")

    def _answer_line(self, line: bytes) -> dict[str, Any]:
        try:
            return {"ok": self._answer(json.loads(line))}
        except BadInput as error:
            return {"mistakes": [mistake.as_json() for mistake in error.mistakes]}
        except (ValueError, KeyError, TypeError, S2gError) as error:
            return {"mistakes": [Mistake("", f"{type(error).__name__}: {error}").as_json()]}


def ask_run(folder: Path, name: str, question: dict[str, Any], refusal: Mistake) -> Any:
    """Send a request to the run in this folder and return its answer.

    Raises BadInput with the mistakes that the run found in the request, or with ``refusal`` when nobody answers. A
    user who may not open the socket is told so.
    """
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(ANSWER_S)
        try:
            with socket_path(folder, name) as path:
                client.connect(path)
        except PermissionError:
            hint = "ask as the user who started it"
            raise BadInput(Mistake(folder.name, "answers its owner only", hint)) from None
        except OSError:
            raise BadInput(refusal) from None
        client.sendall(json.dumps(question).encode() + b"\n")
        answer = json.loads(_read_line(client) or b'{"mistakes": [{"where": "", "what": "the run ended meanwhile"}]}')
    if "mistakes" in answer:
        raise BadInput([Mistake(**mistake) for mistake in answer["mistakes"]])
    return answer["ok"]


def _read_line(sock: socket.socket) -> bytes:
    data = b""
    while not data.endswith(b"\n") and len(data) < _LONGEST:
        part = sock.recv(1 << 16)
        if not part:
            break
        data += part
    return data
